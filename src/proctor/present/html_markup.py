"""Markup from untrusted text: names of agents and tasks, tags, and any other text of a table.

Every piece of a page is made by ``tag``. A plain string is text and is escaped wherever it goes; only ``Markup``, which
``tag`` and ``trusted`` return, is taken as it is. What cannot be shown honestly (control characters, half a surrogate
pair, marks that turn the direction of a line) is replaced, and what is too long is cut, so that no name can break a
page, disguise itself or blow it up.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from html import escape
from typing import TypeAlias

LONGEST = 400
"""Characters of one piece of text; a page is bounded only if its pieces are."""

VOID = frozenset({"meta", "link", "br", "hr", "input", "img", "col"})
"""Elements that have no end tag."""

_UNFIT = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u200e\u200f\u202a-\u202e\u2066-\u2069\ud800-\udfff\ufffe\uffff]")


class Markup(str):
    """HTML or SVG that is ready to be written."""

    __slots__ = ()


Piece: TypeAlias = "str | int | Iterable[Piece] | None"
"""What may be between two tags: text, markup, a count, nothing, or several of these."""

EMPTY = Markup("")


def clean(text: str, longest: int = LONGEST) -> str:
    """Text as it may be shown: one honest line of it, cut at ``longest`` characters."""
    fit = _UNFIT.sub("\ufffd", text)
    return fit if len(fit) <= longest else fit[: longest - 1] + "\u2026"


def trusted(text: str) -> Markup:
    """Markup that this project wrote itself, such as its style sheet; never anything from a table."""
    return Markup(text)


def join(pieces: Iterable[Piece], between: Piece = "") -> Markup:
    """Pieces one after the other."""
    return Markup(_flat(between).join(_flat(piece) for piece in pieces))


def tag(name: str, /, *children: Piece, **attributes: str | int | float | bool | None) -> Markup:
    """One element. ``class_`` is written ``class``, other underscores become dashes; None and False are left out."""
    words = [name]
    for key, value in attributes.items():
        if value is None or value is False:
            continue
        word = key.rstrip("_").replace("_", "-")
        text = value if isinstance(value, Markup) else clean(str(value))
        words.append(word if value is True else f'{word}="{escape(text)}"')
    start = f"<{' '.join(words)}>"
    if name in VOID:
        return Markup(start)
    return Markup(f"{start}{''.join(_flat(child) for child in children)}</{name}>")


def _flat(piece: Piece) -> str:
    if isinstance(piece, Markup):
        return piece
    if isinstance(piece, str):
        return escape(clean(piece), quote=False)
    if piece is None:
        return ""
    if isinstance(piece, int):
        return str(piece)
    return "".join(_flat(inner) for inner in piece)
