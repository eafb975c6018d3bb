"""What commands printed, held against what was recorded of it. Pure.

An output with the recorded digest is the same. One that differs only in what no two runs share (times and durations,
numbers of processes, addresses, names of temporary files, random ids) is told and decides nothing; so is one whose
record was redacted. Any other difference may decide: see ``retrace`` for when it does.

Of a long stream the record keeps the first bytes, the length and the digest. Where the first bytes are the same, the
digest still tells another stream. Where they differ in times, the digest of the rest is of no use any more: such a
stream is told as one that was compared in part, never as one that differs only in times.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from hashlib import sha256
from itertools import zip_longest
from types import MappingProxyType

from proctor.base.names import name_bytes
from proctor.execute.sandbox.interface import Output

SHOWN_CHARACTERS = 120
SHOWN_BEFORE = 20
"""How much of a long line is shown before the place where it differs."""

VOLATILE = "differs only in times, numbers of processes, addresses or temporary names"
HIDDEN = "was redacted and cannot be compared"
IN_PART = "differs only in times and the like in its first {} bytes, and the other {} were not kept to compare them"
UNSTEADY = "is not the same in two replays either"
LATE = "may come of changes of files that were seen only after the call began"

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


def masked(text: str) -> str:
    """``text`` without what no two runs share."""
    for found, mark in _MASKS:
        text = found.sub(mark, text)
    return text


def renumbered(line: str, numbers: Numbers) -> str:
    """A recorded line; the number of the same program now where it is nothing but the number of a process."""
    return str(numbers.get(int(line), line)) if numbers and _NUMBER.fullmatch(line) else line


def stream_difference(name: str, recorded: Stream, seen: Output, numbers: Numbers = NO_NUMBERS) -> Differs | None:
    """How one stream differs from its record; nothing where it does not."""
    if (seen.sha256, seen.total_bytes) == (recorded.sha256, recorded.total_bytes):
        return None
    if recorded.redacted:  # a digest of what holds the secret would let others try out guesses
        sizes = f"{recorded.total_bytes} bytes", f"{seen.total_bytes} bytes"
        return Differs(name, *sizes, HIDDEN, text_digest(masked(_decoded(seen.prefix))))
    kept = _bytes(recorded.prefix)
    then, now, size = _comparable(kept, seen.prefix, cut=recorded.total_bytes > len(kept))
    was, is_now = _sizes(recorded, seen)
    if then == now:
        return Differs(name, was, f"{is_now}, the same as far as both were kept ({size} bytes)", "", seen.sha256)
    place, line_then, line_now = first_line(then, now)
    told = f"{line_then} in line {place} ({was})", f"{line_now} in line {place} ({is_now})"
    why = ""
    if _alike(then, now, numbers):
        rest = max(recorded.total_bytes - size, seen.total_bytes - len(seen.prefix))
        why = IN_PART.format(size, rest) if rest else VOLATILE
    return Differs(name, *told, why, text_digest(masked(now)))


def _alike(then: str, now: str, numbers: Numbers) -> bool:
    """Whether two texts differ only in what no two runs share."""
    lines, others = masked(then).split("\n"), masked(now).split("\n")
    if len(lines) != len(others):
        return False
    return all(other in (line, renumbered(line, numbers)) for line, other in zip(lines, others, strict=True))


def _comparable(kept: bytes, seen: bytes, *, cut: bool) -> tuple[str, str, int]:
    """What can be held against each other, and how many recorded bytes that is.

    Of a record that was cut those are its whole lines, and as many lines of what is seen: times of another width move
    the place of the cut. Where those lines are the same, the beginning of the next one is held against its own.
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
    """The number of the first line in which two texts differ, and what stands there in each."""
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
    """The beginning of a line between quotation marks; as bytes where it is no text."""
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
    """The bytes that a recorded prefix stands for; redacted ones are no longer of that form."""
    try:
        return name_bytes(text)
    except ValueError:
        return text.encode("utf-8", "replace")
