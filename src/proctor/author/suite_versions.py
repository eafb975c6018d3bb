"""The identity of a contract's primary suite, and the record of what was removed from it and why.

A suite id covers every mandatory check: its id, its command, its lists and the bytes of its hidden files. The record is
``suites.jsonl`` next to the contract, one canonical line for each suite, each naming its parent, so that results under
different suites are never mixed.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from proctor.author.contract_edit import set_field, set_ids
from proctor.author.flaky_tests import Screened
from proctor.base.canonical import canonical, digest, parse_canonical
from proctor.base.errors import InfrastructureFault, UsageFault
from proctor.base.files import read_bounded, write_whole
from proctor.contract.digest import resolved
from proctor.contract.load import load_contract
from proctor.contract.model import Check, Contract

SCHEMA = 1
KIND = "proctor.suite"
TRAIL_NAME = "suites.jsonl"
TRAIL_BYTES = 1 << 20


def suite_id(contract: Contract) -> str:
    """``sha256:`` and the digest over the mandatory checks and the inputs that their hidden files come from."""
    plain = resolved(contract)
    checks = [check for check in plain["checks"] if check["mandatory"]]
    used = {hidden["input"] for check in checks for hidden in check["hidden"]}
    files = {one["name"]: one["source"]["files"] for one in plain["inputs"] if one["name"] in used}
    return digest({"schema": SCHEMA, "record": KIND, "checks": checks, "hidden": files})


def read_trail(contract: Contract) -> tuple[dict[str, Any], ...]:
    """The suites that the contract had, oldest first; :class:`UsageFault` where the trail does not hang together."""
    path = contract.directory / TRAIL_NAME
    try:
        lines = read_bounded(path, TRAIL_BYTES).splitlines()
    except FileNotFoundError:
        return ()
    except OSError as error:
        raise UsageFault(f"cannot be read: {error.strerror}", where=str(path)) from None
    except InfrastructureFault as error:
        raise UsageFault(error.message, where=error.where) from None
    trail: list[dict[str, Any]] = []
    for number, line in enumerate(lines, 1):
        parent = trail[-1]["id"] if trail else ""
        try:
            record = parse_canonical(line)
            fits = record["kind"] == KIND and record["schema"] == SCHEMA and record["parent"] == parent
            fits = fits and isinstance(record["id"], str)
        except (ValueError, KeyError, TypeError):
            fits = False
        if not fits:
            raise UsageFault(f"the suite in line {number} does not follow from the one before it", where=str(path))
        trail.append(record)
    return tuple(trail)


def trail_problem(contract: Contract) -> str:
    """What is wrong with the trail of a contract that has one; nothing where the last suite is the present one."""
    trail = read_trail(contract)
    if not trail or trail[-1]["id"] == suite_id(contract):
        return ""
    return f"the suite was changed after its last entry in {TRAIL_NAME}, and no reason was recorded"


def drop_flagged(contract: Contract, flagged: Sequence[Screened], reason: str) -> dict[str, Any]:
    """Take what was flagged out of the primary suite, in the contract's files, and record the new suite."""
    parent = suite_id(contract)
    by_id = {check.id: check for check in contract.checks}
    _refuse_emptying(contract, flagged)
    removed: list[dict[str, Any]] = []
    for one in flagged:
        check = by_id[one.check]
        if one.tests and (check.must_pass or check.keep_passing):
            for field in ("must_pass", "keep_passing"):
                listed = getattr(check, field)
                kept = tuple(test for test in listed if test not in one.tests)
                if kept != listed:
                    set_ids(contract, check, field, kept)
            removed.append({"check": check.id, "tests": list(one.tests)})
        else:
            set_field(contract, check, "mandatory", False)
            removed.append({"check": check.id, "tests": []})
    changed = load_contract(contract.directory)
    record = _record(changed, parent, reason, removed)
    trail = read_trail(contract)
    if not trail or trail[-1]["id"] != parent:
        before = trail[-1]["id"] if trail else ""
        trail += (_record(contract, before, "as it stood" if not trail else "changed without a reason given", []),)
    _write(contract.directory / TRAIL_NAME, (*trail, record))
    return record


def _record(contract: Contract, parent: str, reason: str, removed: list[dict[str, Any]]) -> dict[str, Any]:
    checks = [check.id for check in contract.checks if check.mandatory]
    head = {"schema": SCHEMA, "kind": KIND, "id": suite_id(contract), "parent": parent}
    return {**head, "reason": reason, "checks": checks, "removed": removed}


def _refuse_emptying(contract: Contract, flagged: Sequence[Screened]) -> None:
    """Refuse a suite whose remaining checks cannot show that the task was solved; its author must fix it."""
    gone = {one.check: set(one.tests) for one in flagged}

    def is_left(check: Check) -> bool:
        if check.id not in gone:
            return True
        return bool(check.must_pass) and bool(gone[check.id]) and not set(check.must_pass) <= gone[check.id]

    deciding = [check for check in contract.checks if check.gate == "acceptance" and check.mandatory]
    if not any(map(is_left, deciding)):
        raise UsageFault(
            "without the flaky checks, no check would show that the task was solved",
            where=str(contract.directory),
            hint="make the checks deterministic, or declare a flake_tolerance",
        )


def _write(path: Path, trail: tuple[dict[str, Any], ...]) -> None:
    write_whole(path, b"".join(canonical(record) + b"\n" for record in trail))
