"""Patterns for paths: ``*``, ``?`` and ``[…]`` stay inside one directory, ``**`` crosses any number of them.

``src/**`` is everything below ``src``, ``**/*.py`` every Python file, ``docs/`` the same as ``docs/**``. A pattern is
matched against the whole path. Matching takes time proportional to path and pattern, whatever an agent calls its files.
"""

from __future__ import annotations

import fnmatch
import re
from functools import lru_cache

_ANY = "**"


def matches(path: bytes | str, pattern: str) -> bool:
    """Whether the relative ``path`` matches ``pattern``."""
    text = path.decode("utf-8", "surrogateescape") if isinstance(path, bytes) else path
    steps = _compiled(pattern)
    reached = _skip({0}, steps)
    for part in text.split("/"):
        following: set[int] = set()
        for place in reached:
            if place == len(steps):
                continue
            step = steps[place]
            if step is None:
                following |= {place, place + 1}
            elif step.match(part):
                following.add(place + 1)
        reached = _skip(following, steps)
        if not reached:
            return False
    return len(steps) in reached


def _skip(reached: set[int], steps: tuple[re.Pattern[str] | None, ...]) -> set[int]:
    """``reached`` and the places after every ``**`` that matches no directory; at the end it needs one."""
    result = set(reached)
    for place in sorted(reached):
        while place < len(steps) - 1 and steps[place] is None:
            place += 1
            result.add(place)
    return result


@lru_cache(maxsize=1024)
def _compiled(pattern: str) -> tuple[re.Pattern[str] | None, ...]:
    if pattern.endswith("/"):
        pattern += _ANY
    return tuple(None if part == _ANY else re.compile(fnmatch.translate(part)) for part in pattern.split("/"))
