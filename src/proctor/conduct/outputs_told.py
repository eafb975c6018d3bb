"""What a call prints, held against the text that a model was told of it. Pure.

The agent made that text of both streams. The built-in agent's form is known, so that it decides: every line of both
streams must be there, in the order of its stream. How the two streams lay between each other is not compared, nor are
empty lines. Where the agent left out the middle of a long text, its lines before and after it and its length are
compared, and it is said that the rest cannot be; so with bytes that are no text, which the agent does not tell apart.

Any other agent may shorten and wrap what it tells. A line that is missing there, and a call that prints nothing any
more, are told and decide nothing.
"""

from __future__ import annotations

import json
import re
from collections import Counter

from proctor.conduct.outputs import NO_NUMBERS, Differs, Numbers, masked, quoted, renumbered, text_digest
from proctor.execute.sandbox.interface import Finished

TOLD_CHARACTERS = 16_000
"""Of longer texts the built-in agent leaves out the middle before the model sees them."""

RENDERED = "is not in what the model was told"
SILENT = "may have been the agent's own words to the model, or an output that is gone"
LEFT_OUT = "cannot be compared in the {} characters that the agent left out"
NO_TEXT = "holds bytes that are no UTF-8, which the record does not tell apart"

_LEFT_OUT = re.compile(r"\n\.\.\. (\d{1,9}) characters left out \.\.\.\n")


def told_difference(told: str, finished: Finished, *, exact: bool, numbers: Numbers = NO_NUMBERS) -> Differs | None:
    """How the output of a call differs from the text that the model was told; ``exact`` for the built-in agent's."""
    if not exact:
        return _somehow(told, finished, numbers)
    left_out = _LEFT_OUT.match(told, TOLD_CHARACTERS // 2)
    if left_out is not None:
        return _in_part(told, left_out, finished, numbers)
    printed, said = _printed(finished), _said(told, finished, numbers)
    again = text_digest("\n".join(printed))
    new, gone = Counter(printed) - Counter(said), Counter(said) - Counter(printed)
    if new or gone:
        return Differs("output", _first(said, gone), _first(printed, new), "", again)
    for name, output in (("stdout", finished.stdout), ("stderr", finished.stderr)):
        early = _out_of_order(_lines(_text(output.prefix)), said)
        if early is not None:
            return Differs(name, f"{quoted(early)} in another place", f"{quoted(early)} after other lines", "", again)
    if "\N{REPLACEMENT CHARACTER}" in told:
        return Differs("output", "the same lines", "the same lines", NO_TEXT, again)
    return None


def _in_part(told: str, left_out: re.Match[str], finished: Finished, numbers: Numbers) -> Differs:
    """Whole lines before and after what the built-in agent left out, and the length of all."""
    printed = _printed(finished)
    ends = told[: left_out.start()], told[left_out.end() :]
    said = [*_said(ends[0], finished, numbers)[:-1], *_said(ends[1], finished, numbers)[1:]]
    gone = Counter(said) - Counter(printed)
    if gone:
        return Differs("output", _first(said, gone), "no such line", "", text_digest("\n".join(printed)))
    streams = (finished.stdout, finished.stderr)
    again = " ".join(one.sha256 for one in streams)
    then = len(told) - len(left_out[0]) + int(left_out[1]) - len(_ending(finished))
    now = sum(len(_text(one.prefix)) for one in streams)
    if any(one.total_bytes > len(one.prefix) for one in streams):
        return Differs("output", f"{then} characters", f"more than {now} characters", "", again)
    why = LEFT_OUT.format(left_out[1]) if then == now else ""
    return Differs("output", f"{then} characters", f"{now} characters", why, again)


def _somehow(told: str, finished: Finished, numbers: Numbers) -> Differs | None:
    """A line that another agent did not tell, or a call that prints nothing now and of which something was told."""
    printed, whole = _printed(finished), "\n".join((masked(told), *_said(told, finished, numbers)))
    again = text_digest("\n".join(printed))
    missing = next((line for line in printed if line not in whole and json.dumps(line)[1:-1] not in whole), "")
    if missing:
        return Differs("output", "no such line", quoted(missing), RENDERED, again)
    said = _lines(told)
    if said and not printed:
        return Differs("output", quoted(said[0]), "nothing", SILENT, again)
    return None


def _said(told: str, finished: Finished, numbers: Numbers) -> list[str]:
    """The lines that were told, without a last one that tells the exit code.

    A line that is not printed now may be the number of a process.
    """
    printed = frozenset(_printed(finished))
    said = [line if line in printed else renumbered(line, numbers) for line in _lines(told)]
    return said[:-1] if said[-1:] == [_ending(finished).strip()] else said


def _ending(finished: Finished) -> str:
    return f"\nexit code {finished.exit_code}"


def _printed(finished: Finished) -> list[str]:
    return [line for one in (finished.stdout, finished.stderr) for line in _lines(_text(one.prefix))]


def _first(lines: list[str], wanted: Counter[str]) -> str:
    return next((quoted(line) for line in lines if line in wanted), "no such line")


def _out_of_order(lines: list[str], said: list[str]) -> str | None:
    """The first of ``lines`` that was not said after the one before it."""
    rest = iter(said)
    return next((line for line in lines if line not in rest), None)


def _lines(text: str) -> list[str]:
    """The lines that hold something, without what no two runs share."""
    return [line.rstrip() for line in masked(text).split("\n") if line.strip()]


def _text(data: bytes) -> str:
    """What the built-in agent makes of bytes."""
    return data.decode("utf-8", "replace")
