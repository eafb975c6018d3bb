"""Regular expressions that need not be compiled again.

A module compiles its patterns when it is loaded, and that is pure Python: ten milliseconds of a short run, half of them
for patterns of the standard library that nothing uses. What the compiler made of a pattern is a list of numbers; with
it the pattern is made at once and put where ``re.compile`` looks first.

Only patterns that stand in a module's code, or that it holds under a name of its own as a pattern or as a text, are
kept: one that was made from somebody's data is not. The parts of ``re`` used here are its own affair and may change, so
that whatever is kept counts for the very same interpreter alone, and where a part is missing nothing is kept.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from importlib import import_module
from types import CodeType, ModuleType
from typing import Any

from proctor.base.pattern import compiled

Made = tuple[int, tuple[Any, ...]]
"""The flags that a pattern was asked for with, and what makes it."""


def patterns_of(module: ModuleType, code: CodeType) -> list[Made]:
    """What makes the patterns that ``module``, whose ``code`` this is, has compiled so far."""
    texts = {*_constants(code), *(value for value in vars(module).values() if isinstance(value, str))}
    held = {id(compiled(value)) for value in vars(module).values()}
    known: dict[tuple[type, str | bytes, int], re.Pattern[Any]] = getattr(re, "_cache", {})
    own = [(text, flags) for (_, text, flags), found in list(known.items()) if text in texts or id(found) in held]
    try:
        return [(flags, _made(text, flags)) for text, flags in own]
    except (ImportError, AttributeError):
        return []


def take_up(patterns: list[Made]) -> None:
    """Let ``re.compile`` find these patterns."""
    known: dict[tuple[type, str | bytes, int], re.Pattern[Any]] = getattr(re, "_cache", {})
    make = import_module("_sre").compile
    for flags, parts in patterns:
        known[type(parts[0]), parts[0], flags] = make(*parts)


def _constants(code: CodeType) -> Iterator[str | bytes]:
    """The texts that stand in ``code`` and in what it defines."""
    for constant in code.co_consts:
        if isinstance(constant, CodeType):
            yield from _constants(constant)
        elif isinstance(constant, str | bytes):
            yield constant


def _made(text: str | bytes, flags: int) -> tuple[Any, ...]:
    """What ``re`` hands to its engine for a pattern, in plain numbers."""
    parsed = import_module("re._parser").parse(text, flags)
    code = [int(number) for number in import_module("re._compiler")._code(parsed, flags)]
    names: list[str | None] = [None] * parsed.state.groups
    for name, number in parsed.state.groupdict.items():
        names[number] = name
    asked = int(flags | parsed.state.flags)
    return text, asked, code, parsed.state.groups - 1, dict(parsed.state.groupdict), tuple(names)
