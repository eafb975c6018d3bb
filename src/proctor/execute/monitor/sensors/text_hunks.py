"""The difference of two small texts as data: hunks of lines, bounded in time and size.

Pure. Anything that is not short UTF-8 text has no hunks, and the kind says why: ``binary`` or ``large``. Where two
texts differ in too many places to compare them cheaply, the whole part between their common ends is one hunk.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

Edit = tuple[str, int, int]
"""A line that stays, goes or comes (one of space, minus, plus), and its place in the old and in the new text."""

_OPEN_END = "\n\\ no newline at the end"


@dataclass(frozen=True)
class HunkLimits:
    """The most that a difference of two texts takes in and gives out."""

    text_bytes: int = 64 << 10
    text_lines: int = 5_000
    edits: int = 300
    context_lines: int = 3
    shown_lines: int = 400
    shown_characters: int = 400


def structured_diff(before: bytes | None, after: bytes | None, limits: HunkLimits | None = None) -> dict[str, Any]:
    """The change of a text; ``None`` is a file that does not exist."""
    limits = limits or HunkLimits()
    sides = [side for side in (before, after) if side is not None]
    if any(len(side) > limits.text_bytes or side.count(b"\n") > limits.text_lines for side in sides):
        return {"kind": "large"}
    try:
        old, new = (_lines(side or b"") for side in (before, after))
    except ValueError:
        return {"kind": "binary"}
    edits = _edits(old, new, limits.edits)
    found: list[dict[str, Any]] = []
    shown = 0
    truncated = False
    for first, last in _spans(edits, limits.context_lines):
        part = edits[first:last]
        kept = part[: limits.shown_lines - shown]
        shown += len(kept)
        lines = [mark + (new[right] if mark == "+" else old[left]) for mark, left, right in kept]
        cut = [line[: limits.shown_characters] for line in lines]
        truncated = truncated or len(kept) < len(part) or cut != lines
        if kept:
            found.append({**_heading(part), "lines": cut})
    return {
        "kind": "text",
        "added": sum(mark == "+" for mark, _, _ in edits),
        "removed": sum(mark == "-" for mark, _, _ in edits),
        "hunks": found,
        "truncated": truncated,
    }


def text_after(before: bytes | None, diff: Mapping[str, Any]) -> bytes | None:
    """What :func:`structured_diff` of ``before`` was made with; ``None`` where the difference does not hold all of it.

    A difference of another text gives something else: compare digests.
    """
    if diff.get("kind") != "text" or diff.get("truncated"):
        return None
    try:
        old = _lines(before or b"")
    except ValueError:
        return None
    new: list[str] = []
    done = 0
    for hunk in diff["hunks"]:
        start = hunk["old_start"] - 1
        new += old[done:start]
        new += [line[1:] for line in hunk["lines"] if line[0] != "-"]
        done = start + hunk["old_lines"]
    new += old[done:]
    text = "".join(line + "\n" for line in new)
    return (text[: -len(_OPEN_END) - 1] if new and new[-1].endswith(_OPEN_END) else text).encode()


def _lines(data: bytes) -> list[str]:
    """The lines of a text without their ends; one that has no end says so."""
    if b"\0" in data:
        raise ValueError("not text")
    lines = data.decode("utf-8").split("\n")
    if lines[-1]:
        lines[-1] += _OPEN_END
    else:
        lines.pop()
    return lines


def _heading(part: list[Edit]) -> dict[str, int]:
    """The position of a hunk: the first line on each side, counted from 1, and the number of lines."""
    old = sum(mark != "+" for mark, _, _ in part)
    new = sum(mark != "-" for mark, _, _ in part)
    _, left, right = part[0]
    return {"old_start": left + 1, "old_lines": old, "new_start": right + 1, "new_lines": new}


def _spans(edits: list[Edit], context: int) -> Iterator[tuple[int, int]]:
    """Which parts of the edits belong to one hunk: changes with what surrounds them."""
    first = last = -1
    for index, (mark, _, _) in enumerate(edits):
        if mark == " ":
            continue
        if first >= 0 and index - context > last:
            yield first, last
            first = -1
        if first < 0:
            first = max(0, index - context)
        last = min(len(edits), index + context + 1)
    if first >= 0:
        yield first, last


def _edits(old: list[str], new: list[str], most: int) -> list[Edit]:
    """How to come from one list of lines to the other."""
    start = 0
    while start < min(len(old), len(new)) and old[start] == new[start]:
        start += 1
    end = 0
    while end < min(len(old), len(new)) - start and old[-1 - end] == new[-1 - end]:
        end += 1
    left, right = old[start : len(old) - end], new[start : len(new) - end]
    edits: list[Edit] = [(" ", index, index) for index in range(start)]
    edits.extend((mark, x + start, y + start) for mark, x, y in _between(left, right, most))
    edits.extend((" ", len(old) - end + index, len(new) - end + index) for index in range(end))
    return edits


def _between(old: list[str], new: list[str], most: int) -> list[Edit]:
    """The shortest way by Myers' algorithm, or all out and all in where that takes more than ``most`` edits."""
    trail = _trail(old, new, most) if old and new else None
    if trail is None:
        gone: list[Edit] = [("-", index, 0) for index in range(len(old))]
        return gone + [("+", len(old), index) for index in range(len(new))]
    edits: list[Edit] = []
    x, y = len(old), len(new)
    for depth in range(len(trail) - 1, -1, -1):
        reached = trail[depth]
        diagonal = x - y
        down = diagonal == -depth or (
            diagonal != depth and reached.get(diagonal - 1, -1) < reached.get(diagonal + 1, -1)
        )
        previous = diagonal + 1 if down else diagonal - 1
        from_x = reached.get(previous, 0)
        from_y = from_x - previous
        while x > from_x and y > from_y and x > 0 and y > 0:
            x, y = x - 1, y - 1
            edits.append((" ", x, y))
        if depth:
            edits.append(("+", x, y - 1) if down else ("-", x - 1, y))
        x, y = from_x, from_y
    edits.reverse()
    return edits


def _trail(old: list[str], new: list[str], most: int) -> list[dict[int, int]] | None:
    """How far each diagonal was reached before each further edit; ``None`` when it takes too many."""
    trail: list[dict[int, int]] = []
    reached = {1: 0}
    for depth in range(min(most, len(old) + len(new)) + 1):
        trail.append(dict(reached))
        for diagonal in range(-depth, depth + 1, 2):
            down = diagonal == -depth or (
                diagonal != depth and reached.get(diagonal - 1, -1) < reached.get(diagonal + 1, -1)
            )
            x = reached[diagonal + 1] if down else reached[diagonal - 1] + 1
            y = x - diagonal
            while x < len(old) and y < len(new) and old[x] == new[y]:
                x, y = x + 1, y + 1
            reached[diagonal] = x
            if x >= len(old) and y >= len(new):
                return trail
    return None
