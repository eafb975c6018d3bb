"""Escapes that lose nothing: file names of any bytes as text, and texts as CSV cells.

A file name is bytes on disk and text in a record. Valid UTF-8 stays as it is; a backslash is doubled, and every byte
that is not part of valid UTF-8, or is a control character, becomes ``\\xNN``. :func:`name_bytes` turns the text back.

A spreadsheet runs a cell that begins like a formula. Such a text gets an apostrophe before it, and so does one that
already has apostrophes before such a beginning: removing one apostrophe always gives the original text. Plain numbers
stay as they are.
"""

from __future__ import annotations

import re

_ESCAPE = re.compile(r"\\(\\|x[0-9a-f]{2})")
_SPECIAL = re.compile("[\\\\\x00-\x1f\x7f\udc80-\udcff]")


def name_text(name: bytes) -> str:
    """The file name ``name`` as text for records and messages."""
    return _SPECIAL.sub(_escaped, name.decode("utf-8", "surrogateescape"))


def name_bytes(text: str) -> bytes:
    """The file name that ``text`` was made from; ``ValueError`` if ``text`` is not of that form."""
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


_FORMULA = re.compile("'*[=+@\t\r\n\uff1d\uff0b\uff0d\uff20-]")
"""How a formula begins; some spreadsheets take the wide forms of the signs as well."""
_NUMBER = re.compile(r"[+-]?[0-9]+(?:\.[0-9]+)?(?:[eE][+-]?[0-9]+)?")


def escape_cell(text: str) -> str:
    """``text`` as a cell that no spreadsheet takes for a formula."""
    return f"'{text}" if _FORMULA.match(text) and not _NUMBER.fullmatch(text) else text


def unescape_cell(cell: str) -> str:
    """The text that was written as ``cell``."""
    return cell[1:] if cell[:1] == "'" and _FORMULA.match(cell) else cell
