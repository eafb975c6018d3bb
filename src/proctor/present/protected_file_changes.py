"""Sentences about what a patch may not change: files that the judge restored, and the test runner."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from proctor.record.report_model import CheckResult, RestoredFile

REASONS = {
    "protected": "the contract protects it",
    "steering": "it steers the test runner",
    "steering-tables": "some of its tables steer the test runner; only those were restored",
    "shadowing": "it would be imported in place of a module of the test runner or of the standard library",
    "hidden": "a hidden file of the check takes its place",
}
"""Why a file was restored, by the code in the record."""

EXEMPTED_BY = {
    "protected": "remove it from policy.protected",
    "steering": "list it under policy.free_steering",
    "steering-tables": "list it under policy.free_steering",
    "shadowing": "list it under policy.free_steering",
}
"""What an author can do where the task needs a change to such a file."""


def why_restored(why: str) -> str:
    """Why a file was restored, as a sentence; unknown codes are returned unchanged."""
    return REASONS.get(why, why)


def changes_to_the_runner(checks: Iterable[CheckResult]) -> Iterator[str]:
    """Messages for an author whose reference counts as forged: changing the runner may be the project's purpose."""
    for check in checks:
        if check.reason == "forged":
            advice = "if that is the purpose of this code, list its file under policy.free_steering"
            yield f"check {check.id}, with the reference: {check.detail}; {advice}"


def lost_changes(restored: Iterable[RestoredFile]) -> Iterator[str]:
    """Messages for an author whose reference changes restored files, except those that hidden files replace."""
    for entry in restored:
        if entry.why in EXEMPTED_BY:
            head = f"the reference changes {entry.path}, which is restored before judging: {why_restored(entry.why)}"
            yield f"{head}; if the task needs this change, {EXEMPTED_BY[entry.why]}"
