"""A run directory: its paths, how its JSON files are written and read, its lock, and problems found in it.

    manifest.json              identity, written first, never changed
    events.jsonl               the trace
    contract.json              the resolved contract
    workspace/final.patch      what the agent changed, binary-safe
    workspace/changes.json     the same as a list of files with modes and digests
    acceptance/results.json    the outcome of every attempt of every check
    acceptance/logs/           bounded logs
    blobs/<sha256>             larger content, under its digest
    report.json                status, gates, score
    seal.json                  the last act
    attestation.json           a signed statement about all of it, optional
    attestation.tsr            a time stamp on the attestation, if one was requested
    .lock                      held while a process works on the run

Every JSON file is exactly its canonical bytes, without a newline at the end, so that a file has the digest of its
value. Modes are set whatever the umask, because the seal covers them.

The lock is held with ``flock`` from the start of a run to its end and then removed. After a crash the file stays, but
no process holds it: the run was cut off. The lock says nothing about the evidence and is not part of the seal.
"""

from __future__ import annotations

import fcntl
import hashlib
import os
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType
from typing import Any, Self

from proctor.base.canonical import Json, NotJson, canonical, parse_canonical
from proctor.base.errors import BrokenSeal, InfrastructureFault
from proctor.base.files import read_bounded, write_whole
from proctor.record.redact import Redactor
from proctor.record.schema_versions import FILES, check_version

JSON_BYTES = 32 << 20
"""The most that one JSON file of a run directory may hold."""

LOCK_NAME = ".lock"
DIRECTORY_MODE = 0o700
"""Only the owner may read the records of an agent, whatever the umask."""


@dataclass(frozen=True)
class RunDirectory:
    """One run directory; nothing is touched before a method is called.

    A ``redactor`` removes secrets from everything that is written here, except the report and the seal, which are made
    from what was written before.
    """

    path: Path
    redactor: Redactor | None = None

    @property
    def manifest(self) -> Path:
        return self.path / "manifest.json"

    @property
    def events(self) -> Path:
        return self.path / "events.jsonl"

    @property
    def contract(self) -> Path:
        return self.path / "contract.json"

    @property
    def report(self) -> Path:
        return self.path / "report.json"

    @property
    def seal(self) -> Path:
        return self.path / "seal.json"

    @property
    def attestation(self) -> Path:
        return self.path / "attestation.json"

    @property
    def timestamp(self) -> Path:
        return self.path / "attestation.tsr"

    @property
    def patch(self) -> Path:
        return self.path / "workspace" / "final.patch"

    @property
    def changes(self) -> Path:
        return self.path / "workspace" / "changes.json"

    @property
    def results(self) -> Path:
        return self.path / "acceptance" / "results.json"

    @property
    def logs(self) -> Path:
        return self.path / "acceptance" / "logs"

    @property
    def blobs(self) -> Path:
        return self.path / "blobs"

    @property
    def lock(self) -> Path:
        return self.path / LOCK_NAME

    def create(self) -> Self:
        """Make the directory, which must not exist, with its empty parts."""
        self.path.parent.mkdir(parents=True, exist_ok=True)
        try:
            self.path.mkdir()
        except FileExistsError:
            raise InfrastructureFault("a run directory with that name already exists", where=str(self.path)) from None
        os.chmod(self.path, DIRECTORY_MODE)
        for inner in (self.patch.parent, self.results.parent, self.logs, self.blobs):
            inner.mkdir()
            os.chmod(inner, DIRECTORY_MODE)
        return self

    def write_json(self, path: Path, value: Json, *, sync: bool = True) -> None:
        """Write ``value`` in canonical form; without ``sync`` it becomes durable with the seal."""
        if self.redactor is not None and path != self.seal:
            value = self.redactor.value(value)
        data = canonical(value)
        if len(data) > JSON_BYTES:
            raise InfrastructureFault(f"would be larger than {JSON_BYTES} bytes", where=str(path))
        write_whole(path, data, sync=sync)

    def read_json(self, path: Path) -> Any:
        """The value of a JSON file; :class:`BrokenSeal` if it cannot be read or is another record.

        A record that a newer Proctor wrote raises :class:`~proctor.base.errors.NewerSchema`.
        """
        name = self.name(path)
        value = parse_json(self.read(path, JSON_BYTES), name)
        if name in FILES:
            check_version(FILES[name], value, name)
        return value

    def read(self, path: Path, limit_bytes: int) -> bytes:
        """The bytes of a file of this directory, at most ``limit_bytes``; :class:`BrokenSeal` when that cannot be."""
        try:
            return read_bounded(path, limit_bytes)
        except InfrastructureFault as error:
            raise BrokenSeal(error.message, where=self.name(path)) from None
        except OSError as error:
            raise BrokenSeal(f"cannot be read: {error.strerror}", where=self.name(path)) from None

    def write_bytes(self, path: Path, data: bytes, *, cut: bool = False) -> bytes:
        """Write ``data`` without its secrets, and return what was written; it becomes durable with the seal.

        Of a longer text that was ``cut`` off, ``data`` is the beginning.
        """
        shown = data if self.redactor is None else self.redactor.data(data, cut=cut)
        write_whole(path, shown, sync=False)
        return shown

    def write_blob(self, data: bytes, *, cut: bool = False) -> str:
        """Store ``data`` without its secrets under its digest, which is returned; ``cut`` as above."""
        if self.redactor is not None:
            data = self.redactor.data(data, cut=cut)
        digest = hashlib.sha256(data).hexdigest()
        path = self.blobs / digest
        if not path.exists():
            write_whole(path, data, sync=False)
        return digest

    def name(self, path: Path) -> str:
        """``path`` as messages name it: relative to this directory."""
        return str(path.relative_to(self.path)) if path.is_relative_to(self.path) else str(path)


