"""Compare the output of commands with the recorded output. Pure.

An output with the recorded digest is the same. One that differs only in values that differ in every run (times and
durations, process ids, addresses, names of temporary files, random ids) is reported and decides nothing; so is one
whose record was redacted. Any other difference may decide: see ``command_replay`` for when it does.

Of a long stream the record keeps the first bytes, the length and the digest. Where the first bytes are the same, the
digest still shows that the stream differs. Where they differ in times, the digest of the rest is of no use: such a
stream is reported as compared in part, never as one that differs only in times.

Of an agent with a model, only the text that the model got may be recorded. The agent made that text of both streams.
The built-in agent's form is known, so that it decides: every line of both streams must be there, in the order of its
stream. How the two streams were interleaved is not compared, nor are empty lines. Where the agent left out the middle
of a long text, its lines before and after it and its length are compared, and the rest is reported as not comparable;
so are bytes that are not text, which the agent replaces by one character. Any other agent may shorten and wrap the
text. A missing line there, and a call that no longer prints anything, are reported and decide nothing.
"""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from hashlib import sha256
from itertools import zip_longest
from types import MappingProxyType

from proctor.base.reversible_escapes import name_bytes
from proctor.execute.sandbox.interface import CommandResult, Output

SHOWN_CHARACTERS = 120
SHOWN_BEFORE = 20
"""How much of a long line is shown before the place where it differs."""

VOLATILE = "differs only in times, numbers of processes, addresses or temporary names"
HIDDEN = "was redacted and cannot be compared"
IN_PART = (
    "differs only in times and similar values in its first {} bytes; "
    "the other {} were not recorded and cannot be compared"
)
UNSTEADY = "also differs between two replays"
LATE = "may come from changes of files that were seen only after the call began"

