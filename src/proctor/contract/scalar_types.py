"""The simple kinds of value that a contract's fields hold: how each is read, and its JSON Schema.

A kind reads a node into a plain value and reports what is wrong with it; after a mistake it gives its ``blank``, so
that reading goes on and every mistake is found at once. The schema comes from the same object, so the two cannot drift.
``contract.composite_types`` combines kinds; ``contract.schema`` lists the kind of each field.
"""

from __future__ import annotations

import difflib
import re
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any, Protocol

from proctor.base.canonical import SAFE_INTEGER
from proctor.base.entry_points import registered_names
from proctor.contract.strict_yaml import NUMBER, Node, Report

SHOWN_CHARACTERS = 60
ANY_TEXT = r"[^\u0000]*"
SOME_TEXT = r"[^\u0000]+"
DECIMAL_TEXT = r"(?:0|[1-9][0-9]{0,11})(?:\.[0-9]{1,12})?"

NAMES = {
    "text": "text",
    "number": "a number",
    "flag": "true or false",
    "null": "nothing",
    "list": "a list",
    "map": "a map",
}


class Kind(Protocol):
    """A kind of value."""

    @property
    def blank(self) -> Any:
        """The placeholder for a value that could not be read."""
        ...

    def read(self, node: Node, report: Report) -> Any: ...

    def schema(self) -> dict[str, Any]: ...


@dataclass(frozen=True)
class Text:
    """Text, or one of ``choices``. ``expected`` describes valid text, for messages.

    The names that installed packages register in the entry-point group ``group`` are choices too.
    """

    expected: str = "text"
    pattern: str = SOME_TEXT
    choices: tuple[str, ...] = ()
    empty: bool = False
    blank: str = ""
    group: str = ""

    def read(self, node: Node, report: Report) -> str:
        if node.kind != "text":
            hint = f'quote it to make it text: "{shown(node)}"' if node.kind in ("number", "flag") else ""
            wrong_kind(node, report, self.expected, hint)
            return self.blank
        value: str = node.value
        if self.empty and not value:
            return value
        if self.choices or self.group:
            if value not in self.choices and value not in (known := self.known()):
                if known:
                    report.add(node, f"{quoted(value)} is not one of {', '.join(known)}", did_you_mean(value, known))
                else:
                    report.add(node, f"{quoted(value)} is not {self.expected}", "no installed package provides one")
                return self.blank
        elif not value:
            report.add(node, f"expected {self.expected}, not empty text")
            return self.blank
        elif not self.matches(value):
            report.add(node, f"expected {self.expected}, not {quoted(value)}")
            return self.blank
        return value

    def known(self) -> tuple[str, ...]:
        """The choices, with those that installed packages add."""
        return (*self.choices, *(name for name in registered_names(self.group) if name not in self.choices))

    def matches(self, value: str) -> bool:
        """Whether ``value`` is of the pattern."""
        if self.pattern in (SOME_TEXT, ANY_TEXT):
            return "\0" not in value
        return re.fullmatch(self.pattern, value) is not None

    def schema(self) -> dict[str, Any]:
        if self.choices or self.group:
            known = [*self.known(), *([""] if self.empty else [])]
            return {"enum": known} if known else {"not": {}}
        pattern = f"(?:{self.pattern})?" if self.empty else self.pattern
        return {"type": "string", "pattern": whole(pattern), **({} if self.empty else {"minLength": 1})}


@dataclass(frozen=True)
class Whole:
    """A whole number within bounds."""

    minimum: int = 0
    maximum: int = SAFE_INTEGER
    blank: int = 0

    def read(self, node: Node, report: Report) -> int:
        if node.kind != "number" or not re.fullmatch(r"-?[0-9]+(?:\.0+)?", node.value):
            hint = "write a plain number, without a unit or quotes" if node.kind == "text" else ""
            wrong_kind(node, report, "a whole number", hint, always=True)
            return self.blank
        digits = node.value.partition(".")[0]
        value = int(digits)
        if self.minimum == self.maximum != value:
            report.add(node, f"expected {self.minimum}, not {shown(node)}")
        elif value < self.minimum:
            report.add(node, f"{shown(node)} is too small", f"at least {self.minimum}")
        elif value > self.maximum:
            report.add(node, f"{shown(node)} is too large", f"at most {self.maximum}")
        else:
            return value
        return self.blank

    def schema(self) -> dict[str, Any]:
        return {"type": "integer", "minimum": self.minimum, "maximum": self.maximum}


