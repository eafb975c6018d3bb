"""Sentences about restored files."""

from __future__ import annotations

from proctor.judge.patch_policy.restored_files import PROTECTED, SHADOWING, STEERING, STEERING_TABLES
from proctor.present.protected_file_changes import (
    EXEMPTED_BY,
    REASONS,
    changes_to_the_runner,
    lost_changes,
    why_restored,
)
from proctor.record.report_model import RestoredFile
from tests.sample_reports import sample_check


def test_j2_every_code_has_a_sentence() -> None:
    codes = {PROTECTED, SHADOWING, STEERING, STEERING_TABLES}
    assert set(REASONS) == codes | {"hidden"} and set(EXEMPTED_BY) == codes
    assert why_restored("and 3 more") == "and 3 more"


def test_j2_files_under_hidden_ones_are_not_warned_about() -> None:
    entries = [RestoredFile(path="tests/a.py", why="hidden"), RestoredFile(path="pytest.py", why=SHADOWING)]
    (warning,) = lost_changes(entries)
    assert "pytest.py" in warning and "policy.free_steering" in warning


def test_j2_a_reference_that_changes_the_runner_is_explained() -> None:
    checks = [sample_check(id="a"), sample_check(id="b", reason="forged", detail="X changed")]
    (warning,) = changes_to_the_runner(checks)
    assert "check b" in warning and "X changed" in warning and "policy.free_steering" in warning
