"""The seal: the last act of a run, after which nothing in its directory may change.

``seal.json`` lists every directory with its mode and every file with its mode, size and digest, gives the number of
events, the last hash and the Merkle root as the writer knew them (not as the file claims), and ends with a digest over
all of that, so that a change of the seal itself shows. All files are made durable before the seal is written.

A seal alone cannot detect a directory that was rebuilt completely, seal included: note its digest somewhere else.
"""

from __future__ import annotations

import os
import stat
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path
from typing import Any

from proctor.base.canonical import digest
from proctor.base.errors import BrokenSeal
from proctor.base.reversible_escapes import name_text
from proctor.record.run_directory import JSON_BYTES, LOCK_NAME, RunDirectory, parse_json
from proctor.record.schema_versions import SEAL, check_version
from proctor.record.trace.writer import TraceWriter

_CHUNK_BYTES = 1 << 20
_READ = os.O_RDONLY | os.O_NOFOLLOW | os.O_CLOEXEC
MAX_DEPTH = 32


@dataclass(frozen=True)
class DirectoryEntry:
    """An entry of the directory: its path as text, its file status, and how to open it.

    ``handle`` is the descriptor of the directory that holds it, valid until the walk goes on. ``problem`` is set when
    its status could not be read.
    """

    path: str
    name: bytes
    handle: int
    information: os.stat_result | None
    problem: str = ""


def walk(root: Path, enter: Callable[[str], bool]) -> Iterator[DirectoryEntry]:
    """Everything below ``root`` in the order of names; a directory is entered if ``enter`` returns true for its path.

    The lock of the run is left out as long as it is an empty regular file.
    """
    handle = os.open(root, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        yield from _walk(handle, "", enter, 0)
    finally:
        os.close(handle)


def _walk(handle: int, prefix: str, enter: Callable[[str], bool], depth: int) -> Iterator[DirectoryEntry]:
    for name in sorted(os.fsencode(name) for name in os.listdir(handle)):
        path = prefix + name_text(name)
        try:
            information = os.stat(name, dir_fd=handle, follow_symlinks=False)
        except OSError as error:
            yield DirectoryEntry(path, name, handle, None, error.strerror or "its status cannot be read")
            continue
        if path == LOCK_NAME and stat.S_ISREG(information.st_mode) and not information.st_size:
            continue
        yield DirectoryEntry(path, name, handle, information)
        if not stat.S_ISDIR(information.st_mode) or depth >= MAX_DEPTH or not enter(path):
            continue
        try:
            inner = os.open(name, _READ | os.O_DIRECTORY, dir_fd=handle)
        except OSError as error:
            yield DirectoryEntry(path, name, handle, None, f"cannot be entered: {error.strerror}")
            continue
        try:
            yield from _walk(inner, path + "/", enter, depth + 1)
        finally:
            os.close(inner)


def open_regular(found: DirectoryEntry) -> int:
    """A descriptor for reading; ``OSError`` if it is no longer a regular file or cannot be read."""
    handle = os.open(found.name, _READ | os.O_NONBLOCK, dir_fd=found.handle)
    if not stat.S_ISREG(os.fstat(handle).st_mode):
        os.close(handle)
        raise OSError(0, "not a regular file")
    return handle


def hash_file(handle: int, limit_bytes: int) -> tuple[int, str]:
    """How many bytes an open file holds and their digest; reading stops once ``limit_bytes`` are exceeded."""
    state = sha256()
    size = 0
    while size <= limit_bytes and (chunk := os.read(handle, _CHUNK_BYTES)):
        size += len(chunk)
        state.update(chunk)
    return size, state.hexdigest()


@dataclass(frozen=True)
class SealedFile:
    """The entry of one file in the seal."""

    bytes: int
    mode: str
    sha256: str


@dataclass(frozen=True)
class Seal:
    """A seal that was read and whose own digest is valid."""

    directories: dict[str, str]
    files: dict[str, SealedFile]
    count: int
    head: str
    root: str
    digest: str


def write_seal(run: RunDirectory, trace: TraceWriter) -> dict[str, Any]:
    """Close ``trace``, make everything durable and write the seal, which is returned."""
    if os.path.lexists(run.seal):
        raise BrokenSeal("the run is already sealed", where="seal.json")
    trace.close()
    directories: list[dict[str, Any]] = []
    files: list[dict[str, Any]] = []
    for found in walk(run.path, lambda path: True):
        information = found.information
        if information is None:
            raise BrokenSeal(found.problem, where=found.path)
        if stat.S_ISDIR(information.st_mode):
            _sync_directory(found)
            directories.append({"mode": mode_text(information.st_mode), "path": found.path})
        elif stat.S_ISREG(information.st_mode):
            files.append(_sealed(found, information))
        else:
            raise BrokenSeal("neither a file nor a directory: it cannot be sealed", where=found.path)
    _check_log(files, trace)
    value: dict[str, Any] = {
        **SEAL.head(),
        "directories": directories,
        "files": files,
        "events": {"count": trace.count, "head": trace.head, "root": trace.root()},
    }
    value["digest"] = digest(value)
    run.write_json(run.seal, value)
    return value


def read_seal(data: bytes) -> Seal:
    """The seal that ``data`` holds; :class:`BrokenSeal` when it is not one or was changed."""
    value = parse_json(data, "seal.json")
    if not isinstance(value, dict) or value.get("kind") != SEAL.kind:
        raise BrokenSeal("this is not a seal", where="seal.json")
    check_version(SEAL, value, "seal.json")
    claimed = value.pop("digest", None)
    if claimed != digest(value):
        raise BrokenSeal("its own digest does not match: the seal was changed", where="seal.json")
    try:
        events = value["events"]
        files = dict(_files(value["files"]))
        directories = {entry["path"]: str(entry["mode"]) for entry in value["directories"]}
        return Seal(directories, files, int(events["count"]), str(events["head"]), str(events["root"]), str(claimed))
    except (KeyError, TypeError, ValueError):
        raise BrokenSeal("the seal lacks a required field", where="seal.json") from None


def load_seal(run: RunDirectory) -> Seal:
    """The seal of ``run``."""
    return read_seal(run.read(run.seal, JSON_BYTES))


def mode_text(mode: int) -> str:
    """Permissions in the form of the seal, such as ``0644``."""
    return f"{stat.S_IMODE(mode):04o}"


def _files(entries: list[dict[str, Any]]) -> Iterator[tuple[str, SealedFile]]:
    for entry in entries:
        yield entry["path"], SealedFile(int(entry["bytes"]), str(entry["mode"]), str(entry["sha256"]))


def _sealed(found: DirectoryEntry, information: os.stat_result) -> dict[str, Any]:
    """The entry of one file, which is synced on the way."""
    handle = open_regular(found)
    try:
        size, sha256 = hash_file(handle, information.st_size)
        os.fsync(handle)
    finally:
        os.close(handle)
    if size != information.st_size:
        raise BrokenSeal("the file changed while it was sealed", where=found.path)
    return {"bytes": size, "mode": mode_text(information.st_mode), "path": found.path, "sha256": sha256}


def _check_log(files: list[dict[str, Any]], trace: TraceWriter) -> None:
    """Check that the log on disk has the length that was written."""
    sizes = [entry["bytes"] for entry in files if entry["path"] == "events.jsonl"]
    if sizes != [trace.size]:
        raise BrokenSeal("the log has another length than was written to it", where="events.jsonl")


def _sync_directory(found: DirectoryEntry) -> None:
    handle = os.open(found.name, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC, dir_fd=found.handle)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)
