"""The events that the network of a run records: exchanges, DNS lookups, and a summary at the end.

All text in an event is printable ASCII and bounded. The recorder takes events from all threads, records them in one
order, and counts and bounds them. When recording fails, the network passes nothing more.
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

TEXT_CHARACTERS = 2000


@dataclass(frozen=True)
class Content:
    """The bytes of one direction: their digest (bare hex) and how many they were."""

    sha256: str
    size: int

    def payload(self) -> dict[str, Any]:
        return {"sha256": self.sha256, "bytes": self.size}


@dataclass(frozen=True)
class Exchange:
    """One request and its result.

    ``allowed`` is false if policy, the cassette or a bound refused it, and ``reason`` then says which. A tunnel is
    reported when it opens and again when it has ended, with the bytes that passed. ``status`` is the status that the
    sandbox got, 0 if it was cut off. ``canaries`` names the planted secrets that the request carried, also one that was
    refused.
    """

    host: str
    port: int
    method: str
    path: str
    status: int
    request: Content | None = None
    response: Content | None = None
    replayed: bool = False
    allowed: bool = True
    reason: str = ""
    canaries: tuple[str, ...] = ()

    event = "network.exchange"

    def payload(self) -> dict[str, Any]:
        return {
            "host": shown(self.host),
            "port": self.port,
            "method": shown(self.method),
            "path": shown(self.path),
            "status": self.status,
            "request": self.request.payload() if self.request else None,
            "response": self.response.payload() if self.response else None,
            "replayed": self.replayed,
            "allowed": self.allowed,
            "reason": shown(self.reason),
            "canaries": list(self.canaries),
        }


@dataclass(frozen=True)
class Lookup:
    """A name that was looked up, ``count`` times since the last report; ``allowed`` if it was answered."""

    name: str
    kind: str
    allowed: bool
    count: int = 1

    event = "guard.attempt"

    def payload(self) -> dict[str, Any]:
        """In the form of the guard's observations of names, without a process: the name server does not know it."""
        return {
            "code": "dns",
            "syscall": "",
            "pid": 0,
            "argv": [],
            "detail": shown(self.name),
            "path": "",
            "address": "127.0.0.1:53",
            "allowed": self.allowed,
            "errno": "",
            "count": self.count,
            "kind": self.kind,
        }


NetworkEvent = Exchange | Lookup
RecordNetworkEvent = Callable[[NetworkEvent], None]
FindCanaries = Callable[[bytes], tuple[str, ...]]
"""Names the planted secrets that turn up in some bytes."""


def nothing_planted(data: bytes) -> tuple[str, ...]:
    """For a network whose run has no planted secrets."""
    return ()


@dataclass(frozen=True)
class Summary:
    """The summary of a run's network.

    ``replayable`` is whether the same answers can be given again, and ``why`` lists the reasons if not. ``cassette``
    and ``sha256`` (bare hex) are those of the tape that was recorded or played.
    """

    mode: str
    passed: int
    refused: int
    lookups: int
    replayable: bool
    why: tuple[str, ...] = ()
    cassette: Path | None = None
    sha256: str = ""
    unplayed: int = 0

    def payload(self) -> dict[str, Any]:
        return {
            "mode": self.mode,
            "passed": self.passed,
            "refused": self.refused,
            "lookups": self.lookups,
            "replayable": self.replayable,
            "why": list(self.why),
            "cassette": self.sha256,
            "unplayed": self.unplayed,
        }


@dataclass(frozen=True)
class Bounds:
    """The most that the network of one run may take. Policy choices, all of them."""

    connections: int = 32
    exchanges: int = 20_000
    names: int = 2_000
    head_bytes: int = 64 << 10
    request_bytes: int = 16 << 20
    response_bytes: int = 1 << 30
    tunnel_bytes: int = 1 << 30
    total_bytes: int = 16 << 30
    tape_bytes: int = 46 << 20
    """The bodies of a cassette; as text they take a third more, and a contract takes cassettes of 64 MiB."""
    client_seconds: float = 3600
    """Long, because a sandbox may be frozen in the middle of an exchange until a human has decided."""
    connect_seconds: float = 30
    upstream_seconds: float = 120
    exchange_seconds: float = 3600
    close_seconds: float = 60


def shown(text: str) -> str:
    """``text`` for a record: printable ASCII, bounded."""
    plain = text[:TEXT_CHARACTERS]
    return "".join(letter if " " <= letter <= "~" else "?" for letter in plain)


class NetworkEventRecorder:
    """Passes events on, one at a time."""

    def __init__(self, notify: RecordNetworkEvent, bounds: Bounds) -> None:
        self._notify = notify
        self._bounds = bounds
        self._bytes = 0
        self._turn = threading.Lock()
        self._unreported = 0
        self.passed = 0
        self.refused = 0
        self.problem: BaseException | None = None

    @property
    def full(self) -> bool:
        """Whether no more exchanges are allowed, because they could not be recorded or were too many or too large."""
        return self.problem is not None or self._is_over() or self._bytes >= self._bounds.total_bytes

    def __call__(self, event: NetworkEvent) -> None:
        with self._turn:
            if self._is_counted_only(event):
                return
            try:
                self._notify(event)
            except BaseException as error:
                self.problem = error
                raise

    def close(self) -> None:
        """Report how many exchanges were refused because there were too many."""
        with self._turn:
            count, self._unreported = self._unreported, 0
        if count and self.problem is None:
            self._notify(Exchange("", 0, "", "", 503, allowed=False, reason=f"{count} more than the network's limit"))

    def _is_counted_only(self, event: NetworkEvent) -> bool:
        if isinstance(event, Lookup):
            return False
        over = self._is_over()
        self._bytes += sum(content.size for content in (event.request, event.response) if content is not None)
        if event.allowed:
            self.passed += not event.reason.startswith("ended")
            return False
        self.refused += 1
        self._unreported += over
        return over

    def _is_over(self) -> bool:
        return self.passed + self.refused >= self._bounds.exchanges
