"""One answer of a scripted model, as data."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True)
class Wanted:
    """A call of a named tool, with its arguments as JSON."""

    tool: str
    arguments: str


@dataclass(frozen=True)
class Trouble:
    """An error that a provider would answer with."""

    status: int
    message: str
    retry_after: int | None = None


@dataclass(frozen=True)
class Turn:
    """One answer; ``usage`` is None for counts of our own, and empty to leave them out.

    With ``is_cut`` it ends as if it had reached the output limit of its request.
    """

    conditions: tuple[tuple[str, Any], ...] = ()
    say: str = ""
    think: str = ""
    shell: str = ""
    calls: tuple[Wanted, ...] = ()
    usage: tuple[int, ...] | None = None
    error: Trouble | None = None
    pause_seconds: float = 0
    fault: str = ""
    is_cut: bool = False
