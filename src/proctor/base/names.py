"""File names as text, without loss, whatever bytes they are made of.

A name is bytes on disk and text in a record. Valid UTF-8 stays as it is; a backslash is doubled, and every byte that
is not part of valid UTF-8, or is a control character, becomes ``\\xNN``. :func:`name_bytes` turns the text back.
"""

from __future__ import annotations

import re

_ESCAPE = re.compile(r"\\(\\|x[0-9a-f]{2})")
_SPECIAL = re.compile("[\\\\\x00-\x1f\x7f\udc80-\udcff]")


def name_text(name: bytes) -> str:
    """The text that stands for the file name ``name`` in records and messages."""
    return _SPECIAL.sub(_escaped, name.decode("utf-8", "surrogateescape"))


def name_bytes(text: str) -> bytes:
    """The file name that ``text`` stands for; ``ValueError`` where ``text`` is not of that form."""
    parts: list[bytes] = []
    end = 0
    for match in _ESCAPE.finditer(text):
        plain = text[end : match.start()]
        if "\\" in plain:
            raise ValueError(f"stray backslash in {text!r}")
        parts.append(plain.encode())
        parts.append(b"\\" if match[1] == "\\" else bytes([int(match[1][1:], 16)]))
        end = match.end()
    if "\\" in text[end:]:
        raise ValueError(f"stray backslash in {text!r}")
    parts.append(text[end:].encode())
    return b"".join(parts)


def _escaped(match: re.Match[str]) -> str:
    character = match[0]
    if character == "\\":
        return "\\\\"
    code = ord(character)
    return f"\\x{code & 0xFF:02x}"
