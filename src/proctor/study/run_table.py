"""The table that every analysis reads: one row for each run, stored by columns.

A text column is :class:`Coded`: whole numbers that point into a tuple of names, -1 for an unknown value. A column of
numbers is float64, nan for an unknown value; yes and no are 1 and 0. ``COLUMNS`` names every column, in order, and
says what it means; the Parquet index has the same columns under the same names. A table is never changed: a selection
is a table of its own that shares the names.

The columns of the table of runs: their names in order, the kind of their values, and what they mean.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import islice
from operator import itemgetter
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from proctor.base.errors import UsageFault

TEXT, WHOLE, FLAG, NUMBER = "text", "whole number", "1 or 0", "number"


@dataclass(frozen=True)
class Column:
    """One column: its name, the kind of its values, and what they mean."""

    name: str
    kind: str
    meaning: str


COLUMNS = (
    Column("run", TEXT, "the run's id; no two rows share one"),
    Column("source", TEXT, "where the row comes from: a run directory, or file:line of a table of results"),
    Column("agent", TEXT, "the agent's name"),
    Column("model", TEXT, "the model the agent was given; missing when it had none"),
    Column("method", TEXT, "what is compared: the agent, or agent and model; in a pilot the method's name there"),
    Column("task", TEXT, "the contract's name"),
    Column("contract", TEXT, "the contract's content id"),
    Column("stratum", TEXT, "the group of tasks it belongs to, such as python / medium"),
    Column("trial", WHOLE, "which attempt at the task this is, from 1"),
    Column("status", TEXT, "success, failure, acceptance-error, invalid or unknown"),
    Column("success", FLAG, "the primary endpoint: 1 accepted, 0 not, missing when that could not be told"),
    Column("scorable", FLAG, "1 when the run says something about the agent"),
    Column("ended", TEXT, "what ended the agent: finished, resource, safety, operator, infrastructure or unknown"),
    Column("censored", FLAG, "1 when a cap cut cost and time short: both are at least what is written"),
    Column("exit_code", WHOLE, "what the agent exited with; negative for a signal, missing where it has no exit code"),
    Column("changed_files", WHOLE, "files that the patch changes; 0 when the agent left no change"),
    Column("cost_usd", NUMBER, "what the run itself cost, projected: model, execution, human and overhead; no reviews"),
    Column("model_usd", NUMBER, "the part that model calls cost"),
    Column("execution_usd", NUMBER, "the part that running commands and checks cost"),
    Column("human_usd", NUMBER, "the part that people's time cost while it ran"),
    Column("overhead_usd", NUMBER, "the part that the harness itself cost"),
    Column("tokens_in", WHOLE, "tokens the model read"),
    Column("tokens_out", WHOLE, "tokens the model wrote"),
    Column("seconds", NUMBER, "wall-clock time of the agent"),
    Column("judge_seconds", NUMBER, "wall-clock time of the checks"),
    Column("tool_calls", WHOLE, "commands the agent ran"),
    Column("test_cycles", WHOLE, "times the agent ran tests"),
    Column("gate1", FLAG, "1 when the patch was valid"),
    Column("gate2", FLAG, "1 when it builds and passes the static checks"),
    Column("gate3", FLAG, "1 when functional acceptance passed"),
    Column("gate4", FLAG, "1 when safety and policy were kept"),
    Column("score", NUMBER, "the graded score of a successful run"),
    Column("contract_score", NUMBER, "the contract's own weighted score"),
    Column("tags", TEXT, "failure tags, sorted and joined by ;"),
    Column("comparability", TEXT, "the comparability class: runs of one class may be compared"),
    Column("pilot", TEXT, "the digest of the pilot the run belongs to; missing for none"),
    Column("stage", TEXT, "the stage of that pilot"),
    Column("begun", TEXT, "when the run began, in ISO 8601"),
    Column("batch", TEXT, "the batch the run belongs to"),
    Column(
        "cost_method", TEXT, "the price table behind the costs, or where there was none the schedule of abstract units"
    ),
    Column("billed_usd", NUMBER, "what a provider billed, as far as it said so; no part of cost_usd"),
    Column("human_minutes", NUMBER, "minutes that people spent on reviews of the run"),
    Column("review_usd", NUMBER, "what these minutes cost where the price table prices them; no part of cost_usd"),
    Column("review", TEXT, "what reviewers think of the run: accept, reject, unsure or disputed; missing without any"),
    Column("setup_execution_usd", NUMBER, "the part of execution_usd before the agent began"),
    Column("agent_execution_usd", NUMBER, "the part of execution_usd while the agent acted"),
    Column("acceptance_execution_usd", NUMBER, "the part of execution_usd in acceptance"),
    Column("setup_overhead_usd", NUMBER, "the part of overhead_usd before the agent began"),
    Column("agent_overhead_usd", NUMBER, "the part of overhead_usd while the agent acted"),
    Column("acceptance_overhead_usd", NUMBER, "the part of overhead_usd in acceptance"),
    Column("retry_of", TEXT, "the invalid run in whose place this one was made; missing for a first attempt"),
)
LATER = ("exit_code", "changed_files", "review_usd", "review", "retry_of")
"""Columns that files of earlier versions do not have."""
NAMES = tuple(column.name for column in COLUMNS)
TEXT_NAMES = tuple(column.name for column in COLUMNS if column.kind == TEXT)
NUMBER_NAMES = tuple(column.name for column in COLUMNS if column.kind != TEXT)


Floats = NDArray[np.float64]
Codes = NDArray[np.int32]
Mask = NDArray[np.bool_]

__all__ = ["COLUMNS", "LATER", "NAMES", "NUMBER_NAMES", "TEXT_NAMES", "Coded", "Table", "chunks_of"]

CHUNK_ROWS = 1024
"""How many rows are turned into columns at once: few enough to stay in the processor's cache."""

