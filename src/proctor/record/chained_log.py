"""An append-only log in which each record covers the one before: for what happens after the seal, and for readings.

    {"hash": "...", "prev": "...", "record": {...}, "seq": n}    one canonical line for each

``hash`` is the SHA-256 of the canonical rest of the line, or its HMAC where the log has a key, so that a line cannot be
added without the key. The first ``prev`` is the log's anchor: the digest of the seal that the records are about, or 64
zeros. A log cannot show that its end was cut off; with a key it has an ``end`` file beside it that says how long it was
and is written after each line, and a log that is shorter than that is refused. The same note can be kept at a second
place, so that a log which is put back from a copy together with its ``end`` is refused as well.

A line that a crash cut off is beyond the noted end, and nothing was done because of it: a log with a key skips it, and
the next record replaces it. Without a key, a crash cannot be distinguished from a cut.

A log that is read again compares the bytes that it knows and checks only the records after them. Where a single byte of
these has changed, or is gone, it knows nothing and checks every record.
"""

from __future__ import annotations

import fcntl
import hmac
import os
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path
from typing import Any

from proctor.base.canonical import canonical, parse_canonical
from proctor.base.errors import BrokenSeal, InfrastructureFault
from proctor.base.files import read_bounded, sync_directory, write_whole

ANCHOR = "0" * 64
LOG_BYTES = 64 << 20
NOTE_BYTES = 4096


@dataclass(frozen=True)
class Entry:
    """One record, its number and its hash."""

    seq: int
    record: Mapping[str, Any]
    hash: str


