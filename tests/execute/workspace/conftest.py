"""Trees as plain data, an independent reader and writer for them, and real overlay mounts."""

from __future__ import annotations

import os
import shutil
import subprocess
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from proctor.execute.sandbox.interface import Overlay, Tree

Files = dict[bytes, tuple[int, bytes]]
"""A tree: for each path git's mode and the bytes, which for a link are its target."""

PYTHON = "/usr/bin/python3"
"""An interpreter that every user can reach."""

MOUNT = """
set -eu
mount -t overlay overlay -o "lowerdir=$1,upperdir=$2,workdir=$3,index=off,metacopy=off,redirect_dir=nofollow$4" "$5"
shift 5
exec "$@"
"""


def write_files(root: Path, files: Files) -> None:
    """Write a tree the plain way."""
    top = os.fsencode(root)
    for path, (mode, data) in files.items():
        place = os.path.join(top, path)
        os.makedirs(os.path.dirname(place), exist_ok=True)
        if mode == 0o120000:
            os.symlink(data, place)
        else:
            with open(place, "wb") as file:
                file.write(data)
            os.chmod(place, mode & 0o777)


def read_files(root: Path) -> Files:
    """Read a tree the plain way, without ``.git``."""
    files: Files = {}
    top = os.fsencode(root)
    for directory, names, others in os.walk(top):
        names[:] = [name for name in names if name != b".git"]
        for name in [*others, *names]:
            place = os.path.join(directory, name)
            path = os.path.relpath(place, top)
            if os.path.islink(place):
                files[path] = (0o120000, os.readlink(place))
            elif os.path.isfile(place) and name != b".git":
                with open(place, "rb") as file:
                    files[path] = (0o100755 if os.stat(place).st_mode & 0o100 else 0o100644, file.read())
    return files


def in_overlay(view: Overlay | Tree, mount: Path, script: str, *arguments: str) -> bytes:
    """Run a Python script with the overlay really mounted; ``sys.argv[1]`` is its workspace."""
    assert isinstance(view, Overlay)
    mount.mkdir(exist_ok=True)
    privileged = os.geteuid() == 0
    lowers = ":".join(str(lower) for lower in view.lowers)
    command = [
        *("unshare", "-m" if privileged else "-Urm", "sh", "-c", MOUNT, "sh"),
        *(lowers, str(view.upper), str(view.work), "" if privileged else ",userxattr", str(mount)),
        *(PYTHON, "-S", "-B", "-c", script, str(mount / "workspace"), *arguments),
    ]
    done = subprocess.run(command, stdin=subprocess.DEVNULL, capture_output=True, timeout=120)
    assert done.returncode == 0, done.stderr.decode()
    return done.stdout


@pytest.fixture
def anyones() -> Iterator[Path]:
    """A directory that an ordinary user can reach and write to."""
    place = Path(tempfile.mkdtemp(prefix="proctor-test-"))
    place.chmod(0o777)
    yield place
    shutil.rmtree(place)


@pytest.fixture
def write_tree() -> Callable[[Path, Files], None]:
    return write_files


@pytest.fixture
def read_tree() -> Callable[[Path], Files]:
    return read_files


@pytest.fixture
def overlay() -> Callable[..., bytes]:
    return in_overlay
