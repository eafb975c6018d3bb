"""The reference pages are what the code says today."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path


def test_the_reference_pages_are_current(project: Path) -> None:
    done = subprocess.run(
        [sys.executable, "tools/reference.py", "--check"], cwd=project, capture_output=True, text=True, timeout=120
    )
    assert (done.returncode, done.stderr) == (0, "")


def test_an_unknown_argument_is_refused(project: Path) -> None:
    done = subprocess.run([sys.executable, "tools/reference.py", "-x"], cwd=project, capture_output=True, timeout=120)
    assert done.returncode == 2
