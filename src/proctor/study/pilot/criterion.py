"""One thing that must hold in a pilot, as its records tell it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from proctor.base.fields import items


@dataclass(frozen=True)
class Criterion:
    """One thing that must hold: what it is, what was found and asked for, what shows it, and what to do about it.

    ``open`` is that it is not met only because something was not tried yet.
    """

    id: str
    words: str
    value: str
    threshold: str
    met: bool
    evidence: tuple[str, ...] = ()
    todo: str = ""
    open: bool = False

    def record(self) -> dict[str, Any]:
        """The criterion as data."""
        told = {name: value for name, value in items(self) if name != "open"}
        return {**told, "evidence": list(self.evidence)}
