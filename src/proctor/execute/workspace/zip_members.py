"""Members of a zip archive (a wheel is one), read one by one.

What the directory of the archive claims about sizes is not believed; the meter counts what really comes out.
"""

from __future__ import annotations

import calendar
import stat
import zipfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import BinaryIO, cast

from proctor.execute.workspace.members import BadArchive, Encrypted, Member, Meter, bounded_chunks

_UTF8 = 0x800
_ENCRYPTED = 0x1
_UNIX = 3
_TARGET_BYTES = 4096


def zip_members(path: Path, meter: Meter) -> Iterator[Member]:
    """The members of the zip archive ``path``."""
    with zipfile.ZipFile(path) as archive:
        for information in archive.infolist():
            meter.member()
            yield _member(archive, information, meter)


def _member(archive: zipfile.ZipFile, information: zipfile.ZipInfo, meter: Meter) -> Member:
    def read() -> Iterator[bytes]:
        if information.flag_bits & _ENCRYPTED:
            raise Encrypted("the archive is encrypted")
        with archive.open(information) as file:
            yield from bounded_chunks(cast(BinaryIO, file), meter)

    mode = information.external_attr >> 16 if information.create_system == _UNIX else 0
    kind = _kind(information, mode)
    return Member(
        name=_name(information),
        kind=kind,
        executable=bool(mode & stat.S_IXUSR),
        target=_target(read) if kind == "link" else b"",
        mtime=_mtime(information),
        read=read,
    )


def _kind(information: zipfile.ZipInfo, mode: int) -> str:
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