@dataclass(frozen=True)
class Flag:
    """True or false."""

    blank: bool = False

    def read(self, node: Node, report: Report) -> bool:
        if node.kind != "flag":
            wrong_kind(node, report, "true or false")
            return self.blank
        return bool(node.value)

    def schema(self) -> dict[str, Any]:
        return {"type": "boolean"}


@dataclass(frozen=True)
class Decimal:
    """A decimal number that is not negative, kept as text in its shortest form."""

    blank: str = ""

    def read(self, node: Node, report: Report) -> str:
        if node.kind not in ("number", "text"):
            wrong_kind(node, report, "a decimal number")
            return self.blank
        if not re.fullmatch(DECIMAL_TEXT, node.value):
            negative = node.value.startswith("-") and NUMBER.fullmatch(node.value)
            problem = "is negative" if negative else "is not a decimal number such as 0.25"
            report.add(node, f"{shown(node)} {problem}")
            return self.blank
        whole, _, fraction = node.value.partition(".")
        fraction = fraction.rstrip("0")
        return f"{whole}.{fraction}" if fraction else whole

    def schema(self) -> dict[str, Any]:
        return {
            "anyOf": [
                {"type": "number", "minimum": 0, "exclusiveMaximum": 10**12},
                {"type": "string", "pattern": whole(DECIMAL_TEXT)},
            ]
        }


@dataclass(frozen=True)
class Money:
    """An amount that is not negative: quoted text, so that no reader makes a float of it, kept with two places or more.

    ``5`` and ``5.000`` are the same amount and read as ``5.00``.
    """

    blank: str = ""

    def read(self, node: Node, report: Report) -> str:
        text = Text('an amount in quotes, such as "5.00"', DECIMAL_TEXT).read(node, report)
        if not text:
            return self.blank
        whole, _, fraction = text.partition(".")
        return f"{whole}.{fraction.rstrip('0').ljust(2, '0')}"

    def schema(self) -> dict[str, Any]:
        return {"type": "string", "pattern": whole(DECIMAL_TEXT)}


@dataclass(frozen=True)
class Optional:
    """Another kind, or null."""

    kind: Kind
    blank: None = None

    def read(self, node: Node, report: Report) -> Any:
        return None if node.kind == "null" else self.kind.read(node, report)

    def schema(self) -> dict[str, Any]:
        return {"anyOf": [self.kind.schema(), {"type": "null"}]}


def whole(pattern: str) -> str:
    """A pattern of JSON Schema that matches from end to end; in some dialects ``$`` also matches before a newline."""
    return f"^(?:{pattern})$(?!\\n)"


def wrong_kind(node: Node, report: Report, expected: str, hint: str = "", *, always: bool = False) -> None:
    """Report that ``node`` is not the ``expected`` kind; a bad node was reported before."""
    if node.kind == "bad":
        return
    inside = NAMES[node.kind]
    if (always and node.kind in ("number", "text")) or node.kind == "flag":
        inside = shown(node)
    report.add(node, f"expected {expected}, not {inside}", hint)


def shown(node: Node) -> str:
    """A scalar as it was written, cut to a readable length."""
    if node.kind == "flag":
        return "true" if node.value else "false"
    return quoted(node.value) if node.kind == "text" else cut(str(node.value))


def quoted(text: str) -> str:
    """Text in quotes, cut to a readable length, safe to print."""
    return ascii(cut(text)) if not text.isprintable() else repr(cut(text))


def cut(text: str) -> str:
    return text if len(text) <= SHOWN_CHARACTERS else text[: SHOWN_CHARACTERS - 1] + "…"


def did_you_mean(word: str, known: Iterable[str]) -> str:
    """A hint that names the nearest of ``known``, or nothing."""
    if len(word) > SHOWN_CHARACTERS:
        return ""
    near = difflib.get_close_matches(word.lower(), [name for name in known if name], n=1, cutoff=0.6)
    return f"did you mean {near[0]!r}?" if near else ""
