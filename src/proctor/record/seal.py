"""The seal: the last act of a run, after which nothing in its directory may change.

``seal.json`` lists every directory with its mode and every file with its mode, size and digest, gives the number of
events, the last hash and the Merkle root as the writer knew them (not as the file claims), and ends with a digest over
all of that, so that a change of the seal itself shows. All files are made durable before the seal is written.

What a seal alone cannot show is a directory that was made anew from beginning to end, seal included: note its digest
somewhere else.
"""

from __future__ import annotations

import os
import stat
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from proctor.base.canonical import digest
from proctor.base.errors import BrokenSeal
from proctor.record.inventory import Found, hash_file, open_regular, walk
from proctor.record.rundir import JSON_BYTES, RunDirectory, parse_json
from proctor.record.trace.log import TraceWriter
from proctor.record.versions import SEAL, check_version


@dataclass(frozen=True)
class SealedFile:
    """What the seal says of one file."""

    bytes: int
    mode: str
    sha256: str


@dataclass(frozen=True)
class Seal:
    """A seal that was read and whose own digest holds."""

    directories: dict[str, str]
    files: dict[str, SealedFile]
    count: int
    head: str
    root: str
    digest: str


def write_seal(run: RunDirectory, trace: TraceWriter) -> dict[str, Any]:
    """Close ``trace``, make everything durable and seal it; what was written is returned."""
    if os.path.lexists(run.seal):
        raise BrokenSeal("the run is sealed already", where="seal.json")
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
        raise BrokenSeal("the seal lacks what a seal must say", where="seal.json") from None


def load_seal(run: RunDirectory) -> Seal:
    """The seal of ``run``."""
    return read_seal(run.read(run.seal, JSON_BYTES))


def mode_text(mode: int) -> str:
    """Permissions as the seal spells them, such as ``0644``."""
    return f"{stat.S_IMODE(mode):04o}"


def _files(entries: list[dict[str, Any]]) -> Iterator[tuple[str, SealedFile]]:
    for entry in entries:
        yield entry["path"], SealedFile(int(entry["bytes"]), str(entry["mode"]), str(entry["sha256"]))


def _sealed(found: Found, information: os.stat_result) -> dict[str, Any]:
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
    """The log on disk must be the one that was written, as far as its length tells."""
    sizes = [entry["bytes"] for entry in files if entry["path"] == "events.jsonl"]
    if sizes != [trace.size]:
        raise BrokenSeal("the log is not as long as what was written to it", where="events.jsonl")


def _sync_directory(found: Found) -> None:
    handle = os.open(found.name, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC, dir_fd=found.handle)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)
