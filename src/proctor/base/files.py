"""Atomic writes of files, and bounded reads."""

from __future__ import annotations

import os
import stat
from pathlib import Path

from proctor.base.errors import InfrastructureFault


def write_whole(path: Path, data: bytes, *, mode: int = 0o644, sync: bool = True) -> None:
    """Write ``data`` to ``path`` atomically: after a crash the file has the old content or the new one."""
    name = path.parent / f".{path.name[:40]}.{os.urandom(8).hex()}"
    handle = os.open(name, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC, 0o600)
    try:
        with os.fdopen(handle, "wb") as file:
            file.write(data)
            file.flush()
            os.fchmod(file.fileno(), mode)
            if sync:
                os.fsync(file.fileno())
        os.replace(name, path)
    except BaseException:
        name.unlink(missing_ok=True)
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
