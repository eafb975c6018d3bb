"""Read the members of tar, zip and ar archives one by one, within limits.

Names as bytes, kinds, and contents read once.
"""

from __future__ import annotations

import bz2
import calendar
import gzip
import io
import lzma
import stat
import subprocess
import tarfile
import zipfile
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import IO, BinaryIO, cast

from proctor.base.errors import InfrastructureFault, ProctorError
from proctor.base.reversible_escapes import name_text

KINDS = ("file", "directory", "link", "hard link", "fifo", "device")


class BadArchive(ProctorError):
    """An archive that cannot be used: hostile, damaged, too large or of an unknown kind."""

    exit_code = 2


class TooLarge(BadArchive):
    """An archive exceeds the limits."""


class Encrypted(BadArchive):
    """A member is encrypted."""


@dataclass(frozen=True)
class ArchiveLimits:
    """The limits of extracting one archive.

    ``ratio`` bounds the extracted bytes for each byte of the archive, after the first ``free_bytes``.
    """

    total_bytes: int = 4 << 30
    members: int = 200_000
    ratio: int = 250
    free_bytes: int = 64 << 20


@dataclass(frozen=True)
class Member:
    """One member: ``target`` is where a link or hard link leads; ``read`` yields a file's bytes, at once or never."""

    name: bytes
    kind: str
    executable: bool
    target: bytes
    mtime: int
    read: Callable[[], Iterator[bytes]]


class Meter:
    """Counts what is extracted from one archive and refuses what exceeds the limits."""

    def __init__(self, limits: ArchiveLimits, archive_bytes: int) -> None:
        self._limits = limits
        self._allowed = min(limits.total_bytes, max(limits.free_bytes, limits.ratio * archive_bytes))
        self._bytes = 0
        self._members = 0

    def member(self) -> None:
        self._members += 1
        if self._members > self._limits.members:
            raise TooLarge(f"more than {self._limits.members} members")

    def data(self, size: int) -> None:
        self._bytes += size
        if self._bytes > self._allowed:
            raise TooLarge(f"unpacks to more than {self._allowed} bytes", hint="an archive like this is a bomb")


def bounded_chunks(file: BinaryIO, meter: Meter) -> Iterator[bytes]:
    """The bytes of ``file``, counted."""
    while part := file.read(1 << 18):
        meter.data(len(part))
        yield part


def relative_parts(name: bytes, what: str = "member") -> tuple[bytes, ...]:
    """The components of a member's name; :class:`BadArchive` if it is absolute or leaves the archive."""
    if name.startswith(b"/"):
        raise BadArchive(f"{what} with an absolute path: {name_text(name)}")
    parts = tuple(part for part in name.split(b"/") if part not in (b"", b"."))
    if b".." in parts:
        raise BadArchive(f"{what} that leaves the archive: {name_text(name)}")
    return parts


ZSTD_MAGIC = b"\x28\xb5\x2f\xfd"
MEMORY_MEBIBYTES = 512


class ZstdStream(io.RawIOBase):
    """Reads the output of ``zstd`` for one file; :class:`BadArchive` if the program refuses the file."""

    def __init__(self, path: Path) -> None:
        command = ["zstd", "--decompress", "--stdout", "--quiet", f"-M{MEMORY_MEBIBYTES}MiB", "--", str(path)]
        try:
            self._program = subprocess.Popen(
                command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL
            )
        except FileNotFoundError:
            raise InfrastructureFault("zstd is not installed", where=str(path), hint="install zstd") from None

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: bytearray | memoryview) -> int:  # type: ignore[override]
        assert self._program.stdout is not None
        data = self._program.stdout.read(len(buffer))
        if not data and len(buffer) and self._program.wait() != 0:
            raise BadArchive("damaged or cut short: zstd refused it")
        buffer[: len(data)] = data
        return len(data)

    def close(self) -> None:
        if not self.closed:
            self._program.kill()
            self._program.wait()
            if self._program.stdout is not None:
                self._program.stdout.close()
        super().close()


AR_MAGIC = b"!<arch>\n"
_HEADER_BYTES = 60
_CHUNK_BYTES = 1 << 18


def ar_members(path: Path, meter: Meter) -> Iterator[Member]:
    """The members of the archive ``path``."""
    with path.open("rb") as file:
        if file.read(len(AR_MAGIC)) != AR_MAGIC:
            raise BadArchive("not an ar archive")
        while header := file.read(_HEADER_BYTES):
            name, size = _fields(header)
            start = file.tell()
            meter.member()
            yield Member(name, "file", False, b"", 0, lambda start=start, size=size: _read(file, start, size, meter))  # type: ignore[misc]
            file.seek(start + size + size % 2)


def _fields(header: bytes) -> tuple[bytes, int]:
    """Name and size of the member that follows ``header``."""
    size = header[48:58].strip()
    if len(header) != _HEADER_BYTES or header[58:] != b"`\n" or not size.isdigit():
        raise BadArchive("damaged: not a header of an ar archive")
    return header[:16].rstrip().rstrip(b"/"), int(size)


def _read(file: BinaryIO, start: int, size: int, meter: Meter) -> Iterator[bytes]:
    """The ``size`` bytes at ``start``, counted by ``meter``."""
    file.seek(start)
    while size > 0:
        part = file.read(min(size, _CHUNK_BYTES))
        if not part:
            raise BadArchive("cut short")
        size -= len(part)
        meter.data(len(part))
        yield part


_UTF8 = 0x800
_ENCRYPTED = 0x1
_UNIX = 3
_TARGET_BYTES = 4096


