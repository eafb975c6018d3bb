"""Problems that a verification finds, with their place and the name of the comparison that found them."""

from __future__ import annotations

from dataclasses import dataclass


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
