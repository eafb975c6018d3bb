"""What a tool call asks for, and how much of that the words of a program show. Pure.

The arguments of a call are what a record holds of them: the whole text, its beginning, or nothing (a hidden text).
Every agent names its arguments as it likes; those that usually hold a command weigh more than all others.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import orjson

from proctor.execute.watch.program_rules import SHELLS
from proctor.execute.watch.programs import commands_of, program_name

SAME, CONTAINED, PART, NOTHING = 3, 2, 1, 0
"""The program was given exactly this; with something around it; it is a part of this; none of these."""

_COMMANDS = ("command", "cmd", "commands", "script", "cmdline", "keystrokes", "code")
_SHORTEST = 4
"""Characters of a text below which being contained in another says nothing."""

_FENCED = re.compile(r"^```[^\n`]{0,60}\n(.{1,20000}?)^```", re.DOTALL | re.MULTILINE)
_BEGUN = re.compile(r'"(?:' + "|".join(_COMMANDS) + r')"\s{0,4}:\s{0,4}"((?:[^"\\]|\\.){20,})$', re.DOTALL)
_MOST_TEXTS = 64
_MOST_DEPTH = 50


Line = tuple[str, tuple[str, ...]]
"""The name of a program without its directory, and its arguments."""


@dataclass(frozen=True)
class Asked:
    """What is asked for: whole texts and lines of words, the parts of them, and texts that hold no command."""

    texts: frozenset[str]
    lines: frozenset[Line]
    parts: frozenset[Line]
    inner: tuple[str, ...]
    others: tuple[str, ...]


class Words:
    """The words of a program, made ready to be looked for."""

    __slots__ = ("argv", "line", "texts")

    def __init__(self, argv: Sequence[str]) -> None:
        self.argv = argv
        self.line = _line(argv)
        shortest = 1 if program_name(argv) in SHELLS else _SHORTEST
        self.texts = frozenset(text for word in argv if len(text := word.strip()) >= shortest)


def shown_text(content: Mapping[str, Any]) -> tuple[str, bool]:
    """A text of a conversation as far as a record shows it, and whether that is all of it."""
    if "text" in content:
        return str(content["text"]), True
    if "shown" in content:
        text, whole = shown_text(content["shown"])
        return text, whole and not content.get("spans")
    return str(content.get("prefix", "")), False


def asked_by_call(arguments: Mapping[str, Any]) -> Asked:
    """What the arguments of a tool call ask for."""
    text, whole = shown_text(arguments)
    try:
        values = orjson.loads(text)
    except orjson.JSONDecodeError:
        begun = None if whole else _BEGUN.search(text)
        return _asked([text] if whole else [_unescaped(begun[1])] if begun else [])
    if not isinstance(values, dict):
        values = {"command": values}
    texts: list[str] = []
    lists: list[tuple[str, ...]] = []
    others: list[str] = []
    for name, value in values.items():
        if name not in _COMMANDS:
            others += _texts(value)
        elif isinstance(value, list) and value and all(isinstance(word, str) for word in value):
            lists.append(tuple(value))
            texts += [word for word in value if " " in word.strip()]
        else:
            texts += _texts(value)
    return _asked(texts, lists, others)


def command_by_call(arguments: Mapping[str, Any]) -> str | tuple[str, ...] | None:
    """The one command that a tool call asks for, as text for a shell or as words; nothing where that is not known."""
    text, whole = shown_text(arguments)
    try:
        values = orjson.loads(text) if whole else None
    except orjson.JSONDecodeError:
        return None
    if not isinstance(values, dict):
        values = {"command": values}
    for name in _COMMANDS:
        value = values.get(name)
        if isinstance(value, str) and value.strip():
            return value.strip()
        if isinstance(value, list) and value and all(isinstance(word, str) for word in value):
            return tuple(value)
    return None


def command_by_message(content: Mapping[str, Any]) -> str | None:
    """The one block of code in a message; nothing where there are more or none, or where the text is not all here."""
    text, whole = shown_text(content)
    blocks = [found[1].strip() for found in _FENCED.finditer(text)] if whole else []
    return blocks[0] if len(blocks) == 1 and blocks[0] else None


def asked_by_message(content: Mapping[str, Any]) -> Asked:
    """What a message without tool calls asks for: the blocks of code in it, for agents that read those."""
    return _asked([found[1] for found in _FENCED.finditer(shown_text(content)[0])])


def _asked(texts: list[str], lists: Sequence[tuple[str, ...]] = (), others: Sequence[str] = ()) -> Asked:
    kept = [text.strip() for text in texts[:_MOST_TEXTS] if text.strip()]
    lines = [*(("sh", "-c", text) for text in kept), *lists]
    parts = frozenset(_line(command) for line in lines for command, _ in commands_of(line))
    return Asked(
        texts=frozenset(kept),
        lines=frozenset(map(_line, lists)) | (parts if len(parts) == 1 else frozenset()),
        parts=parts,
        inner=(*kept, *(words[-1].strip() for words in lists if program_name(words) in SHELLS)),
        others=tuple(text.strip() for text in others[:_MOST_TEXTS] if len(text.strip()) >= _SHORTEST),
    )


def is_part(asked: Asked, words: Words) -> bool:
    """Whether a program is one of the simple commands of what is asked for."""
    return words.line in asked.parts


def is_same(asked: Asked, words: Words) -> bool:
    """Whether a program was given exactly what is asked for."""
    return words.line in asked.lines or not asked.texts.isdisjoint(words.texts)


def evidence_of(asked: Asked, words: Words) -> int:
    """How strongly the words of a program speak for its having been asked for."""
    if is_same(asked, words):
        return SAME
    if is_part(asked, words):
        return PART
    if any(_holds(word, text) for text in asked.inner for word in words.argv):
        return CONTAINED
    return PART if any(_holds(word, text) for text in asked.others for word in words.argv) else NOTHING


def _line(argv: Sequence[str]) -> Line:
    return program_name(argv), tuple(argv[1:])


def _holds(word: str, text: str) -> bool:
    """Whether ``text`` stands in ``word`` by itself, not as a piece of a longer name."""
    place = word.find(text) if len(text) >= _SHORTEST else -1
    while place >= 0:
        around = word[place - 1 : place] + word[place + len(text) :][:1]
        if not any(mark.isalnum() or mark in "_-./" for mark in around):
            return True
        place = word.find(text, place + 1)
    return False


def _texts(value: Any, depth: int = 0) -> Iterator[str]:
    if isinstance(value, str):
        yield value
    elif isinstance(value, dict | list) and depth < _MOST_DEPTH:
        for inner in value.values() if isinstance(value, dict) else value:
            yield from _texts(inner, depth + 1)


def _unescaped(begun: str) -> str:
    """The text of a JSON string whose end is missing."""
    for cut in range(6):
        try:
            return str(orjson.loads(f'"{begun[: len(begun) - cut]}"'))
        except orjson.JSONDecodeError:
            continue
    return ""
