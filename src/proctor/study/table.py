"""The table that every analysis reads: one row for each run, held by columns.

A text column is :class:`Coded`: whole numbers that point into a tuple of names, -1 where nothing is known. A column of
numbers is float64, nan where nothing is known; yes and no are 1 and 0. ``COLUMNS`` names every column, in order, and
says what it means; the Parquet index has the same columns under the same names. A table is never changed: a selection
is a table of its own that shares the names.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from itertools import islice
from typing import TYPE_CHECKING, Any, Self

from proctor.base.errors import UsageFault
from proctor.base.frozen import frozen

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Floats = NDArray[np.float64]
    Codes = NDArray[np.int32]
    Mask = NDArray[np.bool_]

TEXT, WHOLE, FLAG, NUMBER = "text", "whole number", "1 or 0", "number"

CHUNK_ROWS = 16_384
"""How many rows are turned into columns at once: enough for speed, few enough to stay small."""


@frozen
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
    Column("method", TEXT, "what is compared: the agent, or agent and model"),
    Column("task", TEXT, "the contract's name"),
    Column("contract", TEXT, "the contract's content id"),
    Column("stratum", TEXT, "the group of tasks it belongs to, such as python / medium"),
    Column("trial", WHOLE, "which attempt at the task this is, from 1"),
    Column("status", TEXT, "success, failure, acceptance-error, invalid or unknown"),
    Column("success", FLAG, "the primary endpoint: 1 accepted, 0 not, missing when that could not be told"),
    Column("scorable", FLAG, "1 when the run says something about the agent"),
    Column("ended", TEXT, "what ended the agent: finished, resource, safety, operator, infrastructure or unknown"),
    Column("censored", FLAG, "1 when a cap cut cost and time short: both are at least what is written"),
    Column("cost_usd", NUMBER, "the whole projected cost: model, execution, human and overhead"),
    Column("model_usd", NUMBER, "the part that model calls cost"),
    Column("execution_usd", NUMBER, "the part that running commands and checks cost"),
    Column("human_usd", NUMBER, "the part that people's time cost"),
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
    Column("pilot", TEXT, "the digest of the pilot the run belongs to; empty for none"),
    Column("stage", TEXT, "the stage of that pilot"),
    Column("begun", TEXT, "when the run began, in ISO 8601"),
    Column("batch", TEXT, "the batch the run belongs to"),
    Column("cost_method", TEXT, "the price table behind the costs; a fallback schedule has no prices, see the manual"),
    Column("billed_usd", NUMBER, "what a provider billed, as far as it said so; no part of cost_usd"),
    Column("human_minutes", NUMBER, "minutes that people spent on reviews of the run"),
    Column("setup_execution_usd", NUMBER, "the part of execution_usd before the agent began"),
    Column("agent_execution_usd", NUMBER, "the part of execution_usd while the agent acted"),
    Column("acceptance_execution_usd", NUMBER, "the part of execution_usd in acceptance"),
    Column("setup_overhead_usd", NUMBER, "the part of overhead_usd before the agent began"),
    Column("agent_overhead_usd", NUMBER, "the part of overhead_usd while the agent acted"),
    Column("acceptance_overhead_usd", NUMBER, "the part of overhead_usd in acceptance"),
)
NAMES = tuple(column.name for column in COLUMNS)
TEXT_NAMES = tuple(column.name for column in COLUMNS if column.kind == TEXT)
NUMBER_NAMES = tuple(column.name for column in COLUMNS if column.kind != TEXT)


class Coded:
    """A column of texts: ``codes`` point into ``names``; -1 is a missing text."""

    __slots__ = ("codes", "names")

    codes: Codes
    names: tuple[str, ...]

    def __init__(self, codes: Any, names: Iterable[str]) -> None:
        import numpy as np

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
        coder.add(texts)
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
        import numpy as np

        found: Mask = self.codes == np.int32(self.names.index(name) if name in self.names else -2)
        return found

    def select(self, mask: Any) -> Coded:
        """The column of the rows that ``mask`` (or a list of positions) names."""
        return Coded(self.codes[mask], self.names)

    def used(self) -> Coded:
        """The same texts with only those names that occur, sorted."""
        import numpy as np

        present = np.unique(self.codes[self.codes >= 0])
        names = sorted(self.names[code] for code in present.tolist())
        place = {name: position for position, name in enumerate(names)}
        target = np.full(len(self.names) + 1, -1, dtype=np.int32)
        for code in present.tolist():
            target[code] = place[self.names[code]]
        return Coded(target[self.codes], names)


class Coder:
    """Gives texts their codes, chunk by chunk."""

    def __init__(self) -> None:
        self._codes: dict[str | None, int] = {None: -1}
        self._chunks: list[Codes] = []

    def add(self, texts: Iterable[str | None]) -> None:
        """Take the next rows of the column."""
        import numpy as np

        known, found = self._codes, []
        for text in texts:
            code = known.get(text)
            if code is None:
                if not isinstance(text, str):
                    raise TypeError(f"a text column cannot hold {text!r}")
                code = known[text] = len(known) - 1
            found.append(code)
        self._chunks.append(np.array(found, dtype=np.int32))

    def coded(self) -> tuple[Codes, tuple[str, ...]]:
        """The codes so far and the names they point to."""
        import numpy as np

        codes = np.concatenate(self._chunks) if self._chunks else np.zeros(0, dtype=np.int32)
        return codes, tuple(text for text in self._codes if text is not None)


class Table:
    """Rows by columns. Each column is an attribute; columns that were not given hold nothing but missing values."""

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
    setup_execution_usd: Floats
    agent_execution_usd: Floats
    acceptance_execution_usd: Floats
    setup_overhead_usd: Floats
    agent_overhead_usd: Floats
    acceptance_overhead_usd: Floats

    def __init__(self, length: int, columns: Mapping[str, Any]) -> None:
        import numpy as np

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
        import numpy as np

        coders = {name: Coder() for name in TEXT_NAMES}
        numbers: dict[str, list[Floats]] = {name: [] for name in NUMBER_NAMES}
        length, rest, known = 0, iter(rows), set(NAMES)
        while chunk := list(islice(rest, CHUNK_ROWS)):
            for row in chunk:
                if not row.keys() <= known:
                    raise ValueError(f"a table has no column {min(row.keys() - known)!r}")
            for name, coder in coders.items():
                coder.add([row.get(name) for row in chunk])
            for name, parts in numbers.items():
                parts.append(np.array([row.get(name) for row in chunk], dtype=np.float64))
            length += len(chunk)
        columns: dict[str, Any] = {name: Coded(*coder.coded()) for name, coder in coders.items()}
        columns |= {name: np.concatenate(parts) for name, parts in numbers.items() if parts}
        made = cls(length, columns)
        made._refuse_twins()
        return made

    def _refuse_twins(self) -> None:
        """Rows that share a run would be counted twice."""
        import numpy as np

        codes = self.run.codes[self.run.codes >= 0]
        if len(self.run.names) < len(codes):
            twin = int(np.argmax(np.bincount(codes)))
            places = [text for text in self.source.select(self.run.codes == twin) if text]
            raise UsageFault(
                f"the run {self.run.names[twin]!r} stands in more than one row",
                where=", ".join(places[:2]),
                hint="each row needs a run of its own; take one of them out",
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
        import numpy as np

        rows = np.flatnonzero(mask) if np.asarray(mask).dtype == bool else np.asarray(mask, dtype=np.int64)
        columns = {
            name: column.select(rows) if isinstance(column, Coded) else column[rows]
            for name, column in self._columns.items()
        }
        return Table(len(rows), columns)

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
