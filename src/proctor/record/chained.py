"""An append-only log in which each record covers the one before: for what happens after the seal, and for readings.

    {"hash": "...", "prev": "...", "record": {...}, "seq": n}    one canonical line for each

``hash`` is the SHA-256 of the canonical rest of the line, or its HMAC where the log has a key, so that nobody without
the key can add a line. The first ``prev`` is the log's anchor: the digest of the seal that the records are about, or 64
zeros. A log cannot show that its end was cut off; with a key it has an ``end`` file beside it that says how long it was
and is written after each line, and a log that is shorter than that is refused.
"""

from __future__ import annotations

import fcntl
import hmac
import os
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from hashlib import sha256
from pathlib import Path
from typing import Any

from proctor.base.canonical import canonical, parse_canonical
from proctor.base.errors import BrokenSeal
from proctor.base.files import read_bounded, sync_directory, write_whole
from proctor.base.frozen import frozen

ANCHOR = "0" * 64
LOG_BYTES = 64 << 20


@frozen
class Entry:
    """One record, its number and its hash."""

    seq: int
    record: Mapping[str, Any]
    hash: str


class ChainedLog:
    """A log at ``path``; nothing is touched before a method is called."""

    def __init__(self, path: Path, *, anchor: str = ANCHOR, key: bytes = b"") -> None:
        self.path = path
        self._anchor = anchor
        self._key = key

    @property
    def _end(self) -> Path:
        return self.path.with_name(self.path.name + ".end")

    def read(self) -> list[Entry]:
        """Every record; :class:`BrokenSeal` names the first that does not hold."""
        try:
            data = read_bounded(self.path, LOG_BYTES)
        except FileNotFoundError:
            data = b""
        entries: list[Entry] = []
        for line in data.splitlines(keepends=True):
            entries.append(self._entry(line, len(entries), entries[-1].hash if entries else self._anchor))
        if self._key:
            self._check_end(entries)
        return entries

    def append(self, record: Mapping[str, Any]) -> Entry:
        """Add one record and make it durable."""
        return self.decide(lambda entries: record)

    def decide(self, decide: Callable[[list[Entry]], Mapping[str, Any]]) -> Entry:
        """Add the record that ``decide`` makes of those before it; nobody writes in between."""
        with self._locked():
            entries = self.read()
            record = decide(entries)
            seq, prev = len(entries), entries[-1].hash if entries else self._anchor
            body = {"prev": prev, "record": dict(record), "seq": seq}
            hash_text = self._hash(canonical(body))
            line = canonical({**body, "hash": hash_text}) + b"\n"
            new = not self.path.exists()
            handle = os.open(self.path, os.O_WRONLY | os.O_CREAT | os.O_APPEND | os.O_NOFOLLOW | os.O_CLOEXEC, 0o644)
            try:
                os.write(handle, line)
                os.fsync(handle)
            finally:
                os.close(handle)
            if new:
                sync_directory(self.path.parent)
            if self._key:
                self._write_end(seq + 1, hash_text)
        return Entry(seq, record, hash_text)

    @contextmanager
    def _locked(self) -> Iterator[None]:
        """Alone among those who write to the log."""
        handle = os.open(self.path.parent, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
        try:
            fcntl.flock(handle, fcntl.LOCK_EX)
            yield
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
            raise BrokenSeal(f"the record does not hold: {error}", where=where) from None
        return Entry(seq, record, str(claimed))

    def _hash(self, body: bytes) -> str:
        return (hmac.new(self._key, body, "sha256") if self._key else sha256(body)).hexdigest()

    def _write_end(self, count: int, head: str) -> None:
        value = {"count": count, "head": head}
        write_whole(self._end, canonical({**value, "mac": self._hash(canonical(value))}), mode=0o600)

    def _check_end(self, entries: list[Entry]) -> None:
        """A record that was written just before a crash may stand beyond the end that was noted, and no other way."""
        try:
            value = parse_canonical(read_bounded(self._end, 4096))
            mac, count, head = value.pop("mac"), int(value["count"]), value["head"]
            noted = hmac.compare_digest(str(mac), self._hash(canonical(value)))
        except FileNotFoundError:
            if not entries:
                return
            raise BrokenSeal("the note of how long the log is was taken away", where=self._end.name) from None
        except (ValueError, KeyError, TypeError, AttributeError):
            noted, count, head = False, 0, ""
        if not noted:
            raise BrokenSeal("the note of how long the log is does not hold", where=self._end.name)
        if count > len(entries) or (count and entries[count - 1].hash != head):
            raise BrokenSeal(f"the log was cut: it had {count} records and has {len(entries)}", where=self.path.name)
