"""Setting up says what is missing, and does nothing when nothing is."""

from __future__ import annotations

import os
import shutil
import subprocess
from pathlib import Path

TOOLS = ("sh", "dirname", "id", "cat", "mktemp", "rm")


def bare_path(directory: Path) -> str:
    """A PATH with nothing but what the script itself cannot do without."""
    directory.mkdir()
    for name in TOOLS:
        found = shutil.which(name)
        assert found
        (directory / name).symlink_to(found)
    return str(directory)


def test_an_unknown_purpose_is_refused(project: Path) -> None:
    done = subprocess.run([project / "tools" / "bootstrap", "dance"], capture_output=True, text=True, timeout=60)
    assert (done.returncode, done.stderr) == (
        3,
        "bootstrap: say demo, test, release, containers or browser, not dance\n",
    )


def test_missing_packages_are_named_where_they_cannot_be_installed(project: Path, tmp_path: Path) -> None:
    done = subprocess.run(
        ["/bin/sh", project / "tools" / "bootstrap", "demo"],
        env={"PATH": bare_path(tmp_path / "bin")},
        capture_output=True,
        text=True,
        timeout=60,
    )
    assert done.returncode == 3
    assert "missing: bubblewrap git gcc" in done.stderr


def test_an_ordinary_user_is_told_what_to_ask_for(project: Path, tmp_path: Path) -> None:
    path = Path(bare_path(tmp_path / "bin"))
    (path / "apt-get").write_text("#!/bin/sh\nexit 1\n")
    (path / "apt-get").chmod(0o755)
    (path / "id").unlink()
    (path / "id").write_text("#!/bin/sh\necho 1000\n")
    (path / "id").chmod(0o755)
    done = subprocess.run(
        ["/bin/sh", project / "tools" / "bootstrap", "demo"],
        env={"PATH": str(path)},
        capture_output=True,
        text=True,
        timeout=60,
    )
    assert done.returncode == 3
    assert "ask for: sudo apt-get install bubblewrap git gcc" in done.stderr


def test_every_step_is_executable(project: Path) -> None:
    assert all(os.access(project / name, os.X_OK) for name in (".ci/run", "tools/bootstrap"))
