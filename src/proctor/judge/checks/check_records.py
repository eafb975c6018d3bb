"""How attempts and decisions are written down: event payloads, entries of ``results.json``, bounded logs.

Text from a sandbox enters a record only here, bounded and made printable.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Any

from proctor.base.canonical import canonical
from proctor.base.clock import seconds_text
from proctor.base.reversible_escapes import name_text
from proctor.contract.model import Check
from proctor.execute.sandbox.interface import Output
from proctor.judge.check_execution import Attempt
from proctor.judge.checks.check_decision import Judgement
from proctor.judge.checks.sentinels import forgeable
from proctor.judge.patch_policy.restored_files import Restored
from proctor.record.run_directory import RunDirectory

PREFIX_BYTES = 4096
MOST_FAILING = 200
MOST_RESTORED = 1000
DETAIL_CHARACTERS = 1000


def finished_payload(check: Check, made: Attempt, logs: dict[str, str]) -> dict[str, Any]:
    """The payload of the event for one attempt."""
    judgement = made.judgement
    return {
        "check": check.id,
        "gate": check.gate,
        "layer": check.layer,
        "attempt": made.number,
        "tree": made.tree,
        "command": list(made.command),
        "exit_code": made.finished.exit_code,
        "start": str(made.start_ns),
        "end": str(made.end_ns),
        "outcome": judgement.outcome,
        "reason": judgement.reason,
        "stdout": stream(made.finished.stdout),
        "stderr": stream(made.finished.stderr),
        "failing": list(judgement.failing[:MOST_FAILING]),
        "failing_count": len(judgement.failing),
        "diagnostics": judgement.detail[:DETAIL_CHARACTERS],
        "ceiling_seconds": str(check.timeout_seconds),
        "observed_seconds": seconds_text(made.finished.wall_ns),
        "cpu_seconds": seconds_text(made.finished.cpu_ns),
        "waited_seconds": seconds_text(made.waited_ns),
        "stalled_seconds": seconds_text(made.finished.stalled_ns),
        "stall_source": made.finished.stall_source,
        "machine_oom_kills": made.machine_oom_kills,
        "set_aside": made.set_aside,
        "sentinels": made.sentinels,
        "tests": made.results.counts(),
        "log": logs,
    }


def stream(output: Output) -> dict[str, Any]:
    """One stream of a command as records hold it."""
    return {
        "sha256": output.sha256,
        "bytes": output.total_bytes,
        "prefix": name_text(output.prefix[:PREFIX_BYTES]),
    }


def check_entry(
    check: Check, decided: Judgement, attribution: str, attempts: tuple[Attempt, ...], text_bytes: int = 0
) -> dict[str, Any]:
    """The entry of ``results.json`` for one check, with test ids of ``text_bytes`` at most."""
    tests, omitted = listed_tests(check, attempts, text_bytes)
    return {
        "id": check.id,
        "gate": check.gate,
        "layer": check.layer,
        "mandatory": check.mandatory,
        "forgeable": forgeable(check),
        "outcome": decided.outcome,
        "reason": decided.reason,
        "detail": decided.detail[:DETAIL_CHARACTERS],
        "rule": "no-op" if check.no_op else check.rerun.decide,
        "flagged": check.rerun.decide != "all",
        "attribution": attribution,
        "attempts": [
            {
                "tree": one.tree,
                "attempt": one.number,
                "outcome": one.judgement.outcome,
                "reason": one.judgement.reason,
                "exit_code": one.finished.exit_code,
                "observed_seconds": seconds_text(one.finished.wall_ns),
                "cpu_seconds": seconds_text(one.finished.cpu_ns),
                "sentinels": one.sentinels,
                "counts": one.results.counts(),
                "set_aside": one.set_aside,
            }
            for one in attempts
        ],
        "tests": tests,
        "tests_omitted": omitted,
    }


def listed_tests(check: Check, attempts: tuple[Attempt, ...], text_bytes: int) -> tuple[list[list[str]], int]:
    """Ids and outcomes of the first attempt that counts: listed ones, failing ones, then the rest, within a bound."""
    first = next((one for one in attempts if not one.set_aside), None)
    if first is None or check.results == "exit-code":
        return [], 0
    outcomes = first.results.outcomes
    wanted = dict.fromkeys((*check.must_pass, *check.keep_passing))
    order = [*wanted, *(test for test in first.results.failing() if test not in wanted)]
    order += sorted(outcomes.keys() - set(order))
    shown, size = [], 0
    for test in order:
        size += len(canonical(test)) + 16
        if size > text_bytes:
            break
        shown.append([test, outcomes.get(test, "absent")])
    return shown, len(order) - len(shown)


def restored_entries(items: Iterable[Restored]) -> list[dict[str, str]]:
    """The entries of ``results.json`` for paths that were put back; of very many, the first and how many more."""
    entries = [{"path": name_text(item.path), "why": item.why} for item in items]
    if len(entries) > MOST_RESTORED:
        entries[MOST_RESTORED:] = [{"path": "*", "why": f"and {len(entries) - MOST_RESTORED} more"}]
    return entries


def keep_logs(run: RunDirectory, check: Check, made: Attempt) -> dict[str, str]:
    """Store the beginnings of both streams; returns their paths in the run directory."""
    name = re.sub(r"[^A-Za-z0-9._-]", "_", check.id)[:80]
    kept = {}
    for kind, output in (("stdout", made.finished.stdout), ("stderr", made.finished.stderr)):
        path = run.logs / f"{name}.{made.tree}.{made.number}.{kind}"
        if output.prefix:
            run.write_bytes(path, output.prefix, cut=output.total_bytes > len(output.prefix))
            kept[kind] = str(path.relative_to(run.path))
    return kept


def problem_text(reason: str) -> str:
    """The reason that a refused patch gives, in one bounded line."""
    return name_text(reason.encode("utf-8", "replace"))[:DETAIL_CHARACTERS]
