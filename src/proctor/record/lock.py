"""Whether somebody is at work on a run: a lock that dies with its process.

``<run>/.lock`` is held with ``flock`` from the start of a run to its end and then removed. After a crash the file
stays, but nobody holds it: the run was cut. The lock says nothing about the evidence and is no part of the seal.
"""

from __future__ import annotations

import fcntl
import os
from types import TracebackType
from typing import Self

from proctor.base.errors import InfrastructureFault
from proctor.record.rundir import RunDirectory

_FLAGS = os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC


class RunLock:
    """The lock of one run, held until :meth:`release`; make it with :meth:`take`."""

    def __init__(self, run: RunDirectory, handle: int) -> None:
        self._run = run
        self._handle = handle

    @classmethod
    def take(cls, run: RunDirectory) -> Self:
        """Hold the lock of a new ``run``."""
        try:
            handle = os.open(run.lock, os.O_RDWR | os.O_CREAT | os.O_EXCL | _FLAGS, 0o644)
        except FileExistsError:
            raise InfrastructureFault(
                "another process works on this run, or was cut while it did",
                where=str(run.path),
                hint="a cut run is not taken up again: start a new one",
            ) from None
        fcntl.flock(handle, fcntl.LOCK_EX)
        return cls(run, handle)

    def release(self) -> None:
        """Remove the lock and let it go; calling it twice is fine."""
        if self._handle < 0:
            return
        self._run.lock.unlink(missing_ok=True)
        os.close(self._handle)
        self._handle = -1

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.release()


def is_held(run: RunDirectory) -> bool:
    """Whether a living process holds the lock of ``run``."""
    try:
        handle = os.open(run.lock, os.O_RDONLY | _FLAGS)
    except OSError:
        return False
    try:
        fcntl.flock(handle, fcntl.LOCK_SH | fcntl.LOCK_NB)
    except BlockingIOError:
        return True
    except OSError:
        return False
    finally:
        os.close(handle)
    return False
