"""What became of each imported task: the record that ``import.jsonl`` has one line of, and the reasons in it.

A task is written or refused. A refusal has one code; a loss is something of the task that the contract does not have.
Codes have their sentences on the floor ``present``.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, Any

from proctor.base.canonical import canonical
from proctor.base.json_records import to_json

KIND, SCHEMA = "proctor.import", 1
REPORT_NAME = "import.jsonl"
MAX_DETAIL = 300
MAX_LOSSES = 100

REFUSALS = frozenset(
    {
        "ambiguous-id",
        "bad-contract",
        "bad-patch",
        "bad-record",
        "cut-id",
        "exists",
        "language",
        "needs-network",
        "no-commit",
        "no-environment",
        "no-image",
        "no-repository",
        "no-tests",
        "no-tests-that-fail",
        "not-here",
        "outside-the-tree",
        "reversed",
        "runner",
        "sidecars",
        "steps",
        "unknown-id",
        "unproven",
    }
)
LOSSES = frozenset(
    {
        "artifacts",
        "assets",
        "build",
        "build-products",
        "cut-ids",
        "field",
        "free-steering",
        "healthcheck",
        "hints",
        "image-tag",
        "log-parser",
        "needs-lock",
        "network",
        "no-reference",
        "preamble",
        "removed-tests",
        "resources",
        "runner-replaced",
        "test-option",
        "unknown-ids",
        "user",
        "weak-check",
    }
)


class Refused(Exception):
    """A task that cannot become a contract here, with its code and the detail."""

    def __init__(self, code: str, detail: str = "") -> None:
        assert code in REFUSALS, code
        super().__init__(code)
        self.code, self.detail = code, detail


@dataclass(frozen=True, kw_only=True)
class Loss:
    """Something of a task that its contract does not have."""

    code: Annotated[str, "What kind of loss it is."]
    detail: Annotated[str, "The field, the ids or the command."] = ""


@dataclass(frozen=True, kw_only=True)
class ImportedTask:
    """One task that was to be imported."""

    format: Annotated[str, "The format of the task: swebench or harbor."]
    task: Annotated[str, "The id of the task."]
    source: Annotated[str, "The file, with the line or the row, or the folder."]
    status: Annotated[str, "written or refused."]
    contract: Annotated[str, "The directory of the contract; empty if it was refused."] = ""
    reason: Annotated[str, "Why the task was refused."] = ""
    detail: Annotated[str, "What exactly, in the words of the task or of the loader."] = ""
    losses: Annotated[tuple[Loss, ...], "What the contract does not have."] = ()
    proven: Annotated[bool, "Whether the base was refused and the reference accepted here."] = False
    cut_ids: Annotated[tuple[str, ...], "Ids that were cut off, and that the contract does not have."] = ()

    def record(self) -> dict[str, Any]:
        """The line of the report."""
        return {"kind": KIND, "schema": SCHEMA, **to_json(self)}

    def line(self) -> bytes:
        """The line of the report in canonical form."""
        return canonical(self.record()) + b"\n"


class Losses:
    """Collects the losses of one task; bounded, because ids and fields come from strangers."""

    def __init__(self) -> None:
        self._found: list[Loss] = []

    def add(self, code: str, detail: str = "") -> None:
        """Note a loss once."""
        assert code in LOSSES, code
        loss = Loss(code=code, detail=shown(detail))
        if loss not in self._found and len(self._found) < MAX_LOSSES:
            self._found.append(loss)

    def all(self) -> tuple[Loss, ...]:
        """What was noted, in its order."""
        return tuple(self._found)


def shown(text: str) -> str:
    """A text of a stranger for records and messages: one line, printable, bounded, valid Unicode."""
    line = "".join(sign if sign.isprintable() else " " for sign in text[: 2 * MAX_DETAIL])
    line = " ".join(line.split())
    return line if len(line) <= MAX_DETAIL else line[: MAX_DETAIL - 3] + "..."


def listed(names: list[str] | tuple[str, ...], most: int = 5) -> str:
    """The first names, and how many more there are."""
    more = f" and {len(names) - most} more" if len(names) > most else ""
    return shown(", ".join(names[:most]))[: MAX_DETAIL - 20] + more
