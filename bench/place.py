"""Where benches write: a directory of the user's own, in which those of dead benches are removed at the next start."""

from __future__ import annotations

import os
import secrets
import stat
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from proctor.base.errors import ProctorError
from proctor.base.untrusted_directories import owned_directory, sweep_unowned


@contextmanager
def place() -> Iterator[Path]:
    """A new directory for one bench; it is removed at the end, or by the next bench if this one is killed."""
    parent = own(Path(tempfile.gettempdir()) / f"proctor-bench-{os.getuid()}")
    with suppress(OSError, ProctorError):  # what still changes there is left to the bench after this one
        sweep_unowned(parent)
    with owned_directory(parent / secrets.token_hex(8)) as directory:
        yield directory


def own(path: Path) -> Path:
    """``path`` as a directory that nobody else can write to; what others put there in its place is refused."""
    path.mkdir(mode=0o700, exist_ok=True)
    found = path.lstat()
    if not stat.S_ISDIR(found.st_mode) or found.st_uid != os.getuid() or found.st_mode & 0o077:
        raise SystemExit(f"bench: {path} is not a directory of this user alone: remove it, or set TMPDIR")
    return path
