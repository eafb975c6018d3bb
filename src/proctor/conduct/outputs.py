"""What commands printed, held against what was recorded of it. Pure.

An output with the recorded digest is the same. One that differs only in what no two runs share (times and durations,
numbers of processes, addresses, names of temporary files, random ids) is told and decides nothing; so is one whose
record was redacted. Any other difference may decide: see ``retrace`` for when it does.

Of a tool call, a model was told a text that the agent made of both streams. The built-in agent's is known; any other
agent may shorten and wrap what it tells, so a line that is missing there is told and decides nothing.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Mapping
from hashlib import sha256
from types import MappingProxyType

from proctor.base.frozen import frozen
from proctor.base.names import name_bytes
from proctor.base.pattern import pattern
from proctor.execute.sandbox.interface import Finished, Output

SHOWN_CHARACTERS = 120
TOLD_CHARACTERS = 16_000
"""Longer texts are cut by the built-in agent before the model sees them."""

VOLATILE = "differs only in times, numbers of processes, addresses or temporary names"
HIDDEN = "was redacted and cannot be compared"
RENDERED = "is not in what the model was told"
UNSTEADY = "is not the same in two replays either"
LATE = "may come of changes of files that were seen only after the call began"

_DAY = r"(?:Mon|Tue|Wed|Thu|Fri|Sat|Sun)[a-z]*"
_MONTH = r"(?:Jan|Feb|Mar|Apr|May|Jun|Jul|Aug|Sep|Oct|Nov|Dec)[a-z]*"
_CLOCK = r"\d{1,2}:\d{2}(?::\d{2}(?:[.,]\d{1,9})?)?"
_MASKS = tuple(
    (pattern(text), mark)
    for text, mark in (
        (r"\b[0-9a-fA-F]{8}-(?:[0-9a-fA-F]{4}-){3}[0-9a-fA-F]{12}\b", "<id>"),
        (rf"\b\d{{4}}-\d{{2}}-\d{{2}}(?:[T ]{_CLOCK}(?: ?(?:Z|UTC|[+-]\d{{2}}:?\d{{2}}))?)?", "<time>"),
        (rf"\b(?:{_DAY},? )?(?:{_MONTH} +\d{{1,2}}|\d{{1,2}} {_MONTH})(?: \d{{4}})?,? +{_CLOCK}", "<time>"),
        (rf"(?<![\w.:]){_CLOCK}(?![\w:])", "<time>"),
        (r"(?<![\w.])1[5-9]\d{8}(?:\d{3}|\d{6}|\d{9})?(?:\.\d{1,9})?(?![\w.])", "<time>"),
        (r"(?<![\w.])\d{1,9}(?:\.\d{1,9})? ?(?:ns|[uµ]s|ms|s|secs?|seconds?|minutes?)\b", "<duration>"),
        (r"\b0x[0-9a-fA-F]{5,16}\b", "<address>"),
        (r"(?i)\b(pid|process|thread)([ =:#]{1,3})\d{1,9}\b", r"\1\2<number>"),
        (r"==\d{1,9}==", "==<number>=="),
        (r"\[(\d{1,3})\] \d{1,9}\b", r"[\1] <number>"),
        (r"\btmp[.]?[A-Za-z0-9_]{6,12}\b", "<temporary>"),
        (r"\bcc[A-Za-z0-9]{6}(?=\.[a-z]{1,4}\b)", "<temporary>"),
    )
)

_NUMBER = pattern(r"(?m)^\d{1,7}$")


@frozen
class Stream:
    """What was recorded of one stream: the digest and the number of all its bytes, and the first of them as text."""

    sha256: str
    total_bytes: int
    prefix: str
    redacted: bool = False


@frozen
class Differs:
    """One output that is not as recorded: what stands where, and why it decides nothing if it does not.

    ``again`` is the same for outputs that agree but for what no two runs share.
    """

    stream: str
    recorded: str
    seen: str
    why: str
    again: str

    @property
    def words(self) -> str:
        return f"{self.stream} has {self.seen}, recorded was {self.recorded}"


Numbers = Mapping[int, int]
"""The number of a process when the command ran first, and that of the same program now."""

NO_NUMBERS: Numbers = MappingProxyType({})


def masked(text: str, numbers: Numbers = NO_NUMBERS) -> str:
    """``text`` without what no two runs share. A line that is the number of a process has the one of ``numbers``."""
    for found, mark in _MASKS:
        text = found.sub(mark, text)
    if numbers:
        text = _NUMBER.sub(lambda line: str(numbers.get(int(line[0]), line[0])), text)
    return text


def stream_difference(name: str, recorded: Stream, seen: Output, numbers: Numbers = NO_NUMBERS) -> Differs | None:
    """How one stream differs from its record; nothing where it does not."""
    if seen.sha256 == recorded.sha256:
        return None
    now, then = _decoded(seen.prefix), _decoded(_bytes(recorded.prefix))
    again = sha256(masked(now).encode("utf-8", "surrogatepass")).hexdigest()
    digests = f"the digest {recorded.sha256}", f"the digest {seen.sha256}"
    if recorded.redacted:
        return Differs(name, *digests, HIDDEN, again)
    size = len(_bytes(recorded.prefix))
    if recorded.total_bytes > size:
        now = _decoded(seen.prefix[:size])
    if now == then:
        return Differs(name, *digests, "", again)
    place, was, is_now = first_line(then, now)
    told = f"{was} in line {place} ({digests[0]})", f"{is_now} in line {place} ({digests[1]})"
    alike = masked(now) == masked(then, numbers)
    return Differs(name, *told, VOLATILE if alike else "", again)


def told_difference(told: str, finished: Finished, *, exact: bool, numbers: Numbers = NO_NUMBERS) -> Differs | None:
    """How the output of a call differs from the text that the model was told; ``exact`` for the built-in agent's."""
    printed = [line for one in (finished.stdout, finished.stderr) for line in _lines(_decoded(one.prefix))]
    again = sha256("\n".join(printed).encode("utf-8", "surrogatepass")).hexdigest()
    if exact and len(told) > TOLD_CHARACTERS:
        return None
    if not exact:
        whole = masked(told, numbers)
        missing = next((line for line in printed if line not in whole and json.dumps(line)[1:-1] not in whole), "")
        return Differs("output", "no such line", repr(missing[:SHOWN_CHARACTERS]), RENDERED, again) if missing else None
    said = _lines(told, numbers)
    if said[-1:] == [f"exit code {finished.exit_code}"]:
        said = said[:-1]
    new, gone = Counter(printed) - Counter(said), Counter(said) - Counter(printed)
    if not new and not gone:
        return None
    first_gone = next((repr(line[:SHOWN_CHARACTERS]) for line in said if line in gone), "no such line")
    first_new = next((repr(line[:SHOWN_CHARACTERS]) for line in printed if line in new), "no such line")
    return Differs("output", first_gone, first_new, "", again)


def first_line(one: str, other: str) -> tuple[int, str, str]:
    """The number of the first line in which two texts differ, and what stands there in each."""
    lines, others = one.split("\n"), other.split("\n")
    most = max(len(lines), len(others))
    for number in range(most):
        here = lines[number] if number < len(lines) else None
        there = others[number] if number < len(others) else None
        if here != there:
            return number + 1, _shown(here), _shown(there)
    raise ValueError("the texts are the same")


def _shown(line: str | None) -> str:
    return "nothing" if line is None else repr(line[:SHOWN_CHARACTERS])


def _lines(text: str, numbers: Numbers = NO_NUMBERS) -> list[str]:
    """The lines that hold something, without what no two runs share."""
    return [line.rstrip() for line in masked(text, numbers).split("\n") if line.strip()]


def _decoded(data: bytes) -> str:
    return data.decode("utf-8", "replace")


def _bytes(text: str) -> bytes:
    """The bytes that a recorded prefix stands for; redacted ones are no longer of that form."""
    try:
        return name_bytes(text)
    except ValueError:
        return text.encode("utf-8", "replace")
