"""git's index and loose objects, written and read without starting git.

Just enough of two documented formats to hand files to ``git apply --cached`` and to take its result: an index of
version 2 without extensions, and blobs as loose objects under their SHA-1 names. The repository is always our own.
"""

from __future__ import annotations

import hashlib
import os
import struct
import zlib
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from proctor.base.errors import InfrastructureFault

_HEADER = struct.Struct(">4sII")
_ENTRY = struct.Struct(">10I20sH")
_NAME_MASK = 0xFFF
_STAGES = 0x3000


@dataclass(frozen=True)
class IndexEntry:
    """One file of an index: its path, mode and the name of its blob."""

    path: bytes
    mode: int
    blob: bytes


def write_blob(objects: Path, data: bytes) -> bytes:
    """Store ``data`` as a blob; its binary name."""
    content = b"blob %d\0" % len(data) + data
    name = hashlib.sha1(content, usedforsecurity=False).digest()
    place = _place(objects, name)
    if not place.exists():
        place.parent.mkdir(exist_ok=True)
        place.write_bytes(zlib.compress(content, 1))
    return name


def read_blob(objects: Path, name: bytes, limit_bytes: int) -> bytes | None:
    """The bytes of a blob, or ``None`` where they are more than ``limit_bytes``."""
    machine = zlib.decompressobj()
    content = machine.decompress(_place(objects, name).read_bytes(), limit_bytes + 64)
    header, _, data = content.partition(b"\0")
    kind, _, size = header.partition(b" ")
    if kind != b"blob" or not size.isdigit():
        raise InfrastructureFault("git wrote an object that is no blob")
    if int(size) > limit_bytes:
        return None
    if len(data) != int(size):
        raise InfrastructureFault("git wrote an object that is cut short")
    return data


def write_index(path: Path, entries: Iterable[IndexEntry]) -> None:
    """Write an index that holds ``entries``."""
    ordered = sorted(entries, key=lambda entry: entry.path)
    parts = [_HEADER.pack(b"DIRC", 2, len(ordered))]
    for entry in ordered:
        flags = min(len(entry.path), _NAME_MASK)
        fixed = _ENTRY.pack(0, 0, 0, 0, 0, 0, entry.mode, 0, 0, 0, entry.blob, flags)
        parts.append(fixed + entry.path + b"\0" * _padding(len(entry.path)))
    body = b"".join(parts)
    path.write_bytes(body + hashlib.sha1(body, usedforsecurity=False).digest())


def read_index(path: Path) -> list[IndexEntry]:
    """The entries of the index at ``path``."""
    data = path.read_bytes()
    signature, version, count = _HEADER.unpack_from(data)
    if signature != b"DIRC" or version != 2:
        raise InfrastructureFault("git wrote an index of another version")
    entries: list[IndexEntry] = []
    place = _HEADER.size
    for _ in range(count):
        fields = _ENTRY.unpack_from(data, place)
        start = place + _ENTRY.size
        length = fields[11] & _NAME_MASK
        end = data.index(b"\0", start) if length == _NAME_MASK else start + length
        if fields[11] & _STAGES:
            raise InfrastructureFault("git left an index with conflicts")
        entries.append(IndexEntry(data[start:end], fields[6], fields[10]))
        place = end + _padding(end - start)
    return entries


def _padding(length: int) -> int:
    """The zero bytes after a name, at least one, that bring an entry to a multiple of eight."""
    return 8 - (_ENTRY.size + length) % 8


def _place(objects: Path, name: bytes) -> Path:
    text = name.hex()
    return objects / os.path.join(text[:2], text[2:])
