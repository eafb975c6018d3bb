"""Archives as snapshots: unpacked in bounds, never outside their destination, or refused with one clear message.

Tar (plain, gzip, bzip2, xz, Zstandard) and zip, wheels included. Kept: bytes, the executable bit, links, modification
times, and names of any bytes. Refused: absolute names and names with ``..``, links that lead out, members below a link,
fifos and devices, and more than the limits allow. Left out: ``.git``, because an archive must not bring objects of the
future. A name that comes twice means what came last. Owners and other permission bits are not taken over.
"""

from __future__ import annotations

import lzma
import os
import stat
import tarfile
import zipfile
import zlib
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

from proctor.base.reversible_escapes import name_text
from proctor.base.untrusted_directories import (
    FILE,
    LINK,
    PROGRAM,
    directory_at,
    in_reach,
    open_inner,
    open_top,
    status_of,
)
from proctor.execute.workspace.archive_reader import (
    ArchiveLimits,
    BadArchive,
    Member,
    Meter,
    relative_parts,
    tar_members,
    zip_members,
)
from proctor.execute.workspace.file_tree import GIT

__all__ = ["CARRIERS", "ZIP", "ArchiveLimits", "BadArchive", "extract", "is_zip", "members", "read_members"]

ZIP = (b"PK\x03\x04", b"PK\x05\x06")
CARRIERS = (b"#!", b"MZ")
"""The first bytes of programs that may carry a zip archive after their own code, such as ``.pex`` and ``.pyz``."""

_NEW = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
_LATEST = 1 << 33


def extract(archive: Path, destination: Path, *, strip: int = 0, limits: ArchiveLimits | None = None) -> None:
    """Unpack ``archive`` into the directory ``destination``, without the first ``strip`` directories of each name."""
    with _explained(archive):
        top = open_top(destination)
        try:
            for member in _members(archive, limits or ArchiveLimits()):
                path = _path(member, strip)
                if path is not None:
                    _place(top, path, member, strip)
        finally:
            os.close(top)


def read_members(
    archive: Path, wanted: Callable[[str], bool], *, strip: int = 0, limits: ArchiveLimits | None = None
) -> Iterator[tuple[bytes, int, bytes]]:
    """Path, mode and bytes of the files and links whose name, after stripping, is ``wanted``.

    The name is handed over as text (see ``base.names``). A link's bytes are its target; a hard link is the file that
    it names.
    """
    bounds = limits or ArchiveLimits()
    with _explained(archive):
        later: dict[bytes, list[bytes]] = {}
        for member in _members(archive, bounds):
            path = _path(member, strip)
            if path is None or member.kind == "directory" or not wanted(name_text(path)):
                continue
            if member.kind == "hard link":
                later.setdefault(b"/".join(relative_parts(member.target)), []).append(path)
            elif member.kind == "link":
                yield path, LINK, member.target
            else:
                yield path, _mode(member), b"".join(member.read())
        for member in _members(archive, bounds) if later else ():
            name = b"/".join(relative_parts(member.name))
            if member.kind == "file" and name in later:
                data = b"".join(member.read())
                for path in later.pop(name):
                    yield path, _mode(member), data
        for name in later:
            raise BadArchive(f"hard link to a missing file: {name_text(name)}")


def members(archive: Path, limits: ArchiveLimits | None = None) -> Iterator[Member]:
    """The members of ``archive`` in order, whatever their names and kinds; only a damaged archive is refused."""
    with _explained(archive):
        yield from _members(archive, limits or ArchiveLimits())


def is_zip(archive: Path, start: bytes) -> bool:
    """Whether ``archive``, which begins with ``start``, is a zip archive or a program that carries one."""
    return start.startswith(ZIP) or (start.startswith(CARRIERS) and zipfile.is_zipfile(archive))


def _members(archive: Path, limits: ArchiveLimits) -> Iterator[Member]:
    """The members of ``archive``; its first bytes decide the format."""
    with archive.open("rb") as file:
        start = file.read(8)
    meter = Meter(limits, archive.stat().st_size)
    if is_zip(archive, start):
        yield from zip_members(archive, meter)
        return
    yield from tar_members(archive, start, meter)


