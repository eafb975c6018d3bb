"""What a search found in an input or an image, as data to store and as a sentence for the author of a contract."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from proctor.base.dataclass_fields import field_items, field_names

BY_NAME, BY_FILES, UNREAD = "name", "files", "unread"
HISTORY = "history"
TEST, SOLUTION, LINK = "test", "solution", "link"
"""What only images are searched for: hidden tests, the solution, and links or files where a sandbox mounts."""


@dataclass(frozen=True)
class Finding:
    """One copy of the project under test, one answer to the task, or one part that could not be searched.

    ``reason`` is one of those above. ``place`` is the path to it, from the input's file on. ``is_other`` says
    whether the copy may differ from the repository, or the part that was not searched may contain such a copy: then the
    contract is refused. ``files`` and ``lines`` count what is alike; ``example`` is a file that differs, or else one
    that is alike. ``detail`` says why a copy of the same version is refused, and why something was not searched.
    """

    reason: str
    place: str
    is_other: bool
    package: str = ""
    version: str = ""
    expected: str = ""
    files: int = 0
    lines: int = 0
    percent: int = 0
    example: str = ""
    detail: str = ""

    def sentence(self) -> str:
        """What was found and where."""
        if self.reason == UNREAD:
            return f"{self.place} cannot be searched for the project under test: {self.detail}"
        if self.reason == HISTORY:
            return f"{self.place} holds git history: {self.detail}"
        if self.reason == LINK:
            kind = f"a link to {self.detail}" if self.detail else "a file"
            return f"{self.place} is {kind}, where every sandbox mounts a directory of its own"
        if self.reason in (TEST, SOLUTION):
            kind = "the hidden test" if self.reason == TEST else "the solution of"
            return f"{self.place} contains {kind} {self.example} ({self.lines} of its new lines)"
        if self.reason == BY_NAME:
            found, expected = self.version or "of an unknown version", self.expected or "of an unknown version"
            text = f"{self.place} is the project under test: {self.package} {found}, and the repository is {expected}"
            return text + (f"; {self.detail}" if self.detail else "")
        kind = "nearly equal to" if self.is_other else "equal to"
        count = "1 source file" if self.files == 1 else f"{self.files} source files"
        text = f"{self.place} holds {count} {kind} the repository's ({self.lines} lines, {self.percent}%)"
        return text + (f", such as {self.example}" if self.example else "")

    def record(self) -> dict[str, Any]:
        """The finding as plain data."""
        return dict(field_items(self))


def read_finding(data: Mapping[str, Any]) -> Finding:
    """The finding that was recorded as ``data``; ``ValueError`` or ``TypeError`` if ``data`` is not a finding."""
    made = Finding(**data)
    for name in field_names(Finding):
        wanted = {"str": str, "int": int, "bool": bool}[Finding.__annotations__[name]]
        if type(getattr(made, name)) is not wanted:
            raise ValueError(name)
    return made