_ALL = itemgetter(*NAMES)


class Coded:
    """A column of texts: ``codes`` point into ``names``; -1 is a missing text."""

    __slots__ = ("codes", "names")

    codes: Codes
    names: tuple[str, ...]

    def __init__(self, codes: Any, names: Iterable[str]) -> None:
        kept = tuple(names)
        array = np.asarray(codes, dtype=np.int32).view()
        if array.ndim != 1:
            raise ValueError("the codes of a text column are one row of numbers")
        if array.size and (int(array.min()) < -1 or int(array.max()) >= len(kept)):
            raise ValueError(f"a code points outside the {len(kept)} names of its column")
        array.flags.writeable = False
        self.codes, self.names = array, kept

    @classmethod
    def of(cls, texts: Iterable[str | None]) -> Self:
        """The column that holds ``texts``; names come in the order of their first use."""
        coder = Coder()
        coder.add(tuple(texts))
        return cls(*coder.coded())

    def __len__(self) -> int:
        return len(self.codes)

    def __getitem__(self, index: int) -> str | None:
        code = int(self.codes[index])
        return self.names[code] if code >= 0 else None

    def __iter__(self) -> Iterator[str | None]:
        names = (*self.names, None)
        return (names[code] for code in self.codes.tolist())

    def is_(self, name: str) -> Mask:
        """Where the text is ``name``."""
        found: Mask = self.codes == np.int32(self.names.index(name) if name in self.names else -2)
        return found

    def select(self, mask: Any) -> Coded:
        """The column of the rows that ``mask`` (or a list of positions) names."""
        return Coded(self.codes[mask], self.names)

    def used(self) -> Coded:
        """The same texts with only those names that occur, sorted."""
        present = np.unique(self.codes[self.codes >= 0])
        names = sorted(self.names[code] for code in present.tolist())
        place = {name: position for position, name in enumerate(names)}
        target = np.full(len(self.names) + 1, -1, dtype=np.int32)
        for code in present.tolist():
            target[code] = place[self.names[code]]
        return Coded(target[self.codes], names)


class _Numbered(dict[str | None, int]):
    """Gives each text that it is asked for the next number."""

    def __missing__(self, text: str | None) -> int:
        if not isinstance(text, str):
            raise TypeError(f"a text column cannot hold {text!r}")
        code = self[text] = len(self) - 1
        return code


class Coder:
    """Gives texts their codes, chunk by chunk."""

    def __init__(self) -> None:
        self._codes = _Numbered({None: -1})
        self._chunks: list[Codes] = []

    def add(self, texts: Sequence[str | None]) -> None:
        """Take the next rows of the column."""
        self._chunks.append(np.fromiter(map(self._codes.__getitem__, texts), dtype=np.int32, count=len(texts)))

    def coded(self) -> tuple[Codes, tuple[str, ...]]:
        """The codes so far and the names they point to."""
        codes = np.concatenate(self._chunks) if self._chunks else np.zeros(0, dtype=np.int32)
        return codes, tuple(text for text in self._codes if text is not None)


def chunks_of(rows: Iterable[Mapping[str, Any]]) -> Iterator[dict[str, Sequence[Any]]]:
    """``rows`` some hundreds at a time, each time as the cells of every column; what a row leaves out is None."""
    rest = iter(rows)
    while chunk := list(islice(rest, CHUNK_ROWS)):
        yield _whole_cells(chunk) or _cells(chunk)


def _whole_cells(chunk: list[Mapping[str, Any]]) -> dict[str, Sequence[Any]] | None:
    """The cells of rows that have exactly the columns; nothing for others, which take longer."""
    if set(map(len, chunk)) != {len(NAMES)}:
        return None
    try:
        return dict(zip(NAMES, zip(*map(_ALL, chunk), strict=True), strict=True))
    except KeyError:
        return None


def _cells(chunk: list[Mapping[str, Any]]) -> dict[str, Sequence[Any]]:
    strangers = sorted(set[str]().union(*chunk) - set(NAMES))
    if strangers:
        raise ValueError(f"a table has no column {strangers[0]!r}")
    return {name: [row.get(name) for row in chunk] for name in NAMES}