def parse_json(data: bytes, where: str) -> Any:
    """The value of canonical ``data``; :class:`BrokenSeal` names ``where`` otherwise."""
    if not data:
        raise BrokenSeal("is empty", where=where)
    try:
        return parse_canonical(data)
    except NotJson:
        raise BrokenSeal("is not JSON: it was cut off or overwritten", where=where) from None
    except ValueError:
        raise BrokenSeal("is not canonical JSON: Proctor did not write it in this form", where=where) from None


_FLAGS = os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC


class RunLock:
    """The lock of one run, held until :meth:`release`; make it with :meth:`take`."""

    def __init__(self, run: RunDirectory, handle: int) -> None:
        self._run = run
        self._handle = handle

    @classmethod
    def take(cls, run: RunDirectory) -> Self:
        """Hold the lock of a new ``run``."""
        try:
            handle = os.open(run.lock, os.O_RDWR | os.O_CREAT | os.O_EXCL | _FLAGS, 0o644)
        except FileExistsError:
            raise InfrastructureFault(
                "another process works on this run, or was cut while it did",
                where=str(run.path),
                hint="a cut run cannot be continued: start a new one",
            ) from None
        fcntl.flock(handle, fcntl.LOCK_EX)
        return cls(run, handle)

    def release(self) -> None:
        """Remove the lock and release it; calling it twice is fine."""
        if self._handle < 0:
            return
        self._run.lock.unlink(missing_ok=True)
        os.close(self._handle)
        self._handle = -1

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.release()


def is_held(run: RunDirectory) -> bool:
    """Whether a process holds the lock of ``run``."""
    try:
        handle = os.open(run.lock, os.O_RDONLY | _FLAGS)
    except OSError:
        return False
    try:
        fcntl.flock(handle, fcntl.LOCK_SH | fcntl.LOCK_NB)
    except BlockingIOError:
        return True
    except OSError:
        return False
    finally:
        os.close(handle)
    return False


@dataclass(frozen=True)
class Problem:
    """One problem: where (a path in the directory, or ``events.jsonl#n``), what, and which comparison found it.

    ``code`` is empty for problems of a single file or event, and names the comparison if two of them disagree.
    """

    where: str
    message: str
    code: str = ""

    def __str__(self) -> str:
        return f"{self.where}: {self.message}"
