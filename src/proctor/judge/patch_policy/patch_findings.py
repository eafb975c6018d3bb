"""Findings on a patch by the contract's rules, each with a grade, from the list of changes alone. Pure.

Only a ``violation`` fails the safety gate. A ``notice`` says what the judge will restore, or what was left out of the
patch. Tests that a patch adds never count against it, unless the contract forbids their paths.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from proctor.base.reversible_escapes import name_bytes, name_text
from proctor.contract.model import Contract, Policy
from proctor.execute.workspace.patch import FileStat
from proctor.execute.workspace.path_patterns import matches
from proctor.judge.patch_policy.paths_of_tests import (
    WHOLE,
    Has,
    Places,
    has_nothing,
    is_test,
    other_forms,
    places_of,
    shadowing,
    steers,
)

VIOLATION, NOTICE = "violation", "notice"

CHANGES = "workspace/changes.json"
PATCH = "workspace/final.patch"
MOST_FINDINGS = 200


@dataclass(frozen=True)
class Finding:
    """One finding: a code, its grade, a sentence, and the place of the evidence."""

    code: str
    grade: str
    message: str
    evidence: str


def findings(
    contract: Contract, changes: Mapping[str, Any], stats: Iterable[FileStat], has: Has = has_nothing
) -> tuple[Finding, ...]:
    """Everything that the policy has to say about a patch, violations first.

    ``has`` knows the files of the pristine tree.
    """
    policy = contract.policy
    items = tuple(changes.get("changes", ()))
    listed = [(str(item["path"]), str(item["change"])) for item in items]
    found = [finding for path, change in listed for finding in _of_path(policy, path, change, has)]
    found += _of_modules(contract, listed)
    found += _of_dropped(policy, changes.get("dropped", ()))
    found += _of_size(policy, items, tuple(stats))
    found.sort(key=lambda finding: finding.grade != VIOLATION)
    if len(found) > MOST_FINDINGS:
        left = found[MOST_FINDINGS - 1 :]
        grade = VIOLATION if any(finding.grade == VIOLATION for finding in left) else NOTICE
        found[MOST_FINDINGS - 1 :] = [Finding("more", grade, f"and {len(left)} more findings", CHANGES)]
    return tuple(found)


def counted_paths(listed: Iterable[tuple[str, str]]) -> set[str]:
    """The changed paths that count towards the size of a patch: all but added tests."""
    return {path for path, change in listed if not (change == "added" and is_test(path))}


def counted_lines(items: Iterable[Mapping[str, Any]], stats: Iterable[FileStat]) -> int:
    """How many lines a patch adds and removes in the changed files that count; a binary file counts as one line.

    Changes that were measured when they were applied have stats of their own. For older runs, the stats are those in
    the patch, and a change without stats counts as many lines as its bytes could make.
    """
    items = tuple(items)
    known = {name_text(stat.path): 1 if stat.binary else stat.added_lines + stat.deleted_lines for stat in stats}
    counted = counted_paths((str(item["path"]), str(item["change"])) for item in items)
    moved = any(item["change"] == "added" and item["path"] in known for item in items)
    return sum(
        _measured(item["lines"]) if "lines" in item else known.get(item["path"], _most_lines(item, moved))
        for item in items
        if item["path"] in counted
    )


def _measured(lines: Mapping[str, Any]) -> int:
    return 1 if lines["binary"] else int(lines["added"]) + int(lines["deleted"])


def _most_lines(item: Mapping[str, Any], moved: bool) -> int:
    """The most lines that a change without a stat can have; none for a change of mode alone, or a moved file."""
    before, after = item.get("before"), item.get("after")
    if before and after and before.get("sha256") == after.get("sha256"):
        return 0
    if item["change"] == "deleted" and moved:
        return 0
    return sum(int(side.get("bytes", 0)) for side in (before, after) if side)


def _of_path(policy: Policy, text: str, change: str, has: Has) -> Iterator[Finding]:
    path, where = name_bytes(text), f"{CHANGES}#{text}"
    if _any(path, policy.forbidden):
        yield Finding("forbidden-path", VIOLATION, f"{text} was {change}, which the contract forbids", where)
    if not _any(path, policy.writable):
        if change == "added" and is_test(text):
            yield Finding("added-test", NOTICE, f"{text} is a test added outside the writable paths", where)
        else:
            yield Finding("outside-writable", VIOLATION, f"{text} was {change} outside the writable paths", where)
    if _any(path, policy.protected):
        yield Finding("protected-path", NOTICE, f"{text} was {change} and is restored before judging", where)
    elif steers(path, has) == WHOLE and not _any(path, policy.free_steering):
        message = f"{text} was {change}, steers test runners, and is restored before judging"
        yield Finding("steering-file", NOTICE, message, where)


def _of_modules(contract: Contract, listed: list[tuple[str, str]]) -> Iterator[Finding]:
    """Added files that would be imported in place of modules of the standard library."""
    policy, changes = contract.policy, {name_bytes(text): change for text, change in listed}
    roots = places_of(contract).start | Places().tests
    for path, change in changes.items():
        if change != "added" or steers(path) or _any(path, (*policy.protected, *policy.free_steering)):
            continue
        module = shadowing(path, roots)
        if module and not any(changes.get(form, "added") != "added" for form in other_forms(path)):
            text = name_text(path)
            message = f"{text} was added and stands where imports of {module} would find it"
            yield Finding("steering-file", NOTICE, message, f"{CHANGES}#{text}")


def _of_dropped(policy: Policy, dropped: Iterable[Mapping[str, Any]]) -> Iterator[Finding]:
    for item in dropped:
        text, why = str(item.get("path", "")), str(item.get("why", ""))
        if why not in ("generated", "setup-product"):
            yield Finding("left-out", NOTICE, f"{text} is not part of the patch: {why}", f"{CHANGES}#{text}")


def _of_size(policy: Policy, items: tuple[Mapping[str, Any], ...], stats: tuple[FileStat, ...]) -> Iterator[Finding]:
    paths = counted_paths((str(item["path"]), str(item["change"])) for item in items)
    most_files, most_lines = policy.max_changed_files, policy.max_changed_lines
    if most_files is not None and len(paths) > most_files:
        message = f"{len(paths)} files changed, {most_files} are allowed"
        yield Finding("too-many-files", VIOLATION, message, CHANGES)
    if most_lines is not None:
        lines = counted_lines(items, stats)
        if lines > most_lines:
            yield Finding("too-many-lines", VIOLATION, f"{lines} lines changed, {most_lines} are allowed", PATCH)


def _any(path: bytes, patterns: Iterable[str]) -> bool:
    return any(matches(path, pattern) for pattern in patterns)
