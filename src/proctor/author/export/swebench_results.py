"""SWE-bench predictions, reports of instances, and run reports (schema_version 2), from runs.

One group of files for each agent with its model, because a file of predictions has one entry for each instance. Further
runs of the same instance go into further groups: ``AGENT.2`` has the second run of each. A run without a verdict is an
error in the report, never an unresolved instance.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from proctor.author.export.interface import Exported, ExportedFile, Loss
from proctor.author.export.recorded_run import RecordedRun
from proctor.author.export.run_losses import clean, common_losses, json_text
from proctor.author.export.swebench_ids import (
    FAIL_TO_PASS,
    PASS_TO_PASS,
    ListedTest,
    instance_id,
    listed_tests,
)

SCHEMA_VERSION = 2


def model_name(run: RecordedRun) -> str:
    """The name of agent and model in predictions."""
    agent = run.manifest.agent.name
    return f"{agent}+{run.model}" if run.model else agent


def prediction(run: RecordedRun) -> dict[str, Any]:
    """The patch of a run as a prediction."""
    return {
        "instance_id": instance_id(run.contract),
        "model_name_or_path": model_name(run),
        "model_patch": run.patch.decode("utf-8", "backslashreplace"),
    }


def instance_report(run: RecordedRun) -> dict[str, Any]:
    """What became of one instance, in the form of ``report.json``."""
    applied = run.report.patch.files > 0 and not any(check.outcome == "blocked" for check in run.report.checks)
    found: dict[str, Any] = {
        "patch_is_None": False,
        "patch_exists": bool(run.patch),
        "patch_successfully_applied": applied,
        "resolved": run.report.success,
        "infra_failure": not run.valid and run.report.attribution == "harness",
        "tests_status": _tests(run),
    }
    found["infra_failure_reason"] = "; ".join(run.report.problems) if found["infra_failure"] else None
    return {instance_id(run.contract): found}


def _tests(run: RecordedRun) -> dict[str, dict[str, list[str]]]:
    """The outcome of every test, under the id that an exported task gives it."""
    found: dict[str, dict[str, list[str]]] = {
        kind: {"success": [], "failure": []} for kind in (FAIL_TO_PASS, PASS_TO_PASS)
    }
    outcomes = {check.id: check.outcome for check in run.report.checks}
    for test in listed_tests(run.oracle):
        passed = outcomes.get(test.check) == "pass" if not test.test else _passed(run, test)
        found[test.kind]["success" if passed else "failure"].append(test.id)
    return found


def _passed(run: RecordedRun, test: ListedTest) -> bool:
    return run.tests.get(test.check, {}).get(test.test) == "passed"


def run_report(runs: Sequence[RecordedRun]) -> dict[str, Any]:
    """The report about one group of runs, with at most one run of each instance."""
    ids = {instance_id(run.contract): run for run in runs}
    empty = [name for name, run in ids.items() if not run.patch]
    errors = [name for name, run in ids.items() if run.patch and not run.valid]
    completed = [name for name, run in ids.items() if run.patch and run.valid]
    resolved = [name for name in completed if ids[name].report.success]
    unresolved = [name for name in completed if not ids[name].report.success]
    broken = [name for name in errors if ids[name].report.attribution == "harness"]
    return {
        "total_instances": len(ids),
        "submitted_instances": len(ids),
        "completed_instances": len(completed),
        "resolved_instances": len(resolved),
        "unresolved_instances": len(unresolved),
        "infra_failure_instances": len(broken),
        "ambiguous_failure_instances": len(errors) - len(broken),
        "empty_patch_instances": len(empty),
        "error_instances": len(errors),
        "completed_ids": sorted(completed),
        "incomplete_ids": [],
        "empty_patch_ids": sorted(empty),
        "submitted_ids": sorted(ids),
        "resolved_ids": sorted(resolved),
        "unresolved_ids": sorted(unresolved),
        "infra_failure_ids": sorted(broken),
        "ambiguous_failure_ids": sorted(set(errors) - set(broken)),
        "failure_reasons": {name: "; ".join(ids[name].report.problems) for name in sorted(broken)},
        "error_ids": sorted(errors),
        "schema_version": SCHEMA_VERSION,
    }


def groups(runs: Sequence[RecordedRun]) -> Mapping[str, list[RecordedRun]]:
    """The runs by the name of their group; each group has at most one run of an instance."""
    found: dict[str, list[RecordedRun]] = {}
    seen: dict[tuple[str, str], int] = {}
    for run in sorted(runs, key=lambda one: one.id):
        name = model_name(run)
        number = seen[name, run.contract] = seen.get((name, run.contract), 0) + 1
        found.setdefault(name if number == 1 else f"{name}.{number}", []).append(run)
    return dict(sorted(found.items()))


class SwebenchResults:
    """Writes ``GROUP.predictions.jsonl``, ``GROUP.report.json`` and a report for each instance."""

    name, version = "swebench", f"run report {SCHEMA_VERSION}"

    def export(self, runs: Sequence[RecordedRun]) -> tuple[Exported, ...]:
        """The runs, each with its losses and the report of its instance."""
        found = []
        for group, members in groups(runs).items():
            for run in members:
                path = f"{_file_name(group)}/{instance_id(run.contract)}"
                files = (
                    ExportedFile(f"{path}/report.json", json_text(instance_report(run), indent=4)),
                    ExportedFile(f"{path}/patch.diff", run.patch),
                )
                found.append(Exported(run.id, files, (*common_losses(run), *_losses(run))))
        return tuple(found)

    def index(self, runs: Sequence[RecordedRun]) -> tuple[ExportedFile, ...]:
        """The predictions and the report of each group."""
        return tuple(_index(runs))


def _index(runs: Sequence[RecordedRun]) -> Iterator[ExportedFile]:
    for group, members in groups(runs).items():
        lines = "".join(json.dumps(prediction(run), sort_keys=True, ensure_ascii=False) + "\n" for run in members)
        name = _file_name(group)
        yield ExportedFile(f"{name}.predictions.jsonl", clean(lines).encode())
        yield ExportedFile(f"{name}.report.json", json_text(run_report(members), indent=4))


def _file_name(name: str) -> str:
    """A name as a part of a path, as SWE-bench writes it."""
    return re.sub(r"[^A-Za-z0-9._+-]", "_", name.replace("/", "__")).lstrip(".") or "_"


def _losses(run: RecordedRun) -> Iterator[Loss]:
    if run.messages:
        yield Loss("conversation", {"messages": len(run.messages)})
    if run.notices:
        yield Loss("notices", {"notices": len(run.notices)})
    gates = [gate.id for gate in run.report.gates]
    yield Loss("gates", {"gates": gates})
    try:
        run.patch.decode("utf-8")
    except UnicodeDecodeError:
        yield Loss("patch-not-text", {"bytes": len(run.patch)})
    if not run.valid:
        yield Loss("status", {"status": run.report.status})


FORMAT = SwebenchResults()
