"""What a verification finds wrong: one problem each, with its place and the name of the comparison that found it."""

from __future__ import annotations

from proctor.base.frozen import frozen


@frozen
class Problem:
    """One thing that is wrong: where (a path in the directory, or ``events.jsonl#n``), what, and by which comparison.

    ``code`` is empty for problems of single files and events, and names the comparison where two of them disagree.
    """

    where: str
    message: str
    code: str = ""

    def __str__(self) -> str:
        return f"{self.where}: {self.message}"
