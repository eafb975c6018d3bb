"""Pinned sources of a contract: ``contract.lock``, and how the repository and the inputs are read with it.

``proctor lock`` writes the lock and the loader reads it. An entry holds the request (``spec``) and the files that it
resolved to (``files``), so that a lock that no longer fits its contract is noticed. A source is pinned by the contract
itself (``file`` and ``sha256``) or by the lock; a source without either is a mistake, unless the contract is loaded in
order to lock it. Nothing here resolves anything.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path

from proctor.base.canonical import canonical
from proctor.base.errors import ContractError, InfrastructureFault, Mistake
from proctor.base.files import read_bounded, write_whole
from proctor.contract.composite_types import OMITTED, Field, ListOf, MapOf, Part, Shape
from proctor.contract.model import ArchiveRepository, GitRepository, Input, InputFile, Source, Submodule
from proctor.contract.named_files import NamedFiles
from proctor.contract.scalar_types import Whole, quoted
from proctor.contract.strict_yaml import Node, Report, TooManyMistakes, parse_yaml
from proctor.contract.text_types import FILE_NAME, NAME, SHA256, TEXT

LOCK_NAME = "contract.lock"
LOCK_BYTES = 10 << 20


@dataclass(frozen=True)
class Locked:
    """One source: the request, and the files that it resolved to."""

    spec: str
    files: tuple[InputFile, ...]


@dataclass(frozen=True)
class Lock:
    """The content of a lock: inputs by name, and the repository if it is fetched by name."""

    inputs: Mapping[str, Locked] = field(default_factory=dict)
    repository: Locked | None = None


_FILE = Shape("file", (Field("name", FILE_NAME, "The file's name."), Field("sha256", SHA256, "Its digest.")))
_LOCKED = Shape(
    "source",
    (Field("spec", TEXT, "The request."), Field("files", ListOf(_FILE, least=1), "The files that it resolved to.")),
)
_LOCK = Shape(
    LOCK_NAME,
    (
        Field("schema", Whole(1, 1), "The version of this form: 1."),
        Field("inputs", MapOf(NAME, _LOCKED), "Inputs by name.", {}),
        Field("repository", _LOCKED, "The repository, if it is fetched by name.", OMITTED),
    ),
)


def spec_text(source: Source, with_dependencies: bool = False) -> str:
    """The request, as the lock writes it: ``pypi pytest==8.4.2 with dependencies``."""
    return f"{source.kind} {source.spec}" + (" with dependencies" if with_dependencies else "")


def read_lock(path: Path) -> Lock:
    """The lock in the file ``path``; an absent file is an empty lock, a broken one a :class:`ContractError`."""
    try:
        data = read_bounded(path, LOCK_BYTES)
    except FileNotFoundError:
        return Lock()
    except InfrastructureFault as fault:
        raise ContractError([Mistake(str(path), 0, 0, f"is {fault.message}")]) from None
    except OSError as error:
        raise ContractError([Mistake(str(path), 0, 0, f"cannot be read: {error.strerror}")]) from None
    report = Report(str(path))
    try:
        node = parse_yaml(data, report)
        part = _LOCK.read(node, report) if node else _LOCK.blank
        _report_twins(part, report)
    except TooManyMistakes:
        part = _LOCK.blank
    report.raise_any()
    repository = _locked(part["repository"]) if part.given("repository") else None
    return Lock({name: _locked(inner) for name, inner in part["inputs"].items()}, repository)


def _report_twins(part: Part, report: Report) -> None:
    """Report two files with the same name."""
    sources: list[Part] = [*part["inputs"].values(), part["repository"]]
    for source in sources:
        seen: set[str] = set()
        for file in source["files"]:
            if file["name"] and file["name"] in seen:
                report.add(file.place("name"), f"a second file called {quoted(file['name'])}", "run proctor lock")
            seen.add(file["name"])


def write_lock(path: Path, lock: Lock) -> None:
    """Write ``lock`` to ``path`` atomically; equal locks give equal bytes."""
    lines = ["# Written by `proctor lock`: what the names in contract.yaml resolve to.", "schema: 1"]
    if lock.repository is not None:
        lines += ["repository:", *_lines(lock.repository, "  ")]
    if lock.inputs:
        lines.append("inputs:")
        for name in sorted(lock.inputs):
            lines += [f"  {_quoted(name)}:", *_lines(lock.inputs[name], "    ")]
    write_whole(path, ("\n".join(lines) + "\n").encode())


def _lines(locked: Locked, margin: str) -> list[str]:
    lines = [f"{margin}spec: {_quoted(locked.spec)}", f"{margin}files:"]
    for file in sorted(locked.files, key=lambda file: file.name):
        lines += [f"{margin}  - name: {_quoted(file.name)}", f"{margin}    sha256: {_quoted(file.sha256)}"]
    return lines


def _quoted(text: str) -> str:
    """Text as a YAML scalar: JSON strings are YAML strings."""
    return canonical(text).decode()


def _locked(part: Part) -> Locked:
    files = (InputFile(file["name"], file["sha256"].removeprefix("sha256:")) for file in part["files"])
    return Locked(part["spec"], tuple(sorted(files, key=lambda file: file.name)))


_SUFFIXES = re.compile(r"\.(?:tar\.[a-z0-9]+|tgz|tbz2|txz|tar|zip|whl)$")
LOCK_HINT = "run proctor lock"


class SourcesReader:
    """Reads the repository and the inputs of one contract."""

    def __init__(self, files: NamedFiles, lock: Lock, report: Report, allow_unpinned: bool) -> None:
        self.files = files
        self.lock = lock
        self.report = report
        self.allow_unpinned = allow_unpinned

    def repository(self, part: Part) -> GitRepository | ArchiveRepository:
        if part.variant in ("git", ""):
            if not part.variant:
                return GitRepository("", "")
            self._local_git(part.place("git"), part["git"])
            return GitRepository(part["git"], part["commit"], self._submodules(part))
        source = self.source(part, self.lock.repository, "repository")
        return ArchiveRepository(source, part["strip"])

    def inputs(self, parts: tuple[Part, ...]) -> tuple[Input, ...]:
        """The inputs; their names are unique. Entries of the lock for inputs that no longer exist are ignored."""
        found: dict[str, Input] = {}
        for part in parts:
            if not part.variant:
                continue
            name = part["name"] or _default_name(part.variant, part[part.variant])
            place = part.place("name") if part.given("name") else part.place(part.variant)
            if name and not NAME.matches(name):
                self.report.add(place, f"{quoted(name)} cannot be the name of an input", "give it a name")
            elif name in found:
                self.report.add(place, f"a second input called {quoted(name)}", "give each input its own name")
            with_dependencies = part.get("with_dependencies", False)
            source = self.source(part, self.lock.inputs.get(name), name, with_dependencies)
            made = Input(name, source, part["for"], with_dependencies, part["accept_copy"])
            self._report_clash(place, made, found.values())
            found.setdefault(name, made)
        return tuple(found.values())

    def _report_clash(self, place: Node, made: Input, others: Iterable[Input]) -> None:
        """All files for setup are in ``/inputs``, so two of them with the same name must have the same content."""
        if made.audience == "judge":
            return
        shown = {file.name: file.sha256 for one in others if one.audience != "judge" for file in one.source.files}
        for file in made.source.files:
            if shown.get(file.name, file.sha256) != file.sha256:
                self.report.add(place, f"another input gives a different file called {quoted(file.name)}")

    def source(self, part: Part, locked: Locked | None, name: str, with_dependencies: bool = False) -> Source:
        """The source that ``part`` describes, pinned."""
        kind = part.variant
        place = part.place(kind)
        spec: str = part[kind]
        sha256 = part["sha256"].removeprefix("sha256:")
        bare = Source(kind, spec)
        if not spec:
            return bare
        if kind == "archive":
            return Source(kind, spec, (InputFile(self._archive_name(place, spec), sha256),))
        if part.given("file") or part.given("sha256"):
            return Source(kind, spec, (InputFile(part["file"], sha256),))
        if locked is not None and locked.spec == spec_text(bare, with_dependencies):
            return Source(kind, spec, locked.files)
        if not self.allow_unpinned:
            if locked is not None:
                message = f"{LOCK_NAME} has {quoted(locked.spec)} for {quoted(name)}, which differs from the contract"
                self.report.add(place, message, LOCK_HINT)
            else:
                self.report.add(place, f"{quoted(spec)} is not pinned", f"give file and sha256, or {LOCK_HINT}")
        return bare

    def _archive_name(self, place: Node, spec: str) -> str:
        """The file name of an archive; a local archive must exist."""
        if not spec.startswith(("http://", "https://")):
            self.files.exists(place, spec)
            return spec.rsplit("/", 1)[-1]
        name = re.split("[?#]", spec.partition("://")[2])[0].rpartition("/")[2]
        if not FILE_NAME.matches(name):
            self.report.add(place, "the address does not end in a file name")
        return name

    def _submodules(self, part: Part) -> tuple[Submodule, ...]:
        pins: Mapping[str, Part] = part["submodules"]
        for inner in pins.values():
            self._local_git(inner.place("git"), inner["git"])
        return tuple(Submodule(path, inner["git"], inner["commit"]) for path, inner in sorted(pins.items()))

    def _local_git(self, place: Node, git: str) -> None:
        """A repository that is a path has to be a directory."""
        if git and not is_address(git) and not os.path.isdir(os.path.join(self.files.directory, git)):
            self.report.add(
                place, f"{quoted(git)} is not a directory", "paths are relative to the contract's directory"
            )


def is_address(git: str) -> bool:
    """Whether ``git`` is an address rather than a path, by git's own rule: a colon before any slash, or ``://``."""
    return "://" in git or ":" in git.partition("/")[0]


def _default_name(kind: str, spec: str) -> str:
    """The name of an input that has none: its package's name, or its file's without the suffix."""
    if kind == "archive":
        name = _SUFFIXES.sub("", re.split("[?#]", spec)[0].rstrip("/").rpartition("/")[2])
    elif kind == "npm":
        name = spec.rpartition("@")[0].removeprefix("@")
    else:
        name = spec.partition("==")[0].partition("[")[0]
    return re.sub(r"[^a-z0-9._-]+", "-", name.lower())
