"""Place inputs: those for setup at ``/inputs``, the judge's hidden files and the reference in the tree.

Inputs of the judge are never written to a directory that a sandbox of the agent or of setup can see: their files are
read from the archive in memory and passed one by one. Paths are bytes relative to the tree; they never leave it and
never touch ``.git``.
"""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path

from proctor.base.canonical import sha256
from proctor.base.errors import ProctorError
from proctor.base.files import read_bounded
from proctor.contract.lint import Step, place_of
from proctor.contract.load import CONTRACT_NAME
from proctor.contract.model import Contract, Hidden, Input, NamedFile, Reference
from proctor.execute.inputs.input_cache import InputCache
from proctor.execute.inputs.interface import MAX_FILE_BYTES, DigestMismatch, NoSuchInput
from proctor.execute.workspace.archive_extraction import read_members
from proctor.execute.workspace.path_patterns import matches

File = tuple[bytes, int, bytes]
"""A path in the tree, a git mode (0o100644, 0o100755, 0o120000) and the bytes (of a link, its target)."""

ARCHIVES = (".tar", ".tar.gz", ".tgz", ".tar.bz2", ".tar.xz", ".zip", ".whl")


class CannotPlace(ProctorError):
    """Hidden files or a reference that do not fit where the contract wants them."""

    exit_code = 2


def hidden_files(hidden: Hidden, contract: Contract, cache: InputCache) -> list[File]:
    """The files that ``hidden`` puts into the tree, in order of their paths."""
    if hidden.input:
        found = _from_input(hidden.input, hidden.paths, contract, cache)
    else:
        found = _from_directory(hidden, contract.directory)
    ways = [
        ("checks", number, "hidden", inner)
        for number, check in enumerate(contract.checks)
        for inner, one in enumerate(check.hidden)
        if one == hidden
    ]
    what = f"hidden files from {hidden.input or hidden.directory!r}"
    place = _Place(contract, ways[0] if ways else ("checks",), what)
    return _placed(found, hidden.strip, hidden.to, place)


def reference_files(reference: Reference, contract: Contract, cache: InputCache) -> list[File]:
    """The files of a reference solution that comes from a judge input; empty for one that is a patch."""
    if not reference.input:
        return []
    found = _from_input(reference.input, reference.paths, contract, cache)
    place = _Place(contract, ("reference",), f"the reference from {reference.input!r}")
    return _placed(found, reference.strip, reference.to, place)


def inputs_directory(contract: Contract, cache: InputCache, directory: Path) -> Path:
    """``directory`` filled with copies of what setup may see, readable by everyone, to be mounted at ``/inputs``."""
    directory.mkdir(parents=True, exist_ok=True)
    os.chmod(directory, 0o755)
    placed: dict[str, str] = {}
    for one in contract.inputs:
        if one.audience != "setup":
            continue
        for file, path in zip(one.source.files, cache.ensure(one.source, contract.directory), strict=True):
            if placed.setdefault(file.name, file.sha256) != file.sha256:
                raise CannotPlace(f"two inputs for setup bring different files named {file.name}", where=one.name)
            shutil.copyfile(path, directory / file.name)
            os.chmod(directory / file.name, 0o444)
    return directory


def selected(path: str, wanted: Iterable[str]) -> bool:
    """Whether ``path`` is one of ``wanted``, is below one, or matches one as a glob; an empty list means all files."""
    patterns = [pattern.rstrip("/") for pattern in wanted]
    return not patterns or any(
        path == pattern or path.startswith(f"{pattern}/") or matches(path, pattern) for pattern in patterns
    )


def _from_input(name: str, paths: tuple[str, ...], contract: Contract, cache: InputCache) -> Iterator[File]:
    """The wanted files of a judge input, with their paths inside it; a file that is not an archive is itself."""
    source = _judge_input(name, contract).source
    for file, path in zip(source.files, cache.ensure(source, contract.directory), strict=True):
        if file.name.endswith(ARCHIVES):
            yield from read_members(path, lambda member: selected(member, paths), strip=0)
        elif selected(file.name, paths):
            yield file.name.encode(), 0o100644, read_bounded(path, MAX_FILE_BYTES)


def _judge_input(name: str, contract: Contract) -> Input:
    for one in contract.inputs:
        if one.name == name:
            if one.audience != "judge":
                raise CannotPlace(f"input {name} is not for the judge alone", hint="mark it with for: judge")
            return one
    raise CannotPlace(f"the contract has no input {name}")


def _from_directory(hidden: Hidden, contract_directory: Path) -> Iterator[File]:
    """The wanted files of a directory of the contract, checked against the digests it was loaded with."""
    for file in hidden.files:
        inside = file.path.removeprefix(f"{hidden.directory.rstrip('/')}/") if hidden.directory else file.path
        if selected(inside, hidden.paths):
            mode = 0o100755 if file.executable else 0o100644
            yield os.fsencode(inside), mode, _named_bytes(file, contract_directory)


def _named_bytes(file: NamedFile, contract_directory: Path) -> bytes:
    path = contract_directory / file.path
    try:
        data = read_bounded(path, MAX_FILE_BYTES)
    except OSError as error:
        raise NoSuchInput(f"a file of the contract cannot be read: {error.strerror}", where=str(path)) from None
    if sha256(data).removeprefix("sha256:") != file.sha256:
        raise DigestMismatch("a file of the contract changed after it was loaded", where=str(path))
    return data


@dataclass(frozen=True)
class _Place:
    """The place in a contract that asks for files, and a description, for messages."""

    contract: Contract
    way: tuple[Step, ...]
    what: str

    def problem(self, message: str, hint: str = "") -> CannotPlace:
        line, column = place_of(self.contract, (*self.way, "paths"))
        return CannotPlace(f"{self.what}: {message}", where=f"{CONTRACT_NAME}:{line}:{column}", hint=hint)


def _placed(found: Iterable[File], strip: int, to: str, place: _Place) -> list[File]:
    """``found`` moved to where it belongs in the tree, sorted; nothing at all is a mistake of the contract."""
    start = [part for part in os.fsencode(to).split(b"/") if part not in (b"", b".")]
    placed: dict[bytes, File] = {}
    for path, mode, data in found:
        parts = [part for part in path.split(b"/") if part not in (b"", b".")][strip:]
        if not parts:
            continue
        whole = [*start, *parts]
        if b".." in whole or any(part.lower() == b".git" for part in whole):
            raise place.problem(f"{os.fsdecode(path)!r} cannot be placed in the tree")
        target = b"/".join(whole)
        placed[target] = (target, mode, data)
    if not placed:
        hint = f"paths begin at the root of the input, and strip ({strip}) takes parts off all of them"
        raise place.problem("nothing in it matches the field paths", hint)
    return sorted(placed.values())
