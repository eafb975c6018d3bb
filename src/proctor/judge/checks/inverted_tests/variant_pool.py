"""The pool of a contract: a stored record of variants of its hidden tests that failed with the reference.

``validate`` makes a pool and keeps it in the home, which no sandbox sees. A pool belongs to one content id. For each
check it records how rounds run, which listed tests have no variant, and why there are no variants at all.
"""

from __future__ import annotations

import base64
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from proctor.base.canonical import digest
from proctor.base.dataclass_fields import field_items
from proctor.base.reversible_escapes import name_bytes, name_text
from proctor.contract.model import Check, Contract
from proctor.judge.checks.inverted_tests.assertion_edits import (
    DECLARED,
    EXPECTATION,
    INDEPENDENT,
    Edit,
    edited,
    kinds_of,
)

SCHEMA = 3
"""Raised with the rules as well: a pool that other rules made is made again."""
KIND = "proctor.variants"

WHOLE_CHECK = ""
"""The test id for a check that its exit code decides."""

ENOUGH, ENOUGH_KINDS = 3, 2
"""A listed test is well covered by this many variants of this many kinds."""


@dataclass(frozen=True)
class Variant:
    """One altered copy of a test. ``ids`` are listed tests that fail with it, ``affects`` all tests that do.

    ``renamed`` has the usual and the other id of each test that runs under another one while it is altered.
    """

    path: bytes
    edit: Edit
    ids: tuple[str, ...]
    affects: tuple[str, ...]
    renamed: tuple[tuple[str, str], ...] = ()

    @property
    def depends(self) -> bool:
        """Whether it depends on the code under test whether the variant passes."""
        return self.edit.kind not in INDEPENDENT

    def clashes(self, other: Variant) -> bool:
        """Whether two variants cannot be in one round."""
        if self.path == other.path and self.edit.overlaps(other.edit):
            return True
        names = [{*one.affects, *(new for _, new in one.renamed)} for one in (self, other)]
        return not names[0].isdisjoint(names[1])

    def record(self) -> dict[str, Any]:
        """The variant as a pool stores it."""
        return {
            "path": name_text(self.path),
            "kind": self.edit.kind,
            "line": self.edit.line,
            "start": self.edit.start,
            "end": self.edit.end,
            "new": base64.b64encode(self.edit.new).decode(),
            "ids": list(self.ids),
            "affects": list(self.affects),
            "renamed": [list(pair) for pair in self.renamed],
        }


@dataclass(frozen=True)
class CheckPool:
    """The variants of one check. With ``selects`` a round runs the must_pass tests and ``controls`` alone.

    ``without`` are the must_pass tests without a variant that depends on the code, ``controls`` some of the tests that
    must keep passing; they may have variants too. ``files`` are the test files by path with the digest of the bytes
    that the variants are made for. ``round_ms`` is what one round took, ``check_ms`` what the check itself took.
    ``order`` is the order in which the tests ran with the reference; empty if it was not always the same.
    """

    check: str
    variants: tuple[Variant, ...] = ()
    without: tuple[str, ...] = ()
    controls: tuple[str, ...] = ()
    selects: bool = False
    files: Mapping[str, str] = field(default_factory=dict)
    round_ms: int = 0
    check_ms: int = 0
    problem: str = ""
    order: tuple[str, ...] = ()

    def of(self, test: str) -> tuple[Variant, ...]:
        """The variants that make ``test`` fail."""
        return tuple(one for one in self.variants if test in one.ids)

    def is_covered(self, test: str) -> bool:
        """Whether ``test`` has enough variants of enough kinds."""
        found = self.of(test)
        return len(found) >= ENOUGH and len(kinds_of(one.edit for one in found)) >= ENOUGH_KINDS

    def is_rare(self, test: str) -> bool:
        """Whether ``test`` has variants, and all of them have a form that is rare in tests."""
        kinds = {one.edit.kind for one in self.of(test)}
        return bool(kinds) and EXPECTATION not in kinds and DECLARED not in kinds

    def record(self) -> dict[str, Any]:
        """The pool of the check as it is stored."""
        return {
            "check": self.check,
            "variants": [one.record() for one in self.variants],
            "without": list(self.without),
            "controls": list(self.controls),
            "selects": self.selects,
            "files": dict(sorted(self.files.items())),
            "round_ms": self.round_ms,
            "check_ms": self.check_ms,
            "problem": self.problem,
            "order": list(self.order),
        }


