"""Whether somebody is at work on a batch: a lock that dies with its process.

``<batch>.lock`` lies beside the batch's own file, which is replaced as a whole when it is written again and cannot be
held itself. It names the process that holds it, and is removed when the batch is left.
"""

from __future__ import annotations

import fcntl
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from proctor.base.errors import UsageFault
from proctor.execute.home import Home

_FLAGS = os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW | os.O_CLOEXEC
_PID_BYTES = 20


@contextmanager
def batch_lock(home: Home, batch: str) -> Iterator[None]:
    """Hold a batch for the time of a ``with`` block; :class:`UsageFault` names the process that holds it already."""
    path = home.batches / f"{batch}.lock"
    handle = _take(path, batch)
    try:
        os.ftruncate(handle, 0)
        os.pwrite(handle, str(os.getpid()).encode(), 0)
        yield
    finally:
        path.unlink(missing_ok=True)
        os.close(handle)


def is_at_work(home: Home, batch: str) -> bool:
    """Whether a living process holds a batch."""
    try:
        handle = os.open(home.batches / f"{batch}.lock", os.O_RDONLY | os.O_NOFOLLOW | os.O_CLOEXEC)
    except FileNotFoundError:
        return False
    try:
        fcntl.flock(handle, fcntl.LOCK_SH | fcntl.LOCK_NB)
    except BlockingIOError:
        return True
    finally:
        os.close(handle)
    return False


def _take(path: Path, batch: str) -> int:
    """Lock the file that lies at ``path``: one that its last holder removed meanwhile keeps nobody out."""
    while True:
        handle = os.open(path, _FLAGS, 0o644)
        try:
            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
            if _lies_at(handle, path):
                return handle
        except BlockingIOError:
            pid = os.pread(handle, _PID_BYTES, 0).decode("ascii", "replace")
            os.close(handle)
            raise UsageFault(
                f"batch {batch} is still running (pid {pid or 'unknown'})",
                hint="wait for it, or stop it with Ctrl-C, and resume it then",
            ) from None
        os.close(handle)


def _lies_at(handle: int, path: Path) -> bool:
    try:
        return os.path.samestat(os.fstat(handle), os.stat(path, follow_symlinks=False))
    except FileNotFoundError:
        return False
