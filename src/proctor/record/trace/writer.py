"""The one writer of a trace.

An event whose ``append`` has returned is in the kernel, in one write, so it is not lost if the harness crashes; after
``sync`` has returned it is on the disk. Numbers follow each other, times rise strictly
(the wall clock when the trace was made, plus steady time since, and at least one nanosecond more than the last), and
each hash covers the one before. A write that fails, or an event that is too large, is a fault that leaves the file
unchanged. All methods are thread-safe.

A failed sync is final: the kernel may have dropped the pages, and a later sync that succeeds would prove nothing.
"""

from __future__ import annotations

import os
import threading
from collections.abc import Callable, Mapping
from hashlib import sha256
from pathlib import Path
from types import TracebackType
from typing import Any, Self

from proctor.base.clock import Clock, Entropy
from proctor.base.errors import InfrastructureFault
from proctor.base.files import sync_directory
from proctor.record.trace.event import (
    EVENT_BYTES,
    GENESIS,
    SALT_BYTES,
    Event,
    assemble_line,
    header_bytes,
    payload_bytes,
    payload_digest,
)
from proctor.record.trace.event_types import check_event
from proctor.record.trace.merkle import Frontier

_SALTS_AT_ONCE = 256


class TraceWriter:
    """An open trace; make it with :meth:`create`."""

    def __init__(self, path: Path, handle: int, clock: Clock, entropy: Entropy) -> None:
        self.path = path
        self._handle = handle
        self._clock = clock
        self._entropy = entropy
        self._anchor = clock.wall_ns() - clock.steady_ns()
        self._lock = threading.Lock()
        self._count = 0
        self._head = GENESIS
        self._time = -1
        self._size = 0
        self._tree = Frontier()
        self._salts = b""
        self._salts_used = 0
        self._problem = ""
        self._flushing = threading.Condition()
        self._flusher = False
        self._synced = -1
        self.redact: Callable[[Any], Any] | None = None
        """Takes secrets out of payloads, before anything is hashed."""

    @classmethod
    def create(cls, path: Path, clock: Clock, entropy: Entropy) -> Self:
        """Begin a new trace at ``path``, which must not exist."""
        flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_APPEND | os.O_NOFOLLOW | os.O_CLOEXEC
        handle = os.open(path, flags, 0o644)
        os.fchmod(handle, 0o644)
        return cls(path, handle, clock, entropy)

    @property
    def count(self) -> int:
        """How many events there are."""
        return self._count

    @property
    def head(self) -> str:
        """The hash of the last event."""
        return self._head

    @property
    def size(self) -> int:
        """How many bytes the log holds."""
        return self._size

    def root(self) -> str:
        """The Merkle root over the headers of all events so far."""
        with self._lock:
            return self._tree.root().hex()

    def append(self, type: str, payload: Mapping[str, Any], actor: str | None = None) -> Event:  # noqa: A002
        """Write one event; the actor is the type's own unless another is named."""
        who = check_event(type, payload, actor)
        if self.redact is not None:
            payload = self.redact(payload)
        body = payload_bytes(payload)
        with self._lock:
            seq = self._count
            time = max(self._anchor + self._clock.steady_ns(), self._time + 1)
            t = str(time)
            salt = self._salt()
            salt_text = salt.hex()
            header = header_bytes(who, payload_digest(salt, body), self._head, seq, t, type)
            hash_text = sha256(header).hexdigest()
            self._write(assemble_line(who, hash_text, body, salt_text, seq, t, type))
            self._tree.add(header)
            self._head, self._time, self._count = hash_text, time, seq + 1
        return Event(seq, t, type, who, payload, salt_text, hash_text)

    def sync(self) -> None:
        """Return when every event appended before the call is on the disk. Callers at the same time share one sync."""
        wanted = self._count
        with self._flushing:
            while self._flusher and self._synced < wanted:
                self._flushing.wait()
            if self._synced >= wanted:
                return
            self._flusher = True
        covered, first = self._count, self._synced < 0
        try:
            self._flush(first)
        finally:
            with self._flushing:
                if not self._problem:
                    self._synced = covered
                self._flusher = False
                self._flushing.notify_all()

    def close(self) -> None:
        """Sync and close; calling it twice is fine."""
        if self._handle < 0:
            return
        try:
            self.sync()
        finally:
            with self._lock, self._flushing:
                if self._handle >= 0:
                    os.close(self._handle)
                self._handle = -1
                self._problem = self._problem or "the trace is closed"

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def _salt(self) -> bytes:
        start = self._salts_used
        if start == len(self._salts):
            self._salts = self._entropy(SALT_BYTES * _SALTS_AT_ONCE)
            start = 0
        self._salts_used = start + SALT_BYTES
        return self._salts[start : self._salts_used]

    def _write(self, line: bytes) -> None:
        """Add ``line`` to the file, or leave the file as it was."""
        if self._problem:
            raise InfrastructureFault(self._problem, where=str(self.path))
        if len(line) > EVENT_BYTES:
            raise InfrastructureFault(
                f"an event of {len(line)} bytes is larger than {EVENT_BYTES}", where=str(self.path)
            )
        try:
            written = os.write(self._handle, line)
            while written < len(line):
                written += os.write(self._handle, line[written:])
        except OSError as error:
            self._take_back()
            raise InfrastructureFault(f"cannot write an event: {error.strerror}", where=str(self.path)) from None
        self._size += len(line)

    def _take_back(self) -> None:
        """Cut off what a failed write has left, so that the next event starts on its own line."""
        try:
            os.ftruncate(self._handle, self._size)
        except OSError as error:
            self._problem = f"an incomplete event could not be removed: {error.strerror}"

    def _flush(self, first: bool) -> None:
        if self._problem:
            raise InfrastructureFault(self._problem, where=str(self.path))
        try:
            getattr(os, "fdatasync", os.fsync)(self._handle)
            if first:
                sync_directory(self.path.parent)
        except OSError as error:
            self._problem = f"events could not be synced: {error.strerror}"
            raise InfrastructureFault(self._problem, where=str(self.path)) from None