@dataclass(frozen=True)
class Pool:
    """The pools of all checks of a contract that have tests to invert."""

    contract: str
    checks: tuple[CheckPool, ...]

    def of(self, check: Check) -> CheckPool | None:
        """The pool of ``check``, if it has one."""
        return next((one for one in self.checks if one.check == check.id), None)

    def record(self) -> dict[str, Any]:
        """The pool as it is stored."""
        checks = [one.record() for one in self.checks]
        return {"schema": SCHEMA, "kind": KIND, "contract": self.contract, "checks": checks}

    @property
    def digest(self) -> str:
        """The digest that identifies the pool in the record of a run."""
        return digest(self.record())


@dataclass(frozen=True)
class Coverage:
    """How many must_pass tests of a check have variants: ``covered`` ones have enough, of enough kinds."""

    check: str
    tests: int
    covered: int
    variants: int
    without: tuple[str, ...]
    problem: str
    whole: bool = False
    """Whether variants make the check fail as a whole."""
    rare: tuple[str, ...] = ()
    """The tests whose variants all have a form that code under test could recognise."""

    def record(self) -> dict[str, Any]:
        """The coverage as commands print it."""
        return {**dict(field_items(self)), "without": list(self.without), "rare": list(self.rare)}


def coverage(contract: Contract, pool: Pool | None) -> tuple[Coverage, ...]:
    """The coverage of every check of ``contract`` that inverted tests could confirm."""
    found = []
    for check in contract.checks:
        tests = tests_of(check) if check.mandatory and not check.no_op else ()
        if not tests:
            continue
        made = pool.of(check) if pool is not None else None
        if made is None:
            off = "inverted.draws is 0" if not check.inverted.draws else "no pool was made"
            found.append(Coverage(check.id, len(tests), 0, 0, tests, off, is_whole(check)))
        else:
            covered = sum(map(made.is_covered, tests))
            counts = len(tests), covered, len(made.variants)
            rare = tuple(filter(made.is_rare, tests))
            found.append(Coverage(check.id, *counts, made.without, made.problem, is_whole(check), rare))
    return tuple(found)


def tests_of(check: Check) -> tuple[str, ...]:
    """What a variant of ``check`` must make fail: its must_pass tests, or the check as a whole where it lists none."""
    if check.results != "exit-code" and check.must_pass:
        return check.must_pass
    return (WHOLE_CHECK,) if check.gate == "acceptance" else ()


def is_whole(check: Check) -> bool:
    """Whether variants of ``check`` make it fail as a whole."""
    return tests_of(check) == (WHOLE_CHECK,)


def is_inverted(check: Check) -> bool:
    """Whether a check is one that inverted tests can confirm."""
    return check.mandatory and not check.no_op and check.inverted.draws > 0 and bool(tests_of(check))


def read_pool(record: Mapping[str, Any]) -> Pool | None:
    """The pool of a stored record; ``None`` for a record of another kind or version."""
    if record.get("kind") != KIND or record.get("schema") != SCHEMA:
        return None
    return Pool(str(record["contract"]), tuple(_check_pool(one) for one in record["checks"]))


def _check_pool(record: Mapping[str, Any]) -> CheckPool:
    return CheckPool(
        check=str(record["check"]),
        variants=tuple(_variant(one) for one in record["variants"]),
        without=tuple(map(str, record["without"])),
        controls=tuple(map(str, record["controls"])),
        selects=bool(record["selects"]),
        files={str(path): str(sha256) for path, sha256 in record["files"].items()},
        round_ms=int(record["round_ms"]),
        check_ms=int(record["check_ms"]),
        problem=str(record["problem"]),
        order=tuple(map(str, record["order"])),
    )


def _variant(record: Mapping[str, Any]) -> Variant:
    new = base64.b64decode(record["new"])
    edit = Edit(int(record["start"]), int(record["end"]), new, str(record["kind"]), int(record["line"]))
    ids, affects = tuple(map(str, record["ids"])), tuple(map(str, record["affects"]))
    renamed = tuple((str(old), str(new)) for old, new in record["renamed"])
    return Variant(name_bytes(str(record["path"])), edit, ids, affects, renamed)


def altered_files(variants: tuple[Variant, ...], files: Mapping[bytes, bytes]) -> dict[bytes, bytes]:
    """The files that ``variants`` alter, with all edits applied."""
    by_path: dict[bytes, list[Edit]] = {}
    for one in variants:
        by_path.setdefault(one.path, []).append(one.edit)
    return {path: edited(files[path], edits) for path, edits in by_path.items()}