def zip_members(path: Path, meter: Meter) -> Iterator[Member]:
    """The members of the zip archive ``path``."""
    with zipfile.ZipFile(path) as archive:
        for information in archive.infolist():
            meter.member()
            yield _zip_member(archive, information, meter)


def _zip_member(archive: zipfile.ZipFile, information: zipfile.ZipInfo, meter: Meter) -> Member:
    def read() -> Iterator[bytes]:
        if information.flag_bits & _ENCRYPTED:
            raise Encrypted("the archive is encrypted")
        with archive.open(information) as file:
            yield from bounded_chunks(cast(BinaryIO, file), meter)

    mode = information.external_attr >> 16 if information.create_system == _UNIX else 0
    kind = _zip_kind(information, mode)
    return Member(
        name=_name(information),
        kind=kind,
        executable=bool(mode & stat.S_IXUSR),
        target=_target(read) if kind == "link" else b"",
        mtime=_mtime(information),
        read=read,
    )


def _zip_kind(information: zipfile.ZipInfo, mode: int) -> str:
    if information.is_dir():
        return "directory"
    kinds = {0: "file", stat.S_IFREG: "file", stat.S_IFDIR: "directory", stat.S_IFLNK: "link", stat.S_IFIFO: "fifo"}
    return kinds.get(stat.S_IFMT(mode), "device")


def _target(read: Callable[[], Iterator[bytes]]) -> bytes:
    """A link's target, which zip stores as the contents of the member."""
    target = b""
    for part in read():
        target += part
        if len(target) > _TARGET_BYTES:
            raise BadArchive("a link with a target of more than 4096 bytes")
    return target


def _name(information: zipfile.ZipInfo) -> bytes:
    """The name's own bytes: the format says UTF-8 or, without saying so, anything at all."""
    return information.filename.encode("utf-8" if information.flag_bits & _UTF8 else "cp437")


def _mtime(information: zipfile.ZipInfo) -> int:
    try:
        return calendar.timegm((*information.date_time, 0, 1, 0))
    except ValueError:
        return 0


HEADER_BYTES = 1 << 20
_SLACK = 1 << 16


def open_stream(path: Path, start: bytes) -> IO[bytes]:
    """The decompressed bytes of ``path``, whose first bytes are ``start``."""
    if start.startswith(b"\x1f\x8b"):
        return cast(IO[bytes], gzip.open(path, "rb"))
    if start.startswith(b"BZh"):
        return bz2.open(path, "rb")
    if start.startswith(b"\xfd7zXZ\0"):
        return lzma.open(path, "rb")
    if start.startswith(ZSTD_MAGIC):
        return io.BufferedReader(ZstdStream(path))
    return path.open("rb")


class _Allowance:
    """A stream that may be read only as far as was allowed."""

    def __init__(self, stream: IO[bytes]) -> None:
        self._stream = stream
        self._left = 0

    def allow(self, size: int) -> None:
        self._left = size + _SLACK

    def read(self, size: int) -> bytes:
        data = self._stream.read(size)
        self._left -= len(data)
        if self._left < 0:
            raise BadArchive(f"a header of more than {HEADER_BYTES} bytes")
        return data


def tar_members(path: Path, start: bytes, meter: Meter) -> Iterator[Member]:
    """The members of the tar archive ``path``."""
    with open_stream(path, start) as stream:
        allowance = _Allowance(stream)
        allowance.allow(HEADER_BYTES)
        with tarfile.open(fileobj=allowance, mode="r|", encoding="utf-8", errors="surrogateescape") as archive:  # type: ignore[call-overload]
            while (information := archive.next()) is not None:
                meter.member()
                contents = _Contents(archive, information, allowance, meter)
                yield _tar_member(information, contents)
                contents.pass_over()
                archive.members.clear()
                allowance.allow(HEADER_BYTES)


class _Contents:
    """The bytes of one member, which have to be read before the next header, wanted or not."""

    def __init__(
        self, archive: tarfile.TarFile, information: tarfile.TarInfo, allowance: _Allowance, meter: Meter
    ) -> None:
        self._archive = archive
        self._information = information
        self._allowance = allowance
        self._meter = meter
        self._begun = False

    def read(self) -> Iterator[bytes]:
        """All of it, in parts."""
        self._begun = True
        self._allowance.allow(max(0, self._information.size))
        file = self._archive.extractfile(self._information)
        return bounded_chunks(cast(BinaryIO, file), self._meter) if file is not None else iter(())

    def pass_over(self) -> None:
        """Read and drop it, within the same bounds, if it was not read."""
        if self._information.isreg() and not self._begun:
            for _ in self.read():
                pass


def _tar_member(information: tarfile.TarInfo, contents: _Contents) -> Member:
    return Member(
        name=_bytes(information.name),
        kind=_tar_kind(information),
        executable=bool(information.mode & stat.S_IXUSR),
        target=_bytes(information.linkname),
        mtime=int(information.mtime),
        read=contents.read,
    )


def _tar_kind(information: tarfile.TarInfo) -> str:
    checks: tuple[tuple[Callable[[], bool], str], ...] = (
        (information.isreg, "file"),
        (information.isdir, "directory"),
        (information.issym, "link"),
        (information.islnk, "hard link"),
        (information.isfifo, "fifo"),
        (information.isdev, "device"),
    )
    return next((kind for check, kind in checks if check()), "member of an unknown kind")


def _bytes(name: str) -> bytes:
    return name.encode("utf-8", "surrogateescape")
