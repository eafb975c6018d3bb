"""The state of the workspace, folded from ``workspace.mutation`` events.

Two moments have the same :attr:`~TreeState.digest` when the same paths differ from the base in the same way, however
the tree came there; a tree that is back at its base is pristine again. What tools leave behind by themselves (caches,
compiled files, installed packages) is no state: running the tests twice does not change the tree.
"""

from __future__ import annotations

from collections.abc import Mapping
from hashlib import sha256
from typing import Any

from proctor.execute.watch.readings import inner, integer, text
from proctor.record.trace.event import Event

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
"""Names that make a path no part of the state, wherever they stand in it."""

COMPILED = (".pyc", ".pyo")
LITTER_ENDINGS = (*COMPILED, ".egg-info", "~", ".swp")
_FIELD = 1 << 256


def is_litter(path: str) -> bool:
    """Whether ``path`` is something that tools leave behind by themselves."""
    parts = path.split("/")
    return any(part in LITTER or part.endswith(LITTER_ENDINGS) for part in parts)


def is_compiled(path: str) -> bool:
    """Whether ``path`` is where an interpreter keeps what it has compiled."""
    return path.endswith(COMPILED) or "__pycache__" in path.split("/")


class TreeState:
    """What the workspace differs in from its base."""

    def __init__(self) -> None:
        self.changes = 0
        self.changed_at: int | None = None
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
        self.changed_at = event.seq
        return True


def _identity(payload: Mapping[str, Any], key: str) -> str:
    """What a file is, in one text; empty when there is none."""
    if payload.get(key) is None:
        return ""
    entry = inner(payload, key)
    mode = entry.get("mode")
    return f"{mode if isinstance(mode, (str, int)) else ''} {text(entry, 'sha256')} {integer(entry, 'bytes')}"


def _weight(path: str, identity: str) -> int:
    return int.from_bytes(sha256(f"{path}\0{identity}".encode("utf-8", "surrogatepass")).digest(), "big")
