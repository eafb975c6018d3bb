"""Patterns on the command line, as ``policy.forbid_commands`` and ``policy.stages.tests`` hold them. Pure.

A pattern is words as they would be typed; ``*`` stands for any characters, none and spaces included, and every other
character for itself. It is held against the arguments joined by single spaces, with the program's path as it was given
and also with its last step alone, and it matches the whole line or the words that the line begins with: ``git push``
matches ``/usr/bin/git push origin`` and not ``git pushx``. The time that it takes grows with the length of the line and
no faster, whatever the pattern.
"""

from __future__ import annotations

from collections.abc import Sequence


def matches_command(pattern: str, arguments: Sequence[str]) -> bool:
    """Whether the command with these arguments, the program first, is one that ``pattern`` means."""
    if not arguments:
        return False
    program = arguments[0].rpartition("/")[2]
    lines = {" ".join(arguments), " ".join((program, *arguments[1:]))}
    return any(_covers(form, line) for line in lines for form in (pattern, f"{pattern} *"))


def _covers(pattern: str, line: str) -> bool:
    """Whether ``pattern`` describes ``line`` from end to end."""
    first, *pieces = pattern.split("*")
    if not pieces:
        return line == first
    last = pieces.pop()
    if len(line) < len(first) + len(last) or not line.startswith(first) or not line.endswith(last):
        return False
    place, end = len(first), len(line) - len(last)
    for piece in pieces:
        place = line.find(piece, place, end)
        if place < 0:
            return False
        place += len(piece)
    return True
