"""What a terminal can show: colours for verdicts, no control characters of others, and how wide it is.

NO_COLOR forbids colours and FORCE_COLOR demands them; without these, terminals other than TERM=dumb have them, and
pipes and files have none. The code is short and starts at once; a library for it takes longer to load than most
commands take to run (docs/decisions/0029-own-terminal-output.md).
"""

from __future__ import annotations

import os
import sys
from typing import TextIO

import click

COLOURS = {
    **dict.fromkeys(("success", "pass", "valid", "intact", "ok", "accept", "adopt", "complete"), "green"),
    **dict.fromkeys(("failure", "fail", "FAIL", "not valid", "broken", "DIFFERENT", "reject", "missing"), "red"),
    **dict.fromkeys(("invalid", "acceptance-error", "error", "undecided", "cut", "copy", "newer", "unsure"), "yellow"),
    **dict.fromkeys(("waiting", "paused", "partial", "unsealed", "reduced", "FLAKY"), "yellow"),
    "running": "cyan",
}
"""The colours of verdicts, outcomes and states, as whole cells of a table or as words."""


def echo(text: str = "", *, err: bool = False) -> None:
    """Print a line; its colours are removed unless the output is a terminal or FORCE_COLOR is set."""
    click.echo(text, err=err, color=has_colour(sys.stderr if err else sys.stdout))


def printable(text: str) -> str:
    """``text`` without control characters, which could steer a terminal."""
    return "".join(character if character.isprintable() or character == "\n" else "?" for character in text)


def painted(word: str, *, err: bool = False) -> str:
    """A verdict, an outcome or a state in its colour, where colours are shown; any other word as it is."""
    colour = COLOURS.get(word.strip())
    return click.style(word, fg=colour) if colour and has_colour(sys.stderr if err else sys.stdout) else word


def has_colour(stream: TextIO | None) -> bool:
    """Whether colours are shown on ``stream``: NO_COLOR forbids, FORCE_COLOR demands, otherwise a terminal has them."""
    if os.environ.get("NO_COLOR"):
        return False
    if os.environ.get("FORCE_COLOR", "0") not in ("", "0"):
        return True
    return is_terminal(stream)


def is_terminal(stream: TextIO | None) -> bool:
    """Whether ``stream`` is a terminal that can draw a line again."""
    return stream is not None and stream.isatty() and os.environ.get("TERM") != "dumb"


def terminal_width(stream: TextIO | None) -> int:
    """The columns of the terminal that ``stream`` leads to; 0 if it leads to none, or to one of unknown size."""
    if stream is None or not stream.isatty():
        return 0
    named = os.environ.get("COLUMNS", "")
    if named.isdecimal() and int(named):
        return int(named)
    try:
        return os.get_terminal_size(stream.fileno()).columns
    except OSError:
        return 0