_DAY = r"(?:Mon|Tue|Wed|Thu|Fri|Sat|Sun)[a-z]*"
_MONTH = r"(?:Jan|Feb|Mar|Apr|May|Jun|Jul|Aug|Sep|Oct|Nov|Dec)[a-z]*"
_CLOCK = r"\d{1,2}:\d{2}(?::\d{2}(?:[.,]\d{1,9})?)?"
_MASKS = tuple(
    (re.compile(text), mark)
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

_NUMBER = re.compile(r"[0-9]{1,7}")


@dataclass(frozen=True)
class Stream:
    """What was recorded of one stream: the digest and the number of all its bytes, and the first of them as text."""

    sha256: str
    total_bytes: int
    prefix: str
    redacted: bool = False


@dataclass(frozen=True)
class OutputDifference:
    """One output that is not as recorded: the texts and their places, and why it decides nothing if it does not.

    ``again`` is the same for outputs that are equal except for values that differ in every run.
    """

    stream: str
    recorded: str
    seen: str
    why: str
    again: str

    @property
    def message(self) -> str:
        return f"{self.stream} has {self.seen}; recorded: {self.recorded}"


Numbers = Mapping[int, int]
"""The number of a process when the command ran first, and that of the same program now."""

NO_NUMBERS: Numbers = MappingProxyType({})


def masked(text: str) -> str:
    """``text`` without what no two runs share."""
    for found, mark in _MASKS:
        text = found.sub(mark, text)
    return text


def renumbered(line: str, numbers: Numbers) -> str:
    """A recorded line; the number of the same program now where it is nothing but the number of a process."""
    return str(numbers.get(int(line), line)) if numbers and _NUMBER.fullmatch(line) else line


def stream_difference(
    name: str, recorded: Stream, seen: Output, numbers: Numbers = NO_NUMBERS
) -> OutputDifference | None:
    """How one stream differs from its record; nothing where it does not."""
    if (seen.sha256, seen.total_bytes) == (recorded.sha256, recorded.total_bytes):
        return None
    if recorded.redacted:  # a digest of what holds the secret would let others try out guesses
        sizes = f"{recorded.total_bytes} bytes", f"{seen.total_bytes} bytes"
        return OutputDifference(name, *sizes, HIDDEN, text_digest(masked(_decoded(seen.prefix))))
    kept = _bytes(recorded.prefix)
    then, now, size = _comparable(kept, seen.prefix, cut=recorded.total_bytes > len(kept))
    was, is_now = _sizes(recorded, seen)
    if then == now:
        return OutputDifference(
            name, was, f"{is_now}, the same as far as both were kept ({size} bytes)", "", seen.sha256
        )
    place, line_then, line_now = first_line(then, now)
    result_text = f"{line_then} in line {place} ({was})", f"{line_now} in line {place} ({is_now})"
    why = ""
    if _alike(then, now, numbers):
        rest = max(recorded.total_bytes - size, seen.total_bytes - len(seen.prefix))
        why = IN_PART.format(size, rest) if rest else VOLATILE
    return OutputDifference(name, *result_text, why, text_digest(masked(now)))


def _alike(then: str, now: str, numbers: Numbers) -> bool:
    """Whether two texts differ only in what no two runs share."""
    lines, others = masked(then).split("\n"), masked(now).split("\n")
    if len(lines) != len(others):
        return False
    return all(other in (line, renumbered(line, numbers)) for line, other in zip(lines, others, strict=True))


def _comparable(kept: bytes, seen: bytes, *, cut: bool) -> tuple[str, str, int]:
    """The parts that can be compared, and how many recorded bytes they are.

    Of a record that was cut those are its complete lines, and as many lines of the new output: times of another width
    move the place of the cut. If those lines are the same, the beginning of the next one is compared too.
    """
    if not cut:
        return _decoded(kept), _decoded(seen), len(kept)
    lines = kept.count(b"\n")
    whole, now = kept[: kept.rfind(b"\n") + 1], b"\n".join([*seen.split(b"\n")[:lines], b""])
    if whole and whole != now[: len(whole)]:
        return _decoded(whole), _decoded(now if seen.count(b"\n") >= lines else seen), len(whole)
    return _decoded(kept), _decoded(seen[: len(kept)]), len(kept)


def _sizes(recorded: Stream, seen: Output) -> tuple[str, str]:
    return _size(recorded.total_bytes, recorded.sha256), _size(seen.total_bytes, seen.sha256)


def _size(total_bytes: int, digest: str) -> str:
    return f"{total_bytes} bytes with the digest {digest}"


def first_line(one: str, other: str) -> tuple[int, str, str]:
    """The number of the first line in which two texts differ, and that line of each."""
    lines, others = (text.split("\n") if text else [] for text in (one, other))
    for number, (here, there) in enumerate(zip_longest(lines, others), 1):
        if here != there:
            at = _apart(here or "", there or "")
            return number, _shown(here, at), _shown(there, at)
    raise ValueError("the texts are the same")


def _apart(one: str, other: str) -> int:
    """Where two lines differ first."""
    pairs = enumerate(zip(one, other, strict=False))
    return next((number for number, (here, there) in pairs if here != there), min(len(one), len(other)))


def _shown(line: str | None, at: int) -> str:
    """A line, or the part of a long one in which it differs from another at ``at``."""
    if line is None:
        return "nothing"
    begin = at - SHOWN_BEFORE if at >= SHOWN_CHARACTERS - SHOWN_BEFORE else 0
    return quoted(line[begin:]) + (f" from character {begin + 1} on" if begin else "")


def quoted(line: str) -> str:
    """The beginning of a line between quotation marks; as bytes if it is not text."""
    line = line[:SHOWN_CHARACTERS]
    return repr(line) if line.isascii() or _is_text(line) else repr(line.encode("utf-8", "surrogateescape"))


def _is_text(line: str) -> bool:
    try:
        line.encode()
    except UnicodeEncodeError:
        return False
    return True


def text_digest(text: str) -> str:
    return sha256(text.encode("utf-8", "surrogatepass")).hexdigest()


def _decoded(data: bytes) -> str:
    """A text in which different bytes stay different."""
    return data.decode("utf-8", "surrogateescape")


def _bytes(text: str) -> bytes:
    """The bytes of a recorded prefix; redacted ones are no longer of that form."""
    try:
        return name_bytes(text)
    except ValueError:
        return text.encode("utf-8", "replace")


RESULT_CHARACTERS = 16_000
"""Of longer texts the built-in agent leaves out the middle before the model sees them."""

RENDERED = "is not in the text that the model got"
SILENT = "may be the agent's own text to the model, or output that is now missing"
LEFT_OUT = "cannot be compared in the {} characters that the agent left out"
NO_TEXT = "contains bytes that are not UTF-8, which the record does not distinguish"

_LEFT_OUT = re.compile(r"\n\.\.\. (\d{1,9}) characters left out \.\.\.\n")


def result_difference(
    result_text: str, finished: CommandResult, *, exact: bool, numbers: Numbers = NO_NUMBERS
) -> OutputDifference | None:
    """How the output of a call differs from the text that the model got; ``exact`` for the built-in agent's."""
    if not exact:
        return _somehow(result_text, finished, numbers)
    left_out = _LEFT_OUT.match(result_text, RESULT_CHARACTERS // 2)
    if left_out is not None:
        return _in_part(result_text, left_out, finished, numbers)
    printed, said = _printed(finished), _said(result_text, finished, numbers)
    again = text_digest("\n".join(printed))
    new, gone = Counter(printed) - Counter(said), Counter(said) - Counter(printed)
    if new or gone:
        return OutputDifference("output", _first(said, gone), _first(printed, new), "", again)
    for name, output in (("stdout", finished.stdout), ("stderr", finished.stderr)):
        early = _out_of_order(_lines(_text(output.prefix)), said)
        if early is not None:
            return OutputDifference(
                name, f"{quoted(early)} in another place", f"{quoted(early)} after other lines", "", again
            )
    if "\N{REPLACEMENT CHARACTER}" in result_text:
        return OutputDifference("output", "the same lines", "the same lines", NO_TEXT, again)
    return None


def _in_part(result_text: str, left_out: re.Match[str], finished: CommandResult, numbers: Numbers) -> OutputDifference:
    """Whole lines before and after what the built-in agent left out, and the length of all."""
    printed = _printed(finished)
    ends = result_text[: left_out.start()], result_text[left_out.end() :]
    said = [*_said(ends[0], finished, numbers)[:-1], *_said(ends[1], finished, numbers)[1:]]
    gone = Counter(said) - Counter(printed)
    if gone:
        return OutputDifference("output", _first(said, gone), "no such line", "", text_digest("\n".join(printed)))
    streams = (finished.stdout, finished.stderr)
    again = " ".join(one.sha256 for one in streams)
    then = len(result_text) - len(left_out[0]) + int(left_out[1]) - len(_ending(finished))
    now = sum(len(_text(one.prefix)) for one in streams)
    if any(one.total_bytes > len(one.prefix) for one in streams):
        return OutputDifference("output", f"{then} characters", f"more than {now} characters", "", again)
    why = LEFT_OUT.format(left_out[1]) if then == now else ""
    return OutputDifference("output", f"{then} characters", f"{now} characters", why, again)


def _somehow(result_text: str, finished: CommandResult, numbers: Numbers) -> OutputDifference | None:
    """A line that another agent did not pass on, or a call that prints nothing now and had a recorded text."""
    printed, whole = _printed(finished), "\n".join((masked(result_text), *_said(result_text, finished, numbers)))
    again = text_digest("\n".join(printed))
    missing = next((line for line in printed if line not in whole and json.dumps(line)[1:-1] not in whole), "")
    if missing:
        return OutputDifference("output", "no such line", quoted(missing), RENDERED, again)
    said = _lines(result_text)
    if said and not printed:
        return OutputDifference("output", quoted(said[0]), "nothing", SILENT, again)
    return None


def _said(result_text: str, finished: CommandResult, numbers: Numbers) -> list[str]:
    """The recorded lines, without a last one with the exit code.

    A line that is not printed now may be the number of a process.
    """
    printed = frozenset(_printed(finished))
    said = [line if line in printed else renumbered(line, numbers) for line in _lines(result_text)]
    return said[:-1] if said[-1:] == [_ending(finished).strip()] else said


def _ending(finished: CommandResult) -> str:
    return f"\nexit code {finished.exit_code}"


def _printed(finished: CommandResult) -> list[str]:
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
