"""Find the answers to a task in an image.

Hidden tests, the reference solution, git history, other versions of the project.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, replace
from pathlib import Path

from proctor.base.canonical import canonical, digest, parse
from proctor.base.errors import ContractError, InfrastructureFault, Mistake
from proctor.base.files import read_bounded, write_whole
from proctor.base.reversible_escapes import name_text
from proctor.contract.digest import resolved
from proctor.contract.lint import place_of
from proctor.contract.load import CONTRACT_NAME
from proctor.contract.model import Contract
from proctor.execute.inputs.input_cache import InputCache
from proctor.execute.inputs.input_files import hidden_files, reference_files
from proctor.execute.leakage.input_entries import BETWEEN, Entry, InputReader, SearchLimits, plain_path
from proctor.execute.leakage.leakage_finding import HISTORY, LINK, SOLUTION, TEST, UNREAD, Finding, read_finding
from proctor.execute.leakage.package_metadata import is_metadata
from proctor.execute.leakage.project_copies import MAX_FINDINGS, GitHistory, copies_in
from proctor.execute.leakage.project_features import Project, read_project
from proctor.execute.leakage.source_similarity import SourceIndex, is_source, read_source
from proctor.execute.workspace.archive_extraction import members
from proctor.execute.workspace.archive_reader import ArchiveLimits
from proctor.execute.workspace.layer_stack import Stack
from proctor.execute.workspace.patch_parser import NotAPatch, parse_patch
from proctor.execute.workspace.path_patterns import matches

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
    """The strings in a text, without their quotes and with escapes of line ends and quotes decoded."""
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


FORMAT = 2
"""Part of every record's name: raise it when the search finds more or less than before."""

RECORD_BYTES = 4 << 20
HINT = "name it in environment.hide, or build the image without it"
LINK_HINT = "build the image with a directory there, or with nothing"

MOUNTED = ("workspace", "setup", "home/agent", "tmp", "run", "var/tmp", "dev", "proc", "sys")
"""What every sandbox mounts over the image, without the leading slash."""

NAME = "image"
LIMITS = SearchLimits(
    nested_archives=500_000,
    total_bytes=256 << 30,
    archive=ArchiveLimits(total_bytes=64 << 30, members=5_000_000),
)


class ImageSearch:
    """Searches the image of one contract. ``export`` writes the image's files to a path, as a tar archive."""

    def __init__(
        self,
        contract: Contract,
        inputs: InputCache,
        records: Path,
        scratch: Path,
        tree: Callable[[], Stack],
        export: Callable[[Path], None],
    ) -> None:
        self._contract = contract
        self._inputs = inputs
        self._records = records
        self._scratch = scratch
        self._tree = tree
        self._export = export

    def recalled(self) -> tuple[Finding, ...] | None:
        """What an earlier search found; ``None`` if there was none or its record is damaged."""
        try:
            kept = parse(read_bounded(self._record(), RECORD_BYTES))
            if kept["digest"] != digest(kept["findings"]):
                return None
            return tuple(read_finding(row) for row in kept["findings"])
        except (OSError, InfrastructureFault, ValueError, KeyError, TypeError):
            return None

    def findings(self) -> tuple[Finding, ...]:
        """What the image shows, from an earlier search or a new one."""
        known = self.recalled()
        if known is not None:
            return known
        tree = self._tree()
        project = read_project(self._contract, tree)
        answers = read_answers(self._contract, self._inputs, project.sources, tree.read)
        archive = self._scratch / "image.tar"
        try:
            self._export(archive)
            found = search_image(project, answers, archive, self._contract.environment.hide, self._scratch)
        finally:
            archive.unlink(missing_ok=True)
        rows = [one.record() for one in found]
        try:
            self._records.mkdir(parents=True, exist_ok=True)
            write_whole(self._record(), canonical({"digest": digest(rows), "findings": rows}), sync=False)
        except OSError:
            pass  # searched again the next time
        return tuple(found)

    def require_none(self) -> None:
        """Refuse a contract whose image shows an answer."""
        refuse_image_answers(self._contract, self.findings())

    def _record(self) -> Path:
        whole = resolved(self._contract)
        key = {
            "kind": "image",
            "format": FORMAT,
            "repository": whole["repository"],
            "layers": list(self._contract.environment.image),
            "hide": list(self._contract.environment.hide),
            "hidden": [check["hidden"] for check in whole["checks"]],
            "reference": whole["reference"],
            "inputs": [one for one in whole["inputs"] if one["audience"] == "judge"],
        }
        return self._records / digest(key).removeprefix("sha256:")


