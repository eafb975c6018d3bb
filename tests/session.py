"""The directory in which one test session works, and the removal of those that earlier sessions left.

Every session has a directory of its own: pytest's temporary directories and ``TMPDIR`` are in it. Its process holds a
lock on the directory, which the kernel drops when the process dies. At the end of a session that passed, the directory
is removed; one of a session that failed or was killed is removed by the next session. Directories nested deeper than
Python can recurse, and directories without permissions, are removed like others.
"""

from __future__ import annotations

import fcntl
import os
import secrets
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path

import pytest

from proctor.base.errors import ProctorError
from proctor.base.untrusted_directories import erase
from proctor.execute.sandbox.sandbox_records import sweep

ENGINE = Path(__file__).resolve().parent.parent / "tools" / "engine"
DEPTH = 8
"""How far below a session's directory records of sandboxes are looked for."""
KILL_SECONDS = 10


class Session:
    """A session's directory while the session runs."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.passed = False

    @property
    def base(self) -> Path:
        """Where pytest makes its temporary directories; the name is short because paths of sockets are bounded."""
        return self.path / "p"

    @property
    def temporary(self) -> Path:
        """What ``TMPDIR`` names: every user can write there, as in ``/tmp``."""
        return temporary(self.path)


def temporary(path: Path) -> Path:
    """The ``TMPDIR`` of the session whose directory is ``path``."""
    return path / "t"


@contextmanager
def open_session() -> Iterator[Session]:
    """A new directory for this session, after those that no living session owns have been removed."""
    parent = Path(tempfile.gettempdir()) / f"pt-{os.getuid()}"
    parent.mkdir(mode=0o711, exist_ok=True)
    found = parent.lstat()
    if parent.is_symlink() or found.st_uid != os.getuid() or found.st_mode & 0o022:
        pytest.exit(f"{parent} is not a directory that only this user can write to: remove it, or set TMPDIR", 3)
    remove_left(parent)
    path, lock = _make(parent)
    session = Session(path)
    session.temporary.mkdir()
    session.temporary.chmod(0o1777)
    with ExitStack() as stack:
        stack.callback(os.close, lock)
        patch = stack.enter_context(pytest.MonkeyPatch.context())
        patch.setenv("TMPDIR", str(session.temporary))
        patch.setattr(tempfile, "tempdir", None)
        yield session
        end(path)
        if session.passed:
            _remove(path)


def remove_left(parent: Path) -> None:
    """Remove the directories of sessions that have ended; those of living sessions are left alone."""
    for path in sorted(parent.iterdir()):
        lock = _lock(path)
        if lock is not None:
            try:
                end(path)
                _remove(path)
            finally:
                os.close(lock)


def end(path: Path) -> None:
    """End the processes, engines, sandboxes and mounts of a session."""
    for engine in {note.parent for note in temporary(path).glob("*/*.process")}:
        subprocess.run([sys.executable, ENGINE, "stop", engine], stdin=subprocess.DEVNULL, check=False)
    for place in _places(path):
        if place.name == "sessions":
            with suppress(OSError, ProctorError):
                sweep(place)
    _kill_started(path)
    for mount in sorted(_mounts(path), reverse=True):
        subprocess.run(["umount", "--lazy", mount], stdin=subprocess.DEVNULL, check=False)


def _make(parent: Path) -> tuple[Path, int]:
    """A new directory and the lock on it; one that another session removes in between is made again."""
    while True:
        path = parent / secrets.token_hex(4)
        path.mkdir(mode=0o711)
        lock = _lock(path)
        if lock is not None and path.exists():
            return path, lock
        if lock is not None:
            os.close(lock)


def _lock(path: Path) -> int | None:
    """A lock on a session's directory; ``None`` when another process holds it or it is not a directory."""
    try:
        handle = os.open(path, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC)
    except (FileNotFoundError, NotADirectoryError):
        return None
    try:
        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        os.close(handle)
        return None
    return handle


def _remove(path: Path) -> None:
    """Remove a directory; what still changes in it is left to the session after this one."""
    try:
        erase(path)
    except (OSError, ProctorError) as fault:
        print(f"{path} is not removed: {fault}", file=sys.stderr)


def _places(top: Path) -> Iterator[Path]:
    """The directories below ``top``, to a bounded depth and without following links."""
    level = [top]
    for _ in range(DEPTH):
        below: list[Path] = []
        for place in level:
            with suppress(OSError), os.scandir(place) as entries:
                below += [Path(entry.path) for entry in entries if entry.is_dir(follow_symlinks=False)]
        yield from below
        level = below


def _kill_started(path: Path) -> None:
    """Kill the processes that were started with the session's ``TMPDIR``."""
    deadline = time.monotonic() + KILL_SECONDS
    while (found := list(_started(path))) and time.monotonic() < deadline:
        for pid in found:
            with suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)
        time.sleep(0.05)


def _started(path: Path) -> Iterator[int]:
    wanted = b"TMPDIR=" + os.fsencode(temporary(path))
    for place in Path("/proc").iterdir():
        if place.name.isdigit() and int(place.name) != os.getpid():
            with suppress(OSError):
                if wanted in (place / "environ").read_bytes().split(b"\0"):
                    yield int(place.name)


def _mounts(path: Path) -> list[str]:
    lines = Path("/proc/self/mountinfo").read_text().splitlines()
    return [mount for mount in (line.split()[4] for line in lines) if mount.startswith(f"{path}/")]
