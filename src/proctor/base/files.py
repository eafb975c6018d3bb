"""Files that are whole or absent, and reads that are bounded."""

from __future__ import annotations

import os
import shutil
import stat
import tempfile
from pathlib import Path

from proctor.base.errors import InfrastructureFault


def write_whole(path: Path, data: bytes, *, mode: int = 0o644, sync: bool = True) -> None:
    """Write ``data`` so that ``path`` holds all of it or what it held before, even after a crash."""
    handle, name = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name[:40]}.")
    try:
        with os.fdopen(handle, "wb") as file:
            file.write(data)
            file.flush()
            os.fchmod(file.fileno(), mode)
            if sync:
                os.fsync(file.fileno())
        os.replace(name, path)
    except BaseException:
        Path(name).unlink(missing_ok=True)
        raise
    if sync:
        sync_directory(path.parent)


def sync_directory(path: Path) -> None:
    """Make the names in directory ``path`` durable."""
    handle = os.open(path, os.O_RDONLY | os.O_DIRECTORY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


def read_bounded(path: Path, limit_bytes: int) -> bytes:
    """The bytes of the regular file ``path``; links, devices and files over ``limit_bytes`` are refused."""
    handle = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
    try:
        if not stat.S_ISREG(os.fstat(handle).st_mode):
            raise InfrastructureFault("not a regular file", where=str(path))
        with open(handle, "rb", closefd=False) as file:
            data = file.read(limit_bytes + 1)
    finally:
        os.close(handle)
    if len(data) > limit_bytes:
        raise InfrastructureFault(f"larger than {limit_bytes} bytes", where=str(path))
    return data


def remove_tree(path: Path) -> None:
    """Remove ``path`` and all below it, directories without permissions included; absent is fine."""
    try:
        information = path.lstat()
    except FileNotFoundError:
        return
    if not stat.S_ISDIR(information.st_mode):
        path.unlink()
        return
    if os.geteuid() != 0:
        os.chmod(path, 0o700)
        _open_up(os.fsencode(path))
    shutil.rmtree(os.fsencode(path))


def _open_up(top: bytes) -> None:
    """Give the owner access to every directory below ``top``, which an agent may have taken away."""
    for directory, names, _ in os.walk(top):
        for name in names:
            inner = os.path.join(directory, name)
            if not os.path.islink(inner):
                os.chmod(inner, 0o700)
