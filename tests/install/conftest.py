"""Wheels and the source archive, built once for all tests of the session, and fresh environments to install them in."""

from __future__ import annotations

import fcntl
import os
import shutil
import subprocess
import sys
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path

import pytest

SECONDS = 600


@dataclass(frozen=True)
class Files:
    """What a user may install."""

    sources: Path
    wheel: Path
    """For this machine, with the helper."""
    pure: Path


def succeed(*command: str | Path, variables: Mapping[str, str] | None = None, directory: Path | None = None) -> str:
    """The output of a command that must succeed."""
    done = subprocess.run(
        [*map(str, command)],
        env=dict(variables) if variables is not None else None,
        cwd=directory,
        capture_output=True,
        text=True,
        timeout=SECONDS,
    )
    assert done.returncode == 0, f"{command}\n{done.stdout}{done.stderr}"
    return done.stdout


@pytest.fixture(scope="session")
def uv(project: Path) -> Path:
    """The uv that the project uses."""
    found = shutil.which("uv")
    return Path(found) if found else project / ".tools" / "bin" / "uv"


@pytest.fixture(scope="session")
def files(project: Path, uv: Path, tmp_path_factory: pytest.TempPathFactory, worker_id: str) -> Files:
    """The files of this tree. The first worker that asks builds them, the others wait."""
    base = tmp_path_factory.getbasetemp()
    out = (base if worker_id == "master" else base.parent) / "installable"
    out.mkdir(exist_ok=True)
    with (out / "lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not (out / "built").exists():
            command = (uv, "build", "-q", "--python", sys.executable, "--out-dir", out)
            succeed(*command, "--sdist", project)
            sources = next(out.glob("*.tar.gz"))
            for kind in ("pure", os.uname().machine):
                succeed(*command, "--wheel", sources, variables={**os.environ, "PROCTOR_WHEEL": kind})
            (out / "built").touch()
    (pure,) = out.glob("*-any.whl")
    (wheel,) = out.glob("*linux*.whl")
    return Files(next(out.glob("*.tar.gz")), wheel, pure)


Installer = Callable[..., Path]


@pytest.fixture
def install(uv: Path, tmp_path: Path) -> Installer:
    """Makes a fresh environment and installs something in it; returns the directory of its programs."""

    def make(what: Path, *, extras: str = "", python: str | Path = sys.executable) -> Path:
        place = tmp_path / "environment"
        succeed(uv, "venv", "-q", "--no-project", "--python", python, place)
        succeed(uv, "pip", "install", "-q", "--python", place / "bin/python", f"{what}{extras}")
        return place / "bin"

    return make
