"""A plain copy of what layers show: the fallback where overlays cannot be mounted.

Permissions, times and links are kept, ``.git`` and empty directories too. Fifos, sockets and devices are left out.
The cost grows with the tree, which is why overlays are the first choice.
"""

from __future__ import annotations

import os
import stat
from pathlib import Path

from proctor.base.handles import directory_at, in_reach, join, open_top, opened
from proctor.execute.sandbox.interface import owner
from proctor.execute.workspace.stack import Found, Stack

_NEW = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
_CHUNK = 1 << 20


def copy_tree(source: Stack, destination: Path) -> None:
    """Fill the empty directory ``destination`` with what ``source`` shows."""
    made: list[tuple[bytes, os.stat_result]] = []
    top = open_top(destination)
    try:
        for path, shown in source.walk():
            shown[:] = [found for found in shown if in_reach(join(path, found.name))]
            with directory_at(top, path) as directory:
                for found in shown:
                    _copy(found, directory)
            made.extend((join(path, found.name), found.status) for found in shown if _is_directory(found))
        for path, status in reversed(made):
            with directory_at(top, path) as directory:
                os.utime(directory, ns=(status.st_atime_ns, status.st_mtime_ns))
                os.fchmod(directory, stat.S_IMODE(status.st_mode))
    finally:
        os.close(top)


def _is_directory(found: Found) -> bool:
    return stat.S_ISDIR(found.status.st_mode)


def _copy(found: Found, directory: int) -> None:
    """Copy one name into an open directory; a directory is only made."""
    times = (found.status.st_atime_ns, found.status.st_mtime_ns)
    kind = stat.S_IFMT(found.status.st_mode)
    if kind == stat.S_IFDIR:
        os.mkdir(found.name, 0o700, dir_fd=directory)
        os.chown(found.name, *owner(), dir_fd=directory, follow_symlinks=False)
    elif kind == stat.S_IFLNK:
        os.symlink(os.readlink(found.name, dir_fd=found.directory), found.name, dir_fd=directory)
        os.chown(found.name, *owner(), dir_fd=directory, follow_symlinks=False)
        os.utime(found.name, ns=times, dir_fd=directory, follow_symlinks=False)
    elif kind == stat.S_IFREG:
        with opened(found.directory, found.name) as source:
            target = os.open(found.name, _NEW, 0o600, dir_fd=directory)
            try:
                _copy_bytes(source, target)
                os.fchown(target, *owner())
                os.fchmod(target, stat.S_IMODE(found.status.st_mode) & 0o777)
                os.utime(target, ns=times)
            finally:
                os.close(target)


def _copy_bytes(source: int, target: int) -> None:
    """Copy a whole file, inside the kernel where it can."""
    try:
        while os.copy_file_range(source, target, _CHUNK):
            pass
    except OSError:
        os.lseek(source, 0, os.SEEK_SET)
        os.lseek(target, 0, os.SEEK_SET)
        os.ftruncate(target, 0)
        while part := os.read(source, _CHUNK):
            os.write(target, part)