@contextmanager
def _explained(archive: Path) -> Iterator[None]:
    """Turn what the format's reader raises into one message that names the archive."""
    damaged = (tarfile.TarError, zipfile.BadZipFile, zlib.error, lzma.LZMAError, EOFError, UnicodeError)
    try:
        yield
    except BadArchive as error:
        raise type(error)(error.message, where=error.where or str(archive), hint=error.hint) from None
    except (NotImplementedError, RecursionError) as error:
        raise BadArchive(f"cannot be read: {error}", where=str(archive)) from None
    except damaged as error:
        hint = "tar, tar.gz, tar.bz2, tar.xz, tar.zst, zip and whl can be read"
        raise BadArchive(f"damaged, cut short or not an archive: {error}", where=str(archive), hint=hint) from None
    except (FileNotFoundError, IsADirectoryError, PermissionError) as error:
        if error.filename is None or os.fsdecode(error.filename) != str(archive):
            raise
        raise BadArchive(f"cannot be opened: {error.strerror}", where=str(archive)) from None
    except OSError as error:
        if error.errno is not None:
            raise
        raise BadArchive(f"damaged: {error}", where=str(archive)) from None


def _path(member: Member, strip: int) -> bytes | None:
    """Where ``member`` goes; ``None`` for what is left out. Refuses what has no place in a tree."""
    name = name_text(member.name)
    parts = relative_parts(member.name)[strip:]
    if member.kind not in ("file", "directory", "link", "hard link"):
        raise BadArchive(f"{name} is a {member.kind}, which a tree cannot contain")
    if not parts or GIT in parts:
        return None
    path = b"/".join(parts)
    if not in_reach(path) or max(len(part) for part in parts) > 255:
        raise BadArchive(f"a name that is too long: {name[:200]}…")
    if member.kind == "link":
        _check_target(name, parts, member.target)
    return path


def _check_target(name: str, parts: tuple[bytes, ...], target: bytes) -> None:
    """Refuse a link that leads out of the tree."""
    depth = len(parts) - 1
    leads_out = target.startswith(b"/") or not target
    for part in target.split(b"/"):
        depth += {b"..": -1, b".": 0, b"": 0}.get(part, 1)
        leads_out = leads_out or depth < 0
    if leads_out:
        raise BadArchive(f"link {name} leads out of the archive: {name_text(target)}")


def _mode(member: Member) -> int:
    return PROGRAM if member.executable else FILE


def _place(top: int, path: bytes, member: Member, strip: int) -> None:
    """Write one member below ``top``."""
    parents = path.split(b"/")
    name = parents.pop() if member.kind != "directory" else b""
    with _made(top, parents, path) as directory:
        if member.kind == "directory":
            return
        _clear(directory, name, path)
        if member.kind == "link":
            os.symlink(member.target, name, dir_fd=directory)
        elif member.kind == "hard link":
            _link(top, relative_parts(member.target, "hard link")[strip:], directory, name, path)
        else:
            _write(directory, name, _mode(member), member.mtime, member.read())


@contextmanager
def _made(top: int, parts: list[bytes], path: bytes) -> Iterator[int]:
    """The directory ``parts`` below ``top``, made where it is missing."""
    handle = os.dup(top)
    try:
        for part in parts:
            status = status_of(handle, part)
            if status is None:
                os.mkdir(part, 0o755, dir_fd=handle)
                os.chmod(part, 0o755, dir_fd=handle)
            elif not stat.S_ISDIR(status.st_mode):
                raise BadArchive(f"{name_text(path)} is below {name_text(part)}, which is not a directory")
            inner = open_inner(handle, part)
            os.close(handle)
            handle = inner
        yield handle
    finally:
        os.close(handle)


def _clear(directory: int, name: bytes, path: bytes) -> None:
    """Make room for a member whose name came before."""
    status = status_of(directory, name)
    if status is None:
        return
    if stat.S_ISDIR(status.st_mode):
        raise BadArchive(f"{name_text(path)} comes both as a file and as a directory")
    os.unlink(name, dir_fd=directory)


def _write(directory: int, name: bytes, mode: int, mtime: int, chunks: Iterator[bytes]) -> None:
    handle = os.open(name, _NEW, 0o600, dir_fd=directory)
    with os.fdopen(handle, "wb") as file:
        for chunk in chunks:
            file.write(chunk)
        file.flush()
        os.fchmod(handle, mode & 0o777)
        seconds = min(max(mtime, 0), _LATEST)
        os.utime(handle, (seconds, seconds))


def _link(top: int, target: tuple[bytes, ...], directory: int, name: bytes, path: bytes) -> None:
    """Give a file that was written before a second name."""
    try:
        with directory_at(top, b"/".join(target[:-1])) as place:
            os.link(target[-1], name, src_dir_fd=place, dst_dir_fd=directory, follow_symlinks=False)
    except (OSError, IndexError):
        shown = name_text(b"/".join(target))
        raise BadArchive(f"hard link {name_text(path)} to a missing file: {shown}") from None
