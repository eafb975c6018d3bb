"""Texts in CSV files that people open in spreadsheets, where a text that begins like a formula is run as one.

Such a text gets an apostrophe before it, and so does one that already has apostrophes before such a beginning: taking
one apostrophe away again always gives the text that was written. Plain numbers stay as they are.
"""

from __future__ import annotations

import re

_FORMULA = re.compile("'*[=+@\t\r\n\uff1d\uff0b\uff0d\uff20-]")
"""How a formula begins; some spreadsheets take the wide forms of the signs as well."""
_NUMBER = re.compile(r"[+-]?[0-9]+(?:\.[0-9]+)?(?:[eE][+-]?[0-9]+)?")


def guarded(text: str) -> str:
    """``text`` as a cell that no spreadsheet takes for a formula."""
    return f"'{text}" if _FORMULA.match(text) and not _NUMBER.fullmatch(text) else text


def unguarded(cell: str) -> str:
    """The text that was written as ``cell``."""
    return cell[1:] if cell[:1] == "'" and _FORMULA.match(cell) else cell
