"""The files of an input, including those in nested archives, read one at a time and within limits.

Wheels, source releases, npm tarballs, Debian packages and plain archives are recognised by their first bytes, not by
their names; programs that carry a zip archive after their own code (``.pex``, ``.pyz``) by its end. Nested archives
are copied to a scratch directory and read from there. Nothing is unpacked into a tree, so links and names with ``..``
are harmless. Archives that cannot be read are listed, never skipped silently.
"""

from __future__ import annotations

import lzma
import os
import re
import tarfile
import tempfile
import zipfile
import zlib
from collections.abc import Callable, Iterator
from contextlib import closing
from dataclasses import dataclass, field
from functools import partial
from itertools import chain
from pathlib import Path

from proctor.base.reversible_escapes import name_text
from proctor.execute.workspace.archive_extraction import CARRIERS, ZIP, ArchiveLimits, BadArchive, is_zip, members
from proctor.execute.workspace.archive_reader import AR_MAGIC as AR
from proctor.execute.workspace.archive_reader import ZSTD_MAGIC as ZSTD
from proctor.execute.workspace.archive_reader import Encrypted, Member, Meter, TooLarge, ar_members, open_stream

BETWEEN = "!/"
"""Separates an archive from the path in it, as in ``outer.zip!/inner.tar.gz!/a/b.py``."""

_COMPRESSED = (b"\x1f\x8b", b"BZh", b"\xfd7zXZ\0", ZSTD)
_FOREIGN = {
    b"7z\xbc\xaf\x27\x1c": "a 7z archive",
    b"\xed\xab\xee\xdb": "an RPM package",
    b"Rar!\x1a\x07": "a RAR archive",
    b"hsqs": "a squashfs image",
}
"""Containers that Proctor cannot read, by their first bytes."""
_SUFFIXES = (".gz", ".bz2", ".xz", ".zst")
_CHECKSUM = re.compile(rb"[ 0-7]{6,7}[\0 ]{1,2}")
_HEAD_BYTES = 512
_PIECE_BYTES = 1 << 20


@dataclass(frozen=True)
class SearchLimits:
    """The limits for one file of an input. ``file_bytes`` is how much of a single file is read."""

    depth: int = 8
    nested_archives: int = 5_000
    nested_bytes: int = 1 << 30
    total_bytes: int = 16 << 30
    file_bytes: int = 8 << 20
    archive: ArchiveLimits = field(default_factory=ArchiveLimits)


@dataclass(frozen=True)
class Entry:
    """One file: ``archive`` is the path to its archive, from the input's file on; ``path`` is the path inside it.

    Of a single compressed file, ``path`` lacks the ``suffix`` that says so.
    """

    archive: str
    path: str
    data: bytes
    suffix: str = ""


@dataclass(frozen=True)
class Unread:
    """An archive that was not searched; ``is_limit`` if it is too large, too deep or the input's own file."""

    place: str
    why: str
    is_limit: bool


class _Exhausted(Exception):
    """One file of an input exceeds the limits."""


