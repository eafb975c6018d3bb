"""The size of a task is measured where it lies at hand, unknown with a reason elsewhere, and tiered by assumptions."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from proctor.author.task_complexity import THRESHOLDS, Complexity, tier_of

Proctor = Callable[..., subprocess.CompletedProcess[str]]


def test_a_contract_is_measured_once_its_repository_is_at_hand(proctor: Proctor, make_contract: Any) -> None:
    contract = make_contract()
    before = json.loads(proctor("lint", contract, "--json").stdout)["complexity"]
    assert "tree_files" not in before["measures"]
    assert "not on this machine" in before["unknown"]["tree_files"]
    said = json.loads(proctor("validate", contract, "--times", "1", "--json").stdout)["complexity"][0]
    assert said["unknown"] == {}
    sizes = sum(len(text) for text in make_contract.FILES.values())
    assert said["measures"] == {
        "issue_tokens": 5,
        "dependencies": 0,
        "must_pass": 0,
        "keep_passing": 0,
        "test_seconds": said["measures"]["test_seconds"],
        "tree_files": 3,
        "tree_tokens": -(-sizes // 4),
        "test_files": 1,
        "reference_files": 1,
        "reference_lines": 2,
        "reference_directories": 1,
    }
    assert said["language"] == "python"
    assert said["assumptions"]["thresholds"]["reference_lines"] == {"medium": 30, "large": 200}
    shown = proctor("show", contract).stdout
    assert "(the thresholds are assumptions)" in shown
    assert "test seconds unknown: no check was run" in shown


def test_the_files_of_git_are_no_part_of_the_tree(proctor: Proctor, make_contract: Any, tmp_path: Path) -> None:
    """The agent sees the history, and objects of git are neither files to read nor text to understand."""
    source = tmp_path / "source"
    for name, text in make_contract.FILES.items():
        (source / name).parent.mkdir(parents=True, exist_ok=True)
        (source / name).write_text(text)
    subprocess.run(["git", "init", "-q", source], check=True)
    subprocess.run(["git", "-C", source, "add", "."], check=True)
    author = ["-c", "user.name=a", "-c", "user.email=a@example.org"]
    subprocess.run(["git", "-C", source, *author, "commit", "-qm", "start"], check=True)
    head = subprocess.run(["git", "-C", source, "rev-parse", "HEAD"], check=True, capture_output=True, text=True)
    contract = make_contract("tracked", repository={"git": str(source), "commit": head.stdout.strip()})
    assert proctor("run", contract, "--agent", "noop").returncode == 1
    measured = json.loads(proctor("lint", contract, "--json").stdout)["complexity"]["measures"]
    sizes = sum(len(text) for text in make_contract.FILES.values())
    assert (measured["tree_files"], measured["tree_tokens"]) == (3, -(-sizes // 4))


@pytest.mark.parametrize("name", THRESHOLDS)
def test_a_tier_begins_at_its_threshold(name: str) -> None:
    medium, large = THRESHOLDS[name]
    tiers = [tier_of(name, value) for value in (medium - 1, medium, large - 1, large)]
    assert tiers == ["small", "medium", "medium", "large"]


def test_the_largest_measure_decides_and_counts_without_thresholds_do_not() -> None:
    assert Complexity({"tree_files": 1, "reference_lines": 200}, {}, "").tier == "large"
    assert Complexity({"tree_files": 50, "keep_passing": 10**6}, {}, "").tier == "medium"
    assert Complexity({}, {}, "").tier == "small"


REFERENCE = {"reference files", "reference lines", "reference directories"}


def test_what_a_reference_would_tell_is_unknown_until_it_fits_the_tree(proctor: Proctor, make_contract: Any) -> None:
    contract = make_contract()
    (contract / "fix.patch").write_text(make_contract.FIX.replace("a - b", "a / b"))
    for words in ("not on this machine", "does not fit"):
        shown = proctor("show", contract).stdout
        told = {name for line in shown.splitlines() if words in line for name in REFERENCE if f"{name} unknown" in line}
        assert told == REFERENCE, shown
        proctor("run", contract, "--agent", "noop")
