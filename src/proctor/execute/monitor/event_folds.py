"""Folds over events that depend on no other fold.

The agent's own time, the state of the tree, the available checkpoints. Pure.
"""

from __future__ import annotations

from collections.abc import Mapping
from hashlib import sha256
from typing import Any

from proctor.execute.monitor.payload_values import inner, integer, moment_ns, text, text_list
from proctor.record.trace.event import Event


class AgentClock:
    """How long the agent has been acting, up to the last event that was seen."""

    def __init__(self) -> None:
        self.running = False
        self.active_ns = 0
        self.paused_ns = 0
        self.waited_ns = 0
        """How long the provider of the model was silent."""
        self._last = 0
        self._asked = False
        self._held = False
        self._outside = False
        self._waits = False
        self._rested = False

    @property
    def paused(self) -> bool:
        """Whether the run is paused at this moment."""
        return self._asked or self._held or self._outside

    def see(self, event: Event) -> None:
        """Let time pass up to ``event``, then take in what it says."""
        now = max(moment_ns(event.t), self._last)
        if self.running and not self._rested:
            if self.paused:
                self.paused_ns += now - self._last
            elif self._waits:
                self.waited_ns += now - self._last
            else:
                self.active_ns += now - self._last
        self._last = now
        kind = event.type
        if kind == "agent.started":
            self.running = True
            self._rested = False
        elif kind == "agent.rested":
            self._rested = True
        elif kind == "agent.finished":
            self.running = self._asked = self._held = self._outside = self._waits = False
        elif kind == "model.silent":
            self._waits = True
        elif kind == "model.heard":
            self._waits = False
        elif kind == "sandbox.paused":
            self._outside = True
        elif kind == "sandbox.resumed":
            self._outside = False
        elif kind == "operator.asked":
            self._asked = True
        elif kind == "operator.decided":
            self._asked = False
        elif kind == "intervention":
            action = text(event.payload, "action")
            if action == "pause":
                self._held = True
            elif action == "resume":
                self._held = False


LITTER = frozenset(
    {
        "__pycache__",
        ".pytest_cache",
        ".mypy_cache",
        ".ruff_cache",
        ".hypothesis",
        ".tox",
        ".nox",
        ".venv",
        ".cache",
        ".coverage",
        ".nyc_output",
        "node_modules",
        ".gradle",
        ".git",
    }
)
"""Names that exclude a path from the state, at any position."""

COMPILED = (".pyc", ".pyo")
LITTER_ENDINGS = (*COMPILED, ".egg-info", "~", ".swp")
_FIELD = 1 << 256


def is_litter(path: str) -> bool:
    """Whether ``path`` is a by-product of tools."""
    parts = path.split("/")
    return any(part in LITTER or part.endswith(LITTER_ENDINGS) for part in parts)


def is_compiled(path: str) -> bool:
    """Whether ``path`` is where an interpreter keeps what it has compiled."""
    return path.endswith(COMPILED) or "__pycache__" in path.split("/")


class TreeState:
    """What the workspace differs in from its base."""

    def __init__(self) -> None:
        self.changes = 0
        self._base: dict[str, str] = {}
        self._now: dict[str, str] = {}
        self._sum = 0

    @property
    def digest(self) -> str:
        """Names the state; all zeros when nothing differs from the base."""
        return f"{self._sum:064x}"

    @property
    def pristine(self) -> bool:
        """Whether the tree is as it was at the start."""
        return not self._now

    def see(self, event: Event) -> bool:
        """Take in one event, and say whether the state is another one now."""
        if event.type != "workspace.mutation":
            return False
        path = text(event.payload, "path")
        if is_litter(path):
            return False
        before, after = _identity(event.payload, "before"), _identity(event.payload, "after")
        base = self._base.setdefault(path, before)
        old = self._now.get(path, base)
        if after == old:
            return False
        if old != base:
            self._sum -= _weight(path, old)
            del self._now[path]
        if after != base:
            self._sum += _weight(path, after)
            self._now[path] = after
        self._sum %= _FIELD
        self.changes += 1
        return True


def _identity(payload: Mapping[str, Any], key: str) -> str:
    """The state of a file, in one text; empty if there is none."""
    if payload.get(key) is None:
        return ""
    entry = inner(payload, key)
    mode = entry.get("mode")
    return f"{mode if isinstance(mode, (str, int)) else ''} {text(entry, 'sha256')} {integer(entry, 'bytes')}"


def _weight(path: str, identity: str) -> int:
    return int.from_bytes(sha256(f"{path}\0{identity}".encode("utf-8", "surrogatepass")).digest(), "big")


class AvailableCheckpoints:
    """The checkpoints that still exist, with the numbers of their events."""

    def __init__(self) -> None:
        self._taken: dict[str, int] = {}

    @property
    def ids(self) -> tuple[str, ...]:
        """Their ids, in the order in which they were taken."""
        return tuple(self._taken)

    def see(self, event: Event) -> None:
        """Take in one event."""
        if event.type != "workspace.checkpoint":
            return
        for gone in text_list(event.payload, "dropped"):
            self._taken.pop(gone, None)
        name = text(event.payload, "id")
        if name:
            self._taken[name] = event.seq

    def before(self, seq: int) -> str:
        """The last one that was taken before the event ``seq``, else the first of all; empty if there is none."""
        earlier = [name for name, taken in self._taken.items() if taken < seq]
        return earlier[-1] if earlier else next(iter(self._taken), "")
