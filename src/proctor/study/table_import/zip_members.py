"""Members of a zip archive that a stranger wrote: deflate and zstd, bounded, each checked by its CRC.

Python's ``zipfile`` reads the list of members everywhere, and zstd (method 93) only from 3.14 on. A member is refused
if its stated or its real size is above the limit, so a bomb costs no more than the limit. Nothing is extracted to the
disk, and names of members are only compared.
"""

from __future__ import annotations

import struct
import zipfile
import zlib
from collections.abc import Iterator
from typing import BinaryIO

from proctor.base.errors import UsageFault

MAX_MEMBERS = 2_000_000
MAX_MEMBER_BYTES = 512 * 2**20
ZSTD = 93
METHODS = (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED, ZSTD)
TIMES = 4
"""How many times the limit is read of all members together: many may share the same compressed bytes."""
MAX_WINDOW_BYTES = 256 * 2**20
CHUNK_BYTES = 1 << 20
ENCRYPTED = 1
LOCAL_HEADER = struct.Struct("<4s22xHH")
DAMAGED = "the archive is damaged or incomplete: write or copy it again"


class ZipMembers:
    """The members of the archive ``file``, which ``name`` names in messages."""

    def __init__(self, file: BinaryIO, name: str, limit_bytes: int = MAX_MEMBER_BYTES) -> None:
        self._file, self._name, self._limit = file, name, limit_bytes
        self._left = TIMES * limit_bytes
        try:
            with zipfile.ZipFile(file) as archive:
                infos = archive.infolist()
        except (zipfile.BadZipFile, NotImplementedError, ValueError, struct.error, OSError) as error:
            raise UsageFault(f"this is not a whole zip archive: {error}", where=name, hint=DAMAGED) from None
        if len(infos) > MAX_MEMBERS:
            raise UsageFault(f"the archive has {len(infos):,} members", where=name, hint=f"at most {MAX_MEMBERS:,}")
        self._infos = {info.filename: info for info in infos}
        if len(self._infos) != len(infos):
            raise UsageFault("two members of the archive have the same name", where=name, hint=DAMAGED)

    def names(self) -> tuple[str, ...]:
        """The names of all members, in the order of the archive."""
        return tuple(self._infos)

    def read(self, member: str) -> bytes:
        """The bytes of a member; :class:`UsageFault` if it is too large, damaged or stored in an unknown way."""
        info, where = self._infos[member], f"{self._name}:{member}"
        if info.compress_type not in METHODS or info.flag_bits & ENCRYPTED:
            what = "encrypted" if info.flag_bits & ENCRYPTED else f"compressed by method {info.compress_type}"
            raise UsageFault(f"this member is {what}", where=where, hint="stored, deflate and zstd are read")
        if max(info.file_size, info.compress_size) > self._limit:
            raise UsageFault(f"this member has {info.file_size:,} bytes", where=where, hint=self._most())
        self._left -= max(info.file_size, info.compress_size)
        if self._left < 0:
            hint = f"at most {TIMES * self._limit:,} bytes are read of one archive"
            raise UsageFault("the members are too large together", where=where, hint=hint)
        data = bytearray()
        try:
            for chunk in self._chunks(info):
                data += chunk
                if len(data) > self._limit:
                    raise UsageFault("this member is larger than it says", where=where, hint=self._most())
        except (zlib.error, ValueError, OSError, struct.error) as error:
            raise UsageFault(f"this member cannot be read: {error}", where=where, hint=DAMAGED) from None
        if len(data) != info.file_size or zlib.crc32(data) != info.CRC:
            raise UsageFault("this member does not have the stated size and checksum", where=where, hint=DAMAGED)
        return bytes(data)

    def _most(self) -> str:
        return f"at most {self._limit:,} bytes are read"

    def _chunks(self, info: zipfile.ZipInfo) -> Iterator[bytes]:
        raw = self._compressed(info)
        if info.compress_type == zipfile.ZIP_STORED:
            return iter((raw,))
        return _inflated(raw) if info.compress_type == zipfile.ZIP_DEFLATED else _unpacked(raw)

    def _compressed(self, info: zipfile.ZipInfo) -> bytes:
        self._file.seek(info.header_offset)
        magic, name_bytes, extra_bytes = LOCAL_HEADER.unpack(self._file.read(LOCAL_HEADER.size))
        if magic != b"PK\x03\x04":
            raise ValueError("its header is not where the list of members says")
        self._file.seek(name_bytes + extra_bytes, 1)
        raw = self._file.read(info.compress_size)
        if len(raw) != info.compress_size:
            raise ValueError("the archive ends inside it")
        return raw


def _inflated(raw: bytes) -> Iterator[bytes]:
    stream = zlib.decompressobj(-zlib.MAX_WBITS)
    rest = raw
    while not stream.eof:
        chunk = stream.decompress(rest, CHUNK_BYTES)
        rest = stream.unconsumed_tail
        if not chunk and not rest:
            raise ValueError("its data end too early")
        yield chunk


def _unpacked(raw: bytes) -> Iterator[bytes]:
    import zstandard

    reader = zstandard.ZstdDecompressor(max_window_size=MAX_WINDOW_BYTES).stream_reader(raw, read_across_frames=True)
    try:
        while chunk := reader.read(CHUNK_BYTES):
            yield chunk
    except zstandard.ZstdError as error:
        raise ValueError(str(error)) from None
