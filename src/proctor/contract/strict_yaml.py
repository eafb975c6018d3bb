"""YAML that means one thing, with a position for every node.

Scalars follow the core schema of YAML 1.2: ``no``, ``on``, ``12:30`` and ``2026-01-01`` are text. Numbers are plain
decimals; spellings that YAML 1.1 and 1.2 read differently (``010``, ``0x1f``, ``1_000``, ``.inf``) are mistakes.
Anchors, aliases, tags, directives, repeated keys, keys that are not text and second documents are mistakes too. Every
mistake is collected; only broken syntax ends the reading, because nothing after it can be trusted.

Nothing here depends on contracts.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Any

import yaml

from proctor.base.errors import ContractError, Mistake

MAX_DEPTH = 32
MAX_DIGITS = 40
MAX_MISTAKES = 500
NUMBER = re.compile(r"-?(?:0|[1-9][0-9]*)(?:\.[0-9]+)?")
_ODD_NUMBER = re.compile(
    r"[-+]?(?:[0-9][0-9_]*(?:\.[0-9_]*)?|\.[0-9_]+)(?:[eE][-+]?[0-9]+)?"
    r"|[-+]?0[xob][0-9a-fA-F_]+|[-+]?\.(?:inf|Inf|INF)|\.(?:nan|NaN|NAN)"
)
_WORDS: dict[str, bool | None] = {
    **dict.fromkeys(("", "~", "null", "Null", "NULL")),
    **dict.fromkeys(("true", "True", "TRUE"), True),
    **dict.fromkeys(("false", "False", "FALSE"), False),
}


@dataclass(frozen=True)
class Node:
    """A value and its position. ``kind`` is text, number, flag, null, list, map or bad.

    A number keeps its text. A map holds nodes by key, and ``keys`` holds the position of each key. The mistake of a bad
    node is already reported; callers do not report it again.
    """

    kind: str
    value: Any
    line: int
    column: int
    keys: dict[str, tuple[int, int]] | None = None

    def plain(self) -> Any:
        """The value as plain data, as other YAML readers would give it."""
        if self.kind == "list":
            return [item.plain() for item in self.value]
        if self.kind == "map":
            return {key: item.plain() for key, item in self.value.items()}
        if self.kind == "number":
            return float(self.value) if "." in self.value else int(self.value)
        return self.value


class TooManyMistakes(Exception):
    """Raised by :class:`Report` to stop reading a file with too many mistakes."""


class Report:
    """Collects the mistakes of one file, and of the files that it names."""

    def __init__(self, file: str) -> None:
        self.file = file
        self.mistakes: list[Mistake] = []

    def add(self, place: Node | tuple[int, int], message: str, hint: str = "", *, file: str = "") -> None:
        """Note a mistake at a node, or at a line and column; line 0 means the file as a whole."""
        line, column = (place.line, place.column) if isinstance(place, Node) else place
        self.mistakes.append(Mistake(file or self.file, line, column, message, hint))
        if len(self.mistakes) >= MAX_MISTAKES:
            self.mistakes.append(
                Mistake(file or self.file, line, column, "too many mistakes", "the rest is not listed")
            )
            raise TooManyMistakes

    def raise_any(self) -> None:
        """Raise what was collected, in the order of the file."""
        if self.mistakes:
            raise ContractError(sorted(self.mistakes, key=self._order))

    def _order(self, mistake: Mistake) -> tuple[bool, str, int, int]:
        return mistake.file != self.file, mistake.file, mistake.line, mistake.column


def load_yaml(data: bytes, file: str) -> Node:
    """The document in ``data``, or :class:`ContractError` with every mistake; ``file`` is its name in messages."""
    report = Report(file)
    try:
        node = parse_yaml(data, report)
    except TooManyMistakes:
        node = None
    report.raise_any()
    assert node is not None
    return node


def parse_yaml(data: bytes, report: Report) -> Node | None:
    """The document in ``data`` as far as it can be read; mistakes go to ``report``."""
    if not _is_text(data, report):
        return None
    composer = _Composer(yaml, data, report)
    try:
        return composer.document()
    except yaml.MarkedYAMLError as error:
        mark = error.problem_mark or error.context_mark
        place = (mark.line + 1, mark.column + 1) if mark else (1, 1)
        hint = "indent with spaces" if _character(data, place) == "\t" else ""
        message = " ".join(part for part in (error.context, error.problem) if part)
        report.add(place, f"not valid YAML: {message}", hint)
    except yaml.reader.ReaderError as error:
        report.add(_place(data, error.position), f"not valid YAML: {error.reason}")
    return None


class _Composer:
    """Turns the parser's events into nodes."""

    def __init__(self, yaml: Any, data: bytes, report: Report) -> None:
        self.yaml = yaml
        self.report = report
        self.parser = (yaml.CLoader if yaml.__with_libyaml__ else yaml.Loader)(data)

    def document(self) -> Node | None:
        yaml, node = self.yaml, None
        while True:
            event = self.parser.get_event()
            if isinstance(event, yaml.StreamEndEvent):
                break
            if not isinstance(event, yaml.DocumentStartEvent):
                continue
            if node is not None:
                self.report.add(_mark(event), "a second document", "one document per file")
                return node
            if event.version or event.tags:
                self.report.add(_mark(event), "directives are not allowed")
            node = self.node(self.parser.get_event(), 0)
        if node is None:
            self.report.add((1, 1), "the file is empty", "proctor init writes one to start from")
        return node

    def node(self, event: Any, depth: int) -> Node:
        yaml, place = self.yaml, _mark(event)
        if isinstance(event, yaml.AliasEvent):
            self.report.add(place, f"aliases are not allowed: *{event.anchor}", "write the value out")
            return Node("bad", None, *place)
        if event.anchor is not None:
            self.report.add(place, f"anchors are not allowed: &{event.anchor}", "write the value out where it is used")
        if event.tag is not None:
            self.report.add(place, f"tags are not allowed: {event.tag}", "remove it; quotes make text")
        if isinstance(event, yaml.ScalarEvent):
            return self.scalar(event, place)
        if depth >= MAX_DEPTH:
            raise yaml.MarkedYAMLError(None, None, f"nested more than {MAX_DEPTH} levels deep", event.start_mark)
        if isinstance(event, yaml.SequenceStartEvent):
            items = []
            while not isinstance(event := self.parser.get_event(), yaml.SequenceEndEvent):
                items.append(self.node(event, depth + 1))
            return Node("list", tuple(items), *place)
        return self.mapping(place, depth)

    def mapping(self, place: tuple[int, int], depth: int) -> Node:
        values: dict[str, Node] = {}
        keys: dict[str, tuple[int, int]] = {}
        while not isinstance(event := self.parser.get_event(), self.yaml.MappingEndEvent):
            key = self.node(event, depth + 1)
            value = self.node(self.parser.get_event(), depth + 1)
            if key.kind == "bad":
                continue
            if key.kind != "text":
                hint = "" if key.kind in ("list", "map") else "quote it"
                self.report.add(key, f"a key must be text, not a {key.kind}", hint)
            elif key.value in values:
                first = keys[key.value]
                self.report.add(key, f"duplicate key {key.value!r}", f"first given in line {first[0]}")
            else:
                values[key.value] = value
                keys[key.value] = (key.line, key.column)
        return Node("map", values, *place, keys)

    def scalar(self, event: Any, place: tuple[int, int]) -> Node:
        text = event.value
        if event.style:
            return Node("text", text, *place)
        if text in _WORDS:
            value = _WORDS[text]
            return Node("null" if value is None else "flag", value, *place)
        if len(text) <= MAX_DIGITS and NUMBER.fullmatch(text):
            return Node("number", text, *place)
        if _ODD_NUMBER.fullmatch(text):
            message = f"{text[:MAX_DIGITS]} is not a plain decimal number"
            self.report.add(place, message, "write it out, or quote it to make it text")
            return Node("bad", None, *place)
        return Node("text", text, *place)


def _is_text(data: bytes, report: Report) -> bool:
    """Whether ``data`` is UTF-8 text; the reason why not goes to ``report``."""
    if (zero := data.find(0)) >= 0:
        report.add(_place(data, zero), "a binary file, not YAML")
        return False
    try:
        data.decode()
    except UnicodeDecodeError as error:
        report.add(_place(data, error.start), "not UTF-8 text")
        return False
    return True


def _mark(event: Any) -> tuple[int, int]:
    return event.start_mark.line + 1, event.start_mark.column + 1


def _place(data: bytes, offset: int) -> tuple[int, int]:
    """Line and column of a byte offset."""
    before = data[:offset]
    start = before.rfind(b"\n") + 1
    return before.count(b"\n") + 1, len(before[start:].decode("utf-8", "replace")) + 1


def _character(data: bytes, place: tuple[int, int]) -> str:
    """The character at a line and column, or nothing."""
    lines = data.decode().split("\n")
    line = lines[place[0] - 1] if place[0] <= len(lines) else ""
    return line[place[1] - 1 : place[1]]