def refuse_image_answers(contract: Contract, findings: tuple[Finding, ...]) -> None:
    """Raise :class:`ContractError` with an error for each of ``findings`` that may reveal the solution."""
    place = place_of(contract, ("environment", "image"))
    file = str(contract.directory / CONTRACT_NAME)
    mistakes = [
        Mistake(file, *place, f"the image: {one.sentence()}", LINK_HINT if one.reason == LINK else HINT)
        for one in findings
        if one.is_other
    ]
    if mistakes:
        raise ContractError(mistakes)


def search_image(
    project: Project, answers: AnswerIndex, archive: Path, hide: tuple[str, ...], scratch: Path
) -> list[Finding]:
    """The files of the exported image ``archive``, except for the paths in ``hide``."""
    listing = _Listing(archive, hide)
    found: list[Finding] = list(listing.links)

    def search(entries: Iterator[Entry]) -> Iterator[Entry]:
        for entry in entries:
            answered = answers.find(entry.path, entry.data)
            if answered is not None:
                place, one = _absolute(entry.archive, entry.path + entry.suffix), answered.answer
                found.append(Finding(one.kind, place, True, lines=answered.lines, example=one.path))
            yield entry

    def wanted(path: str) -> bool:
        return bool(answers.answers) or is_metadata(path) or is_source(path)

    reader = InputReader(wanted, scratch, LIMITS, shown=listing.shown, look=listing.history.look)
    copies = copies_in(project, search(reader.entries(archive, NAME)), reader.unread, NAME)
    found += (Finding(HISTORY, place, True, detail=what) for place, what in sorted(listing.history.places.items()))
    found += (replace(one, place=_absolute("", one.place)) for one in copies if one.place != NAME or one.is_other)
    order = {LINK: 0, HISTORY: 1, TEST: 2, UNREAD: 9}
    return sorted(found, key=lambda one: (not one.is_other, order.get(one.reason, 3)))[:MAX_FINDINGS]


class _Listing:
    """The names in an exported image: which are shown, under which other names hidden files show, and git objects."""

    def __init__(self, archive: Path, hide: tuple[str, ...]) -> None:
        self._hide = tuple(pattern[1:].rstrip("/") for pattern in hide)
        self._known: dict[str, bool] = {}
        self._other: dict[str, str] = {}
        """Hidden files with the name under which they show all the same."""
        self.history = GitHistory(_absolute)
        self.links: list[Finding] = []
        for member in members(archive, LIMITS.archive):
            path = plain_path(member.name)
            if member.kind != "directory" and any(f"{mounted}/".startswith(f"{path}/") for mounted in MOUNTED):
                target = member.target.decode("utf-8", "replace") if member.kind == "link" else ""
                self.links.append(Finding(LINK, f"/{path}", True, detail=target))
            if member.kind not in ("file", "hard link") or self._is_hidden(path):
                continue
            self.history.look("", path)
            if member.kind == "hard link" and self._is_hidden(plain_path(member.target)):
                self._other.setdefault(plain_path(member.target), path)

    def shown(self, path: str) -> str:
        """The name under which the file ``path`` shows; empty if it does not."""
        return self._other.get(path, "") if self._is_hidden(path) else path

    def _is_hidden(self, path: str) -> bool:
        directory, _, _ = path.rpartition("/")
        if directory and self._directory_is_hidden(directory):
            return True
        return any(matches(path, pattern) for pattern in self._hide)

    def _directory_is_hidden(self, path: str) -> bool:
        known = self._known.get(path)
        if known is None:
            known = self._known[path] = path in MOUNTED or self._is_hidden(path)
        return known


def _absolute(archive: str, path: str) -> str:
    """A path in the image as it is inside the sandbox; archives in it are named by ``BETWEEN``."""
    place = f"{archive}{BETWEEN}{path}" if archive else path
    return "/" + place.removeprefix(f"{NAME}{BETWEEN}")
