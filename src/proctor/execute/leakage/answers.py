"""The answers to a task, and how a file that contains one is recognised: hidden tests and the reference solution.

An answer is one file that the judge places or that the solution changes. Of it only those significant lines count that
the repository does not have (see ``lines``), so the repository's own older version of a test is not an answer. A file
contains an answer if it has most of these lines; of an answer with one or two lines, all of them under the same file
name. Patches count with the lines that they add, and strings of JSON, YAML or code with the lines that they hold.
Pure, but for reading the files of the contract.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path

from proctor.base.files import read_bounded
from proctor.base.names import name_text
from proctor.contract.model import Contract
from proctor.execute.inputs.fetch import InputCache
from proctor.execute.inputs.place import hidden_files, reference_files
from proctor.execute.leakage.finding import SOLUTION, TEST
from proctor.execute.leakage.lines import SourceIndex, read_source
from proctor.execute.workspace.patchtext import NotAPatch, parse_patch

FEW_LINES, SHARE = 3, 0.6
"""From how many new lines on an answer is recognised under any name, and by which share of them. Policy choices."""

PATCH_BYTES = 64 << 20
_PATCH = re.compile(rb"(?m)^@@ -\d+(?:,\d+)? \+\d+(?:,\d+)? @@")


@dataclass(frozen=True)
class Answer:
    """One file of a hidden test or of the solution, and the digests of the lines that the repository does not have."""

    kind: str
    path: str
    lines: frozenset[int]


@dataclass(frozen=True)
class Answered:
    """A file that contains ``answer``: how many of its new lines."""

    answer: Answer
    lines: int


class AnswerIndex:
    """The answers to one task."""

    def __init__(self, answers: Iterable[Answer]) -> None:
        self.answers = tuple(one for one in answers if one.lines)
        self._any = frozenset(line for one in self.answers for line in one.lines)

    def find(self, path: str, data: bytes) -> Answered | None:
        """The answer that the file ``path`` with the bytes ``data`` contains most of."""
        lines = _lines(data) & self._any if self._any else frozenset()
        if not lines:
            return None
        found = []
        for one in self.answers:
            shared = len(one.lines & lines)
            few = len(one.lines) < FEW_LINES
            enough = shared == len(one.lines) and _name(path) == _name(one.path) if few else shared >= FEW_LINES
            if enough and shared >= SHARE * len(one.lines):
                found.append(Answered(one, shared))
        return max(found, key=lambda one: (one.lines, one.answer.path)) if found else None


def read_answers(
    contract: Contract, inputs: InputCache, sources: SourceIndex, read_base: Callable[[bytes], bytes | None]
) -> AnswerIndex:
    """The answers of ``contract``; ``sources`` and ``read_base`` are the repository's files."""

    def new(data: bytes, path: bytes) -> frozenset[int]:
        known = _lines(read_base(path) or b"")
        return frozenset(line for line in _lines(data) if line not in known and not sources.has_line(line))

    found = [
        Answer(TEST, name_text(path), new(data, path))
        for check in contract.checks
        for hidden in check.hidden
        for path, _, data in hidden_files(hidden, contract, inputs)
    ]
    reference = contract.reference
    if reference is not None:
        files = reference_files(reference, contract, inputs)
        found += [Answer(SOLUTION, name_text(path), new(data, path)) for path, _, data in files]
        for patch in (reference.patch, *reference.alternatives):
            if patch is not None:
                text = read_bounded(Path(contract.directory) / patch.path, PATCH_BYTES)
                found += [Answer(SOLUTION, name_text(path), new(data, path)) for path, data in _added(text)]
    return AnswerIndex(found)


def _lines(data: bytes) -> frozenset[int]:
    """The significant lines of a text; of a patch, those that it adds."""
    if b"\0" in data[:8192]:
        return frozenset()
    if b"\\n" in data:
        data = data + b"\n" + _unquoted(data)
    if _PATCH.search(data):
        added = b"\n".join(line[1:] for line in data.splitlines() if line.startswith(b"+"))
        data = data + b"\n" + added
    text = read_source(data)
    return text.lines if text is not None else frozenset()


def _unquoted(data: bytes) -> bytes:
    """The strings in a text, without their quotes and with line ends and quotes for what stands for them."""
    text = data.replace(b'\\"', b"\0").replace(b'"', b"\n").replace(b"\0", b'"')
    return text.replace(b"\\n", b"\n").replace(b"\\t", b"\t")


def _added(patch: bytes) -> Iterator[tuple[bytes, bytes]]:
    """The path of each file in ``patch`` and the lines that are added to it."""
    try:
        paths = [one.path for one in parse_patch(patch)]
    except NotAPatch:
        return
    parts = re.split(rb"(?m)^diff --git [^\n]*\n", patch)[1:]
    if len(parts) != len(paths):  # not git's own form: all lines count for the first file
        parts, paths = [patch], paths[:1]
    for path, part in zip(paths, parts, strict=True):
        lines = (line[1:] for line in part.splitlines() if line.startswith(b"+") and not line.startswith(b"+++ "))
        yield path, b"\n".join(lines)


def _name(path: str) -> str:
    return path.rpartition("/")[2]