class Table:
    """Rows by columns. Each column is an attribute; columns that were not given contain only missing values."""

    __slots__ = ("_columns", "length")

    run: Coded
    source: Coded
    agent: Coded
    model: Coded
    method: Coded
    task: Coded
    contract: Coded
    stratum: Coded
    trial: Floats
    status: Coded
    success: Floats
    scorable: Floats
    ended: Coded
    censored: Floats
    exit_code: Floats
    changed_files: Floats
    cost_usd: Floats
    model_usd: Floats
    execution_usd: Floats
    human_usd: Floats
    overhead_usd: Floats
    tokens_in: Floats
    tokens_out: Floats
    seconds: Floats
    judge_seconds: Floats
    tool_calls: Floats
    test_cycles: Floats
    gate1: Floats
    gate2: Floats
    gate3: Floats
    gate4: Floats
    score: Floats
    contract_score: Floats
    tags: Coded
    comparability: Coded
    pilot: Coded
    stage: Coded
    begun: Coded
    batch: Coded
    cost_method: Coded
    billed_usd: Floats
    human_minutes: Floats
    review_usd: Floats
    review: Coded
    setup_execution_usd: Floats
    agent_execution_usd: Floats
    acceptance_execution_usd: Floats
    setup_overhead_usd: Floats
    agent_overhead_usd: Floats
    acceptance_overhead_usd: Floats
    retry_of: Coded

    def __init__(self, length: int, columns: Mapping[str, Any]) -> None:
        self.length = length
        self._columns: dict[str, Any] = {}
        strangers = sorted(set(columns) - set(NAMES))
        if strangers:
            raise ValueError(f"a table has no column {strangers[0]!r}")
        for column in COLUMNS:
            given = columns.get(column.name)
            if column.kind == TEXT:
                kept: Any = Coded(np.full(length, -1), ()) if given is None else given
                if not isinstance(kept, Coded):
                    raise TypeError(f"{column.name} is a text column and needs Coded values")
            else:
                kept = np.full(length, np.nan) if given is None else np.asarray(given, dtype=np.float64)
                kept = kept.view()
                kept.flags.writeable = False
            if len(kept) != length:
                raise ValueError(f"{column.name} has {len(kept)} values in a table of {length} rows")
            self._columns[column.name] = kept

    @classmethod
    def from_rows(cls, rows: Iterable[Mapping[str, Any]]) -> Self:
        """The table of ``rows``, dicts by column name; what a row leaves out, or gives as None, is missing.

        :class:`UsageFault` when two rows have the same run.
        """
        coders = {name: Coder() for name in TEXT_NAMES}
        numbers: dict[str, list[Floats]] = {name: [] for name in NUMBER_NAMES}
        length = 0
        for cells in chunks_of(rows):
            for name, coder in coders.items():
                coder.add(cells[name])
            for name, parts in numbers.items():
                parts.append(np.array(cells[name], dtype=np.float64))
            length += len(cells["run"])
        columns: dict[str, Any] = {name: Coded(*coder.coded()) for name, coder in coders.items()}
        columns |= {name: np.concatenate(parts) for name, parts in numbers.items() if parts}
        made = cls(length, columns)
        made._refuse_twins()
        return made

    def _refuse_twins(self) -> None:
        """Rows that share a run would be counted twice."""
        codes = self.run.codes[self.run.codes >= 0]
        if len(self.run.names) < len(codes):
            twin = int(np.argmax(np.bincount(codes)))
            places = [text for text in self.source.select(self.run.codes == twin) if text]
            raise UsageFault(
                f"the run {self.run.names[twin]!r} is in more than one row",
                where=", ".join(places[:2]),
                hint="each row needs a run of its own; remove one of them",
            )

    def __getattr__(self, name: str) -> Any:
        if name.startswith("_"):
            raise AttributeError(name)
        try:
            return self._columns[name]
        except KeyError:
            raise AttributeError(f"a table has no column {name!r}") from None

    def __len__(self) -> int:
        return self.length

    def select(self, mask: Any) -> Table:
        """The rows where ``mask`` is true, or at the positions it lists, in that order."""
        rows = np.flatnonzero(mask) if np.asarray(mask).dtype == bool else np.asarray(mask, dtype=np.int64)
        columns = {
            name: column.select(rows) if isinstance(column, Coded) else column[rows]
            for name, column in self._columns.items()
        }
        return Table(len(rows), columns)

    def without(self, names: Iterable[str]) -> Table:
        """The same rows with these columns empty."""
        gone = set(names)
        return Table(self.length, {name: column for name, column in self._columns.items() if name not in gone})

    def rows(self) -> Iterator[dict[str, Any]]:
        """Each row as a dict that leaves out what is missing; whole numbers and flags are ints."""
        whole = {column.name for column in COLUMNS if column.kind in (WHOLE, FLAG)}
        for start in range(0, self.length, CHUNK_ROWS):
            part = slice(start, start + CHUNK_ROWS)
            values = [
                list(column.select(part)) if isinstance(column, Coded) else column[part].tolist()
                for column in self._columns.values()
            ]
            for row in zip(*values, strict=True):
                yield {
                    name: int(value) if name in whole else value
                    for name, value in zip(self._columns, row, strict=True)
                    if value is not None and value == value
                }
