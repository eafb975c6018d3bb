"""Results of SWE-bench: the report of a run (schema_version 2 and before) and the report of one instance.

The report of a run lists ids by outcome and does not name its model: the name of the file does, as the evaluation
writes it (MODEL.RUN.json). Ids whose logs show a fault of the environment are invalid runs. An instance without a
prediction has an unknown outcome: leaving it out would reward agents that submit nothing where they would fail.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

from proctor.base.errors import UsageFault
from proctor.study.table_import.result_sheet import Attempt, at, checked_name, kind_of, needed

FORMAT = "SWE-bench"
OUTCOME = "resolved"
NEEDED = ("agent", "instance_id", "resolved")
OUTCOMES = {
    "resolved_ids": "resolved",
    "unresolved_ids": "unresolved",
    "empty_patch_ids": "unresolved",
    "error_ids": "error",
    "incomplete_ids": "",
}
"""Lists of ids in a report, and the outcome of each."""
NEWEST = 2


def is_report(record: dict[str, Any]) -> bool:
    """Whether a JSON object looks like the report of a run or of instances."""
    return isinstance(record.get("resolved_ids"), list) or _is_instance_report(record)


def _is_instance_report(record: dict[str, Any]) -> bool:
    rows = list(record.values())
    return bool(rows) and all(isinstance(row, dict) and "resolved" in row and "patch_exists" in row for row in rows)


def attempts(record: dict[str, Any], path: Path) -> Iterator[Attempt]:
    """Each instance of a report."""
    if _is_instance_report(record):
        yield from _instances(record, path)
        return
    version = at(record, "schema_version", int, path.name)
    if version is not None and version > NEWEST:
        raise UsageFault(
            f"the report has schema_version {version}", where=path.name, hint=f"up to {NEWEST} can be read"
        )
    agent = checked_name(path.name.removesuffix(".json"), "the name of the file", str(path))
    reasons = at(record, "failure_reasons", dict, path.name) or {}
    broken = set(_ids(record, "infra_failure_ids", path.name))
    seen: dict[str, str] = {}
    for field, outcome in OUTCOMES.items():
        for task in _ids(record, field, path.name):
            if task in seen:
                message = f"{task!r} is in {seen[task]} and in {field}"
                raise UsageFault(message, where=path.name, hint="an instance has one outcome: is the report whole?")
            seen[task] = field
            tags = [field.removesuffix("_ids").replace("_", "-")] if field in ("empty_patch_ids", "error_ids") else []
            if isinstance(reason := reasons.get(task), str):
                tags.append(reason)
            cells = {"agent": agent, "instance_id": task, "resolved": "invalid" if task in broken else outcome}
            cells["tags"] = ";".join(tag.replace(";", ",")[:200] for tag in tags)
            yield Attempt(f"{path.name}: {task}", cells)


def _ids(record: dict[str, Any], field: str, where: str) -> list[str]:
    found = at(record, field, list, where) or []
    for one in found:
        if not isinstance(one, str):
            raise UsageFault(f"{field!r} has {kind_of(one)}", where=where, hint="expected ids of instances")
        checked_name(one, field, where)
    return found


def _instances(record: dict[str, Any], path: Path) -> Iterator[Attempt]:
    for task, row in record.items():
        where = f"{path.name}: {task[:60]}"
        checked_name(task, "an id", path.name)
        inside = path.parent.name == task and bool(path.parent.parent.name)
        agent = path.parent.parent.name if inside else path.name.removesuffix(".json")
        resolved = needed(row, "resolved", bool, where)
        outcome = "resolved" if resolved else "unresolved"
        if at(row, "infra_failure", bool, where):
            outcome = "invalid"
        reason = at(row, "infra_failure_reason", str, where) or ""
        cells = {"agent": agent, "instance_id": task, "resolved": outcome, "tags": reason.replace(";", ",")[:200]}
        yield Attempt(where, cells)