@contextmanager
def exclusive_lock(directory: Path, *, wait: bool = True) -> Iterator[None]:
    """Exclusive write access to the logs in ``directory``; without ``wait`` an error if another process has it."""
    handle = os.open(directory, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        fcntl.flock(handle, fcntl.LOCK_EX if wait else fcntl.LOCK_EX | fcntl.LOCK_NB)
        yield
    finally:
        os.close(handle)


class ChainedLog:
    """A log at ``path``; nothing is touched before a method is called. ``second`` is where its end is noted, too."""

    def __init__(self, path: Path, *, anchor: str = ANCHOR, key: bytes = b"", second: Path | None = None) -> None:
        self.path = path
        self._anchor = anchor
        self._key = key
        self._ends = (path.with_name(path.name + ".end"), *((second,) if second else ())) if key else ()
        self._known: tuple[bytes, list[Entry]] = (b"", [])

    def read(self) -> list[Entry]:
        """Every record; :class:`BrokenSeal` names the first that is not valid."""
        return self._read()[0]

    def _read(self) -> tuple[list[Entry], int]:
        """Every record, and how many bytes they take: what follows was cut off by a crash."""
        notes = [self._note(path) for path in self._ends]  # first, or a record may come in between
        data = self._data()
        whole = data.rfind(b"\n") + 1 if self._key else len(data)
        entries = self._checked(data[:whole])
        if self._key and entries and notes[0] is None:
            raise BrokenSeal("the note of the log's length was removed", where=self._ends[0].name)
        for count, head in filter(None, notes):
            self._check(entries, count, head)
        return entries, whole

    def _checked(self, data: bytes) -> list[Entry]:
        """Every record of ``data``; records that were checked before are valid while their bytes are unchanged."""
        known, checked = self._known
        entries, start = (list(checked), len(known)) if data.startswith(known) else ([], 0)
        for line in data[start:].splitlines(keepends=True):
            entries.append(self._entry(line, len(entries), entries[-1].hash if entries else self._anchor))
        self._known = (data, entries)
        return list(entries)

    def _data(self) -> bytes:
        try:
            return read_bounded(self.path, LOG_BYTES)
        except FileNotFoundError:
            return b""
        except (OSError, InfrastructureFault) as error:
            why = error.strerror if isinstance(error, OSError) else error.message
            raise BrokenSeal(f"the log cannot be read: {why}", where=self.path.name) from None

    def append(self, record: Mapping[str, Any]) -> Entry:
        """Add one record and make it durable."""
        return self.decide(lambda entries: record)

    def decide(self, decide: Callable[[list[Entry]], Mapping[str, Any]]) -> Entry:
        """Add the record that ``decide`` makes from those before it; no other process can write in between."""
        with exclusive_lock(self.path.parent):
            entries, size = self._read()
            record = decide(entries)
            seq, prev = len(entries), entries[-1].hash if entries else self._anchor
            body = {"prev": prev, "record": dict(record), "seq": seq}
            hash_text = self._hash(canonical(body))
            line = canonical({**body, "hash": hash_text}) + b"\n"
            new = not self.path.exists()
            self._add(line, size)
            if new:
                sync_directory(self.path.parent)
            self._write_ends(seq + 1, hash_text)
        return Entry(seq, record, hash_text)

    def _add(self, line: bytes, size: int) -> None:
        """Write ``line`` after the first ``size`` bytes: all of it, or nothing if the disk is full."""
        handle = os.open(self.path, os.O_WRONLY | os.O_CREAT | os.O_APPEND | os.O_NOFOLLOW | os.O_CLOEXEC, 0o644)
        try:
            if os.fstat(handle).st_size > size:
                os.ftruncate(handle, size)
            if os.write(handle, line) != len(line):
                os.ftruncate(handle, size)
                raise InfrastructureFault("there is no space for another record", where=str(self.path))
            os.fsync(handle)
        except OSError as error:
            raise InfrastructureFault(f"cannot be written: {error.strerror}", where=str(self.path)) from None
        finally:
            os.close(handle)

    def _entry(self, line: bytes, seq: int, prev: str) -> Entry:
        where = f"{self.path.name}#{seq}"
        try:
            if not line.endswith(b"\n"):
                raise ValueError("it was cut off")
            value = parse_canonical(line[:-1])
            claimed = value.pop("hash")
            record = value["record"]
            if value != {"prev": prev, "record": record, "seq": seq} or not isinstance(record, dict):
                raise ValueError("it does not follow from the one before")
            if not hmac.compare_digest(str(claimed), self._hash(canonical(value))):
                raise ValueError("its hash does not match")
        except (ValueError, KeyError, TypeError, AttributeError) as error:
            raise BrokenSeal(f"the record is not valid: {error}", where=where) from None
        return Entry(seq, record, str(claimed))

    def _hash(self, body: bytes) -> str:
        return (hmac.new(self._key, body, "sha256") if self._key else sha256(body)).hexdigest()

    def _write_ends(self, count: int, head: str) -> None:
        value = {"count": count, "head": head}
        note = canonical({**value, "mac": self._hash(canonical(value))})
        for path in self._ends:
            write_whole(path, note, mode=0o600)

    def _note(self, path: Path) -> tuple[int, str] | None:
        """How many records are noted at ``path``, and the hash of the last; none if there is no note.

        The caller decides whether a second note is required.
        """
        try:
            value = parse_canonical(read_bounded(path, NOTE_BYTES))
            mac, count, head = value.pop("mac"), int(value["count"]), str(value["head"])
            if hmac.compare_digest(str(mac), self._hash(canonical(value))):
                return count, head
        except FileNotFoundError:
            return None
        except (OSError, ValueError, KeyError, TypeError, AttributeError, InfrastructureFault):
            pass
        raise BrokenSeal("the note of the log's length is not valid", where=path.name)

    def _check(self, entries: list[Entry], count: int, head: str) -> None:
        """Only a record that was written just before a crash may be beyond the end that was noted."""
        if count > len(entries):
            raise BrokenSeal(f"the log was cut: it had {count} records and has {len(entries)}", where=self.path.name)
        if count and entries[count - 1].hash != head:
            raise BrokenSeal("the record is not the one that was noted", where=f"{self.path.name}#{count - 1}")
