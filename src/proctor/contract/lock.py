"""``contract.lock``: what the names in a contract resolved to, by file and digest.

The file is written by ``proctor lock`` and read by the loader; both forms of a source are kept, what was asked for
(``spec``) and what it gave (``files``), so that a lock that no longer fits its contract is noticed. Nothing here
resolves anything.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from proctor.base.canonical import canonical
from proctor.base.errors import ContractError, InfrastructureFault, Mistake
from proctor.base.files import read_bounded, write_whole
from proctor.contract.kinds import Whole, quoted
from proctor.contract.model import InputFile, Source
from proctor.contract.shapes import OMITTED, Field, ListOf, MapOf, Part, Shape
from proctor.contract.strict_yaml import Report, TooManyMistakes, parse_yaml
from proctor.contract.texts import FILE_NAME, NAME, SHA256, WORDS

LOCK_NAME = "contract.lock"
LOCK_BYTES = 10 << 20


@dataclass(frozen=True)
class Locked:
    """One source: what was asked for, and the files that it gave."""

    spec: str
    files: tuple[InputFile, ...]


@dataclass(frozen=True)
class Lock:
    """A whole lock: inputs by name, and the repository where it is fetched by name."""

    inputs: Mapping[str, Locked] = field(default_factory=dict)
    repository: Locked | None = None


_FILE = Shape("file", (Field("name", FILE_NAME, "The file's name."), Field("sha256", SHA256, "Its digest.")))
_LOCKED = Shape(
    "source",
    (Field("spec", WORDS, "What was asked for."), Field("files", ListOf(_FILE, least=1), "What it gave.")),
)
_LOCK = Shape(
    LOCK_NAME,
    (
        Field("schema", Whole(1, 1), "The version of this form: 1."),
        Field("inputs", MapOf(NAME, _LOCKED), "Inputs by name.", {}),
        Field("repository", _LOCKED, "The repository, where it is fetched by name.", OMITTED),
    ),
)


def spec_text(source: Source, with_dependencies: bool = False) -> str:
    """What is asked for, as the lock writes it: ``pypi pytest==8.4.2 with dependencies``."""
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
    """Two files of one name cannot lie side by side."""
    sources: list[Part] = [*part["inputs"].values(), part["repository"]]
    for source in sources:
        seen: set[str] = set()
        for file in source["files"]:
            if file["name"] and file["name"] in seen:
                report.add(file.place("name"), f"a second file called {quoted(file['name'])}", "run proctor lock")
            seen.add(file["name"])


def write_lock(path: Path, lock: Lock) -> None:
    """Write ``lock`` to ``path``, whole or not at all; equal locks give equal bytes."""
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
