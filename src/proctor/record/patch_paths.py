"""Which paths a git patch touches, read from its headers alone.

Enough to ask whether every path of a patch was recorded; applying and counting are other rooms' work. Lines inside
hunks start with a blank, a sign or a backslash, and those of binary data hold no blank, so neither can be taken for a
header. Memory is bounded: only the beginning of a line is kept. Pure but for the file object it reads.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from typing import BinaryIO

LINE_BYTES = 1 << 16
"""More than two of the longest possible paths, fully escaped."""

_QUOTED = re.compile(rb'"((?:[^"\\]|\\.)*)"')
_ESCAPE = re.compile(rb"\\([0-3][0-7]{2}|.)", re.DOTALL)
_LETTERS = {b"a": b"\a", b"b": b"\b", b"f": b"\f", b"n": b"\n", b"r": b"\r", b"t": b"\t", b"v": b"\v"}


def bounded_lines(file: BinaryIO) -> Iterator[bytes]:
    """The lines of ``file`` without their ends; of a longer line only the first ``LINE_BYTES`` bytes."""
    while line := file.readline(LINE_BYTES):
        whole = line.endswith(b"\n")
        yield line.removesuffix(b"\n")
        while not whole and (rest := file.readline(LINE_BYTES)):
            whole = rest.endswith(b"\n")


def patch_paths(lines: Iterable[bytes]) -> set[bytes]:
    """Every path that is added, modified, deleted, renamed or copied to; ``ValueError`` on a header like no other."""
    paths: set[bytes] = set()
    title: bytes | None = None
    named: list[bytes] = []
    for line in lines:
        if line.startswith(b"diff --git "):
            paths.update(_finished(title, named))
            title, named = line[len(b"diff --git ") :], []
        elif title is not None:
            if line.startswith((b"@@ ", b"GIT binary patch")):
                paths.update(_finished(title, named))
                title = None
            else:
                named.extend(_named(line))
    paths.update(_finished(title, named))
    return paths


def _named(line: bytes) -> Iterator[bytes]:
    for prefix in (b"rename from ", b"rename to ", b"copy to "):
        if line.startswith(prefix):
            yield _unquoted(line[len(prefix) :])


def _finished(title: bytes | None, named: list[bytes]) -> Iterable[bytes]:
    """The paths of one file's header, once all of its lines were seen."""
    if title is None or named:
        return named if title is not None else ()
    if title.startswith(b'"'):
        parts = _QUOTED.findall(title)
        if len(parts) == 2 and title == b'"%b" "%b"' % (parts[0], parts[1]):
            return [_same(_unescaped(parts[0]), _unescaped(parts[1]))]
        raise ValueError("a quoted name that does not end")
    middle = len(title) // 2
    if title[middle : middle + 1] != b" ":
        raise ValueError("two names that differ without a rename")
    return [_same(title[:middle], title[middle + 1 :])]


def _same(before: bytes, after: bytes) -> bytes:
    if not before.startswith(b"a/") or not after.startswith(b"b/") or before[2:] != after[2:]:
        raise ValueError("two names that differ without a rename")
    return after[2:]


def _unquoted(name: bytes) -> bytes:
    quoted = _QUOTED.fullmatch(name)
    return _unescaped(quoted[1]) if quoted else name


def _unescaped(text: bytes) -> bytes:
    return _ESCAPE.sub(lambda match: _character(match[1]), text)


def _character(code: bytes) -> bytes:
    if code[:1].isdigit():
        return bytes([int(code, 8)])
    return _LETTERS.get(code, code)
