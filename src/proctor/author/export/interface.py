"""What a format of the export has: it turns contracts or runs into files, and lists what the files do not carry.

A format is a pure function of what it is given: the same contract or run gives the same bytes. It writes no prose. A
loss is a code with values; ``proctor.present.sentences.export_losses`` has the sentences.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, BinaryIO, Protocol

from proctor.author.export.recorded_run import RecordedRun
from proctor.author.export.task_material import TaskMaterial

Writer = Callable[[BinaryIO], None]
"""Writes the content of a file that is too large to be held in memory."""

HIDDEN_TESTS, SOLUTION = "hidden-tests", "solution"
"""What an exported task contains that no agent may see."""


OF_RUNS: Mapping[str, tuple[str, ...]] = {
    "check-attempts": ("attempts",),
    "conversation": ("messages",),
    "cost-units": ("units", "method"),
    "cut-texts": ("texts",),
    "events": ("types",),
    "evidence-chain": ("seal",),
    "gates": ("gates",),
    "notices": ("notices",),
    "patch": ("bytes",),
    "patch-not-text": ("bytes",),
    "repeated-messages": ("calls",),
    "results-without-call": ("results",),
    "status": ("status",),
    "threads": ("threads",),
    "token-kinds": ("tokens",),
    "tool-schemas": ("tools",),
    "total-cost": ("usd",),
}
"""The losses of runs: the codes with the names of their values."""

OF_CONTRACTS: Mapping[str, tuple[str, ...]] = {
    "alternatives": ("alternatives",),
    "escaped-ids": ("tests",),
    "inputs": ("inputs",),
    "limits": ("fields",),
    "network": ("mode",),
    "no-commit": ("kind",),
    "no-inverted-tests": ("checks",),
    "no-sentinels": ("checks",),
    "notes": ("fields",),
    "obligations": (),
    "one-attempt": ("checks",),
    "one-tree": ("checks",),
    "optional-checks": ("checks",),
    "other-history": ("commit",),
    "patch-is-tree": (),
    "policy": ("fields",),
    "products": ("files",),
    "root": ("image", "layers", "identity"),
    "run-as-root": (),
    "shared-image": (),
    "steering": ("restored",),
    "test-patch-without": ("files",),
    "unwatched": (),
}
"""The losses of contracts."""

CATALOGUE = {**OF_RUNS, **OF_CONTRACTS}


@dataclass(frozen=True)
class Loss:
    """Something that the format has no place for: a code of ``CATALOGUE``, and the values that it is about."""

    code: str
    values: Mapping[str, Any] = field(default_factory=dict)

    def __post_init__(self) -> None:
        if tuple(self.values) != CATALOGUE.get(self.code):
            raise ValueError(f"the loss {self.code} does not have the values {', '.join(self.values)}")


@dataclass(frozen=True)
class ExportedFile:
    """A file of the export, by its path below the folder."""

    path: str
    content: bytes | Writer
    executable: bool = False


@dataclass(frozen=True)
class Exported:
    """The files of one contract or run, and what they lack.

    ``folder`` is where the files belong if they are a folder of their own, and ``row`` a line about the subject in a
    file about all of them.
    """

    subject: str
    files: tuple[ExportedFile, ...]
    losses: tuple[Loss, ...]
    folder: str = ""
    row: str = ""


class Format(Protocol):
    """What formats of contracts and of runs have in common: a name, and the version of the other tool's format."""

    @property
    def name(self) -> str: ...

    @property
    def version(self) -> str: ...


class ContractFormat(Format, Protocol):
    """A format of tasks."""

    @property
    def contains(self) -> tuple[str, ...]:
        """What an exported task contains that no agent may see."""

    @property
    def readme(self) -> bool:
        """Whether each task has a README.md, which is written with the sentences of its losses."""

    def export(self, task: TaskMaterial, image: str) -> Exported:
        """One contract as a task that runs in ``image``."""

    def index(self, tasks: Sequence[Exported]) -> tuple[ExportedFile, ...]:
        """The files about all tasks together."""


class RunFormat(Format, Protocol):
    """A format of runs."""

    def export(self, runs: Sequence[RecordedRun]) -> tuple[Exported, ...]:
        """The runs, each with its losses."""

    def index(self, runs: Sequence[RecordedRun]) -> tuple[ExportedFile, ...]:
        """The files about all runs together."""
