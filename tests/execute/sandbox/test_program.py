"""bubblewrap is found where the operator says, and nowhere else."""

from __future__ import annotations

import os
import shutil
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from proctor.base.errors import MissingIsolation
from proctor.execute.sandbox.bubblewrap.backend import find_bubblewrap


@pytest.fixture
def top() -> Iterator[Path]:
    path = Path(tempfile.mkdtemp(prefix="proctor-test-", dir="/var/tmp"))
    yield path
    shutil.rmtree(path)


@pytest.fixture
def bwrap(top: Path) -> Path:
    path = top / "bin" / "bwrap"
    path.parent.mkdir()
    path.write_text("#!/bin/sh\n")
    path.chmod(0o755)
    return path


def test_i2_the_first_on_the_path(bwrap: Path) -> None:
    assert find_bubblewrap({"PATH": f"/nonexistent:{bwrap.parent}:/usr/bin"}) == str(bwrap)


def test_i2_a_named_file_comes_before_the_path(bwrap: Path) -> None:
    assert find_bubblewrap({"PATH": "/usr/bin", "PROCTOR_BWRAP": str(bwrap)}) == str(bwrap)


@pytest.mark.parametrize("relative", ["bin", ".", "", "./bin"])
def test_i2_relative_entries_of_the_path_do_not_count(
    bwrap: Path, top: Path, monkeypatch: pytest.MonkeyPatch, relative: str
) -> None:
    monkeypatch.chdir(bwrap.parent if relative in (".", "") else top)
    with pytest.raises(MissingIsolation, match="not installed"):
        find_bubblewrap({"PATH": relative})
    assert find_bubblewrap({"PATH": f"{relative}:{bwrap.parent}"}) == str(bwrap)


@pytest.mark.parametrize("named", ["bwrap", "./bwrap", "bin/bwrap"])
def test_i2_a_relative_name_is_refused(bwrap: Path, monkeypatch: pytest.MonkeyPatch, named: str) -> None:
    monkeypatch.chdir(bwrap.parent)
    with pytest.raises(MissingIsolation, match="not an absolute path"):
        find_bubblewrap({"PATH": os.environ["PATH"], "PROCTOR_BWRAP": named})


def test_i2_what_is_not_a_program_is_refused(bwrap: Path) -> None:
    bwrap.chmod(0o644)
    for named in (bwrap, bwrap.parent, bwrap / "absent"):
        with pytest.raises(MissingIsolation, match="is not a program"):
            find_bubblewrap({"PATH": "/usr/bin", "PROCTOR_BWRAP": str(named)})


def test_i2_links_are_resolved(bwrap: Path, tmp_path: Path) -> None:
    (tmp_path / "bwrap").symlink_to(bwrap)
    assert find_bubblewrap({"PATH": str(tmp_path)}) == str(bwrap)


def test_i2_one_that_sandboxes_cannot_see_is_refused(bwrap: Path) -> None:
    with tempfile.TemporaryDirectory(dir="/tmp") as place:
        hidden = shutil.copy(bwrap, place)
        for variables in ({"PATH": place}, {"PATH": "/usr/bin", "PROCTOR_BWRAP": hidden}):
            with pytest.raises(MissingIsolation, match="below /tmp"):
                find_bubblewrap(variables)
