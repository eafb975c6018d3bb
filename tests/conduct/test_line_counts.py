"""The size of a patch is what it changes, however it is written."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

Proctor = Callable[..., subprocess.CompletedProcess[str]]

HUNK = "@@ -1,2 +1,2 @@\n def add(a, b):\n-    return a - b\n+    return a + b\n"
WHOLE = "@@ -1,2 +1,2 @@\n-def add(a, b):\n-    return a - b\n+def add(a, b):\n+    return a + b\n"


@pytest.mark.parametrize(
    "patch",
    [
        "diff --git a/calc.py b/calc.py\n--- a/calc.py\n+++ b/calc.py\n" + HUNK,
        "--- a/calc.py\n+++ b/calc.py\n" + WHOLE,
        "--- a/calc.py\t2026-03-07 12:00:00.000000000 +0000\n+++ b/calc.py\t2026-03-07 12:00:01 +0000\n" + HUNK,
        "--- a/calc.py 2026-03-07 12:00:00.000000000 +0000\n+++ b/calc.py 2026-03-07 12:00:01 +0000\n" + HUNK,
    ],
    ids=["plain", "rewritten-lines", "dates", "dates-after-a-space"],
)
def test_a_handed_over_patch_is_measured_by_what_it_changes(
    proctor: Proctor, make_contract: Any, tmp_path: Path, patch: str
) -> None:
    (tmp_path / "by-hand.patch").write_text(patch)
    contract = make_contract(policy={"max_changed_lines": 2})
    done = proctor("run", contract, "--agent", f"patch:{tmp_path}/by-hand.patch", "--json")
    assert done.returncode == 0, done.stdout + done.stderr
    (row,) = json.loads(done.stdout)["runs"]
    sizes = json.loads((Path(row["evidence"]) / "report.json").read_text())["patch"]
    assert [sizes[name] for name in ("files", "added_lines", "deleted_lines", "counted_lines")] == [1, 1, 1, 2]
    assert proctor("rescore", row["run"]).returncode == 0
