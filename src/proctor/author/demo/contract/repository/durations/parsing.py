"""From text to seconds."""

import re

from durations.units import SECONDS

PART = re.compile(r"\s*(?P<count>\d+(?:\.\d+)?)\s*(?P<unit>[a-z]+)\s*,?", re.IGNORECASE)


class DurationError(ValueError):
    """A text that is not a duration."""


def parse(text):
    """The seconds that ``text`` stands for, such as ``"2d 4h"``, ``"1.5 hours"`` or ``"-90s"``."""
    rest = text.strip()
    sign = 1
    if rest.startswith(("-", "+")):
        sign = -1 if rest[0] == "-" else 1
        rest = rest[1:]
    if not rest:
        raise DurationError(f"not a duration: {text!r}")
    total = 0.0
    while rest:
        part = PART.match(rest)
        if part is None:
            raise DurationError(f"not a duration: {text!r}")
        unit = part["unit"].lower()
        if unit not in SECONDS:
            raise DurationError(f"unknown unit {part['unit']!r} in {text!r}")
        total += float(part["count"]) * SECONDS[unit]
        rest = rest[part.end() :]
    return sign * total