class InputReader:
    """Reads one file of an input. After the entries have been read, ``unread`` lists what could not be searched.

    ``shown`` gives the path under which a member of the outermost archive is searched, empty to leave it out. ``look``
    is called with the archive, the path and the first bytes of every file that is searched, wanted or not.
    """

    def __init__(
        self,
        wanted: Callable[[str], bool],
        scratch: Path,
        limits: SearchLimits | None = None,
        *,
        shown: Callable[[str], str] = lambda path: path,
        look: Callable[[str, str, bytes], None] = lambda archive, path, head: None,
    ) -> None:
        self.unread: list[Unread] = []
        self._wanted = wanted
        self._shown = shown
        self._look = look
        self._scratch = scratch
        self._limits = limits or SearchLimits()
        self._nested = 0
        self._bytes = 0

    def entries(self, file: Path, name: str) -> Iterator[Entry]:
        """The wanted files of ``file``, which is called ``name``."""
        with file.open("rb") as opened:
            head = opened.read(_HEAD_BYTES)
        self._look("", name, head)
        self._note_foreign(head, name)
        if is_archive(head) or is_zip(file, head):
            try:
                yield from self._archive(file, head, name, 0)
            except _Exhausted:
                why = f"unpacks to more than {self._limits.total_bytes} bytes, archives in it included"
                self.unread.append(Unread(name, why, is_limit=True))
        elif self._wanted(name):
            with file.open("rb") as opened:
                yield Entry("", name, opened.read(self._limits.file_bytes))

    def _archive(self, file: Path, head: bytes, place: str, depth: int) -> Iterator[Entry]:
        """The wanted files of the archive ``file``; problems with it are added to ``unread``."""
        try:
            if head.startswith(_COMPRESSED) and not _holds_tar(file, head):
                yield from self._decompressed(file, head, place)
                return
            problem = ""
            for member in self._members(file, head):
                if member.kind == "file":
                    try:
                        yield from self._member(member, place, depth)
                    except Encrypted as error:
                        problem = error.message
            if problem:
                self.unread.append(Unread(place, problem, is_limit=depth == 0))
        except BadArchive as error:
            self.unread.append(Unread(place, error.message, is_limit=depth == 0 or isinstance(error, TooLarge)))
        except _damaged() as error:
            if isinstance(error, OSError) and error.errno is not None:
                raise  # a fault of this machine, not of the archive
            self.unread.append(Unread(place, f"cannot be read: {error}", is_limit=depth == 0))

    def _members(self, file: Path, head: bytes) -> Iterator[Member]:
        if head.startswith(AR):
            return ar_members(file, Meter(self._limits.archive, file.stat().st_size))
        return members(file, self._limits.archive)

    def _member(self, member: Member, place: str, depth: int) -> Iterator[Entry]:
        """One member: the member itself if it is wanted, or the files in it. Its bytes are always read to the end."""
        path = plain_path(member.name)
        if depth == 0:
            path = self._shown(path)
            if not path:
                return
        chunks = self._counted(member.read())
        head = b""
        for chunk in chunks:
            head += chunk
            if len(head) >= _HEAD_BYTES:
                break
        self._look(place, path, head)
        self._note_foreign(head, f"{place}{BETWEEN}{path}")
        if is_archive(head):
            yield from self._nested_archive(chain([head], chunks), head, f"{place}{BETWEEN}{path}", depth + 1)
        elif head.startswith(CARRIERS):
            yield from self._program(chain([head], chunks), head, place, path, depth + 1)
        elif self._wanted(path):
            data = head
            for chunk in chunks:
                data += chunk[: max(0, self._limits.file_bytes - len(data))]
            yield Entry(place, path, data[: self._limits.file_bytes])
        else:
            for _ in chunks:
                pass

    def _counted(self, chunks: Iterator[bytes]) -> Iterator[bytes]:
        """``chunks``, counted over all archives of the input's file."""
        for chunk in chunks:
            self._bytes += len(chunk)
            if self._bytes > self._limits.total_bytes:
                raise _Exhausted
            yield chunk

    def _note_foreign(self, head: bytes, place: str) -> None:
        """List a container that cannot be read."""
        for start, what in _FOREIGN.items():
            if head.startswith(start):
                self.unread.append(Unread(place, f"{what}, which Proctor cannot read", is_limit=False))

    def _program(self, chunks: Iterator[bytes], head: bytes, place: str, path: str, depth: int) -> Iterator[Entry]:
        """A program in an archive: the files of the zip archive that it carries, or the program itself if wanted."""
        with tempfile.NamedTemporaryFile(dir=self._scratch, prefix="program-") as copy:
            for chunk in chunks:
                copy.write(chunk)
            copy.flush()
            copy.seek(0)
            if is_zip(Path(copy.name), head):
                pieces = iter(partial(copy.read, _PIECE_BYTES), b"")
                yield from self._nested_archive(pieces, head, f"{place}{BETWEEN}{path}", depth)
            elif self._wanted(path):
                yield Entry(place, path, copy.read(self._limits.file_bytes))

    def _nested_archive(self, chunks: Iterator[bytes], head: bytes, place: str, depth: int) -> Iterator[Entry]:
        self._nested += 1
        problem = ""
        if depth > self._limits.depth:
            problem = f"archives in archives, more than {self._limits.depth} deep"
        elif self._nested > self._limits.nested_archives:
            problem = f"more than {self._limits.nested_archives} archives in one file"
        handle, name = tempfile.mkstemp(dir=self._scratch, prefix="nested-")
        try:
            size = 0
            with os.fdopen(handle, "wb") as copy:
                for chunk in chunks:
                    size += len(chunk)
                    if not problem and size <= self._limits.nested_bytes:
                        copy.write(chunk)
            if size > self._limits.nested_bytes:
                problem = f"an archive of more than {self._limits.nested_bytes} bytes in another one"
            if problem:
                self.unread.append(Unread(place, problem, is_limit=True))
            else:
                yield from self._archive(Path(name), head, place, depth)
        finally:
            os.unlink(name)

    def _decompressed(self, file: Path, head: bytes, place: str) -> Iterator[Entry]:
        """A single file that is compressed, under its name without the suffix."""
        outer, found, path = place.rpartition(BETWEEN)
        suffix = next((one for one in _SUFFIXES if path.endswith(one)), "")
        path = path.removesuffix(suffix)
        if self._wanted(path):
            with closing(open_stream(file, head)) as stream:
                yield Entry(outer if found else "", path, stream.read(self._limits.file_bytes), suffix)


def is_archive(head: bytes) -> bool:
    """Whether a file that begins with ``head`` may hold other files, or is compressed."""
    if head.startswith(AR):
        return head[len(AR) :].startswith(b"debian-binary")
    return head.startswith((*ZIP, *_COMPRESSED)) or head[257:262] == b"ustar" or _is_plain_tar(head)


def _holds_tar(file: Path, head: bytes) -> bool:
    """Whether the compressed ``file`` is a tar archive; an archive without members ends in zeros at once."""
    with closing(open_stream(file, head)) as stream:
        start = stream.read(_HEAD_BYTES)
    return start == bytes(_HEAD_BYTES) or _is_tar_header(start)


def _is_plain_tar(head: bytes) -> bool:
    """Whether ``head`` begins an archive of the oldest form of tar, which has a checksum and no other mark."""
    return bool(_CHECKSUM.fullmatch(head, 148, 156)) and _is_tar_header(head[:_HEAD_BYTES])


def _is_tar_header(head: bytes) -> bool:
    try:
        tarfile.TarInfo.frombuf(head, "utf-8", "surrogateescape")
    except tarfile.HeaderError:
        return False
    return True


def _damaged() -> tuple[type[Exception], ...]:
    """What readers of archives raise for damaged or unknown contents."""
    formats = (tarfile.TarError, zipfile.BadZipFile, zlib.error, lzma.LZMAError)
    return (OSError, EOFError, ValueError, NotImplementedError, *formats)


def plain_path(name: bytes) -> str:
    """A member's name as text, relative and without ``..``."""
    parts = name.replace(b"\\", b"/").split(b"/")
    return name_text(b"/".join(part for part in parts if part not in (b"", b".", b"..")))
