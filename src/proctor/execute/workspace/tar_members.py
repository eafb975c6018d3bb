"""Members of a tar archive, plain or compressed with gzip, bzip2, xz or Zstandard, in one forward pass.

The decompressed stream is read through an allowance: a header may be large, but not larger than ``HEADER_BYTES``.
"""

from __future__ import annotations

import bz2
import gzip
import io
import lzma
import stat
import tarfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import IO, BinaryIO, cast

from proctor.execute.workspace import zstd
from proctor.execute.workspace.members import BadArchive, Member, Meter, bounded_chunks

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
    if start.startswith(zstd.MAGIC):
        return io.BufferedReader(zstd.ZstdStream(path))
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
                yield _member(information, contents)
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
        """Read it for nobody, within the same bounds, where nobody did."""
        if self._information.isreg() and not self._begun:
            for _ in self.read():
                pass


def _member(information: tarfile.TarInfo, contents: _Contents) -> Member:
    return Member(
        name=_bytes(information.name),
        kind=_kind(information),
        executable=bool(information.mode & stat.S_IXUSR),
        target=_bytes(information.linkname),
        mtime=int(information.mtime),
        read=contents.read,
    )


def _kind(information: tarfile.TarInfo) -> str:
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
