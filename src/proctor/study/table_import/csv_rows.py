"""The rows of a table of results, read in chunks and turned into columns; every mistake in them is reported at once.

Each distinct value is interpreted once, not once for each row. The same mistake in many rows is one mistake with many
lines, and mistakes of each kind are bounded. Costs are in US dollars unless a column of units says otherwise.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from proctor.base.errors import UsageFault
from proctor.base.reversible_escapes import unescape_cell
from proctor.study.analysis.cost_unit import SCHEDULE, UNITS, USD
from proctor.study.run_table import Coded, Coder, Floats, Table
from proctor.study.statements import Statement, statement
from proctor.study.table_import.column_mapping import INVALID, MISSING, SUCCESS, UNKNOWN, Columns, Words, repository_of
from proctor.study.table_import.trial_labels import joined, methods, trials

SHOWN = 20
"""How many mistakes a message lists, and how many of a kind are kept."""
WORDS = frozenset({"outcome"})
"""The kinds of mistakes that are values to which an option could give a meaning."""
LINES = 5
"""How many lines are named of the same mistake."""


At = Callable[[int], str]
"""Where the row with a number is: file and line."""


class Mistakes:
    """The mistakes of one file."""

    def __init__(self, file: str, at: At) -> None:
        self._file, self._at = file, at
        self._kept: dict[str, dict[str, list[int]]] = {}
        self._rows: dict[tuple[str, str], int] = {}
        self._left_out = 0
        self._whole: list[str] = []
        self._hints: list[str] = []

    def add_whole(self, what: str) -> None:
        """Record a mistake of the whole file."""
        self._whole.append(what)

    def hint(self, what: str) -> None:
        """Add advice in addition to correcting the rows."""
        self._hints.append(what)

    def add(self, kind: str, line: int, what: str) -> None:
        """Record a mistake at ``line``; ``kind`` is the column or the sort of the mistake."""
        kept = self._kept.setdefault(kind, {})
        if what not in kept and len(kept) == SHOWN:
            self._left_out += 1
            return
        lines = kept.setdefault(what, [])
        self._rows[kind, what] = self._rows.get((kind, what), 0) + 1
        if len(lines) < LINES:
            lines.append(line)

    def refuse(self) -> None:
        """:class:`UsageFault` with all of them, in the order of the file; nothing when there is none."""
        found = [
            (place, lines, self._rows[kind, what], what)
            for kind, kept in self._kept.items()
            for place, (what, lines) in enumerate(kept.items())
        ]
        if not found and not self._whole:
            return
        found.sort()
        shown = sorted(found[:SHOWN], key=lambda one: one[1])
        told = [f"{self._file}: {what}" for what in self._whole]
        told += [f"{self._at(lines[0])}: {what}{_also(lines[1:], rows)}" for _, lines, rows, what in shown]
        more = self._left_out + sum(rows for _, _, rows, _ in found[SHOWN:])
        if more:
            told.append(f"... and {more:,} more")
        mapped = ", or map their values by option" if WORDS & self._kept.keys() else ""
        usual = [f"correct these rows{mapped}"] if found else []
        raise UsageFault("\n".join(told), hint="; ".join([*self._hints, *usual]))


def _also(lines: list[int], rows: int) -> str:
    """The further lines of a mistake."""
    if not lines:
        return ""
    more = rows - 1 - len(lines)
    rest = f" and {more:,} more" if more else ""
    return f" (also in line{'s' if rows > 2 else ''} {', '.join(map(str, lines))}{rest})"


DOLLARS = frozenset({"", USD.counts.lower(), "us$", "$", "us dollars", "dollars"})
KNOWN_UNITS = f"{USD.counts}, or as Proctor writes them in {UNITS.counts!r}"


def is_unit(text: str) -> bool:
    """Whether a text names a unit that costs can be read in."""
    return _abstract(text) or text.lower() in DOLLARS


def cost_methods(method: Coded | None, unit: Coded | None) -> Coded | None:
    """The price table or the schedule behind each cost; a cost in units is always by a schedule."""
    if unit is None:
        return method
    told = method or Coded([0] * len(unit), ("",))
    return joined(told, unit, lambda name, of: SCHEDULE if _abstract(of) and not name.startswith(SCHEDULE) else name)


def _abstract(text: str) -> bool:
    return text.lower() == UNITS.counts


NUMBERS = {
    "cost": "cost_usd",
    "tokens_in": "tokens_in",
    "tokens_out": "tokens_out",
    "seconds": "seconds",
    "calls": "tool_calls",
}
"""The roles whose cells are numbers, and the columns of the table they become."""
SHOWN_VALUES = 10
"""How many values of a column a message lists."""
DECIMAL_COMMA = re.compile(r"[0-9]+,[0-9]+")
MOST = 2.0**53
"""The largest number that is accepted: whole numbers beyond it are not exact."""
TEXTS = ("agent", "model", "task", "suite", "trial", "stratum", "begun", "cost_method", "cost_unit")


class Rows:
    """Collects the rows of ``file``."""

    def __init__(
        self, file: str, columns: Columns, words: Words, cap_seconds: float | None, at: At | None = None
    ) -> None:
        self.count = 0
        self._at = at or (lambda line: f"{file}:{line}")
        self._place = at or (lambda line: f"line {line}")
        self._mistakes = Mistakes(file, self._at)
        self._columns, self._words, self._cap = columns, words, cap_seconds
        self._width = len(columns.header)
        self._places = {role: columns.place(role) for role in columns.taken}
        self._texts = {role: Coder() for role in TEXTS if role in columns.taken}
        self._numbers: dict[str, list[Floats]] = {role: [] for role in NUMBERS if role in columns.taken}
        self._lines: list[int] = []
        self._status, self._ended, self._tags = Coder(), Coder(), Coder()
        self._seen: dict[str, list[str]] = {"outcome": [], "status": []}

    def add(self, lines: Sequence[int], records: Sequence[list[str]]) -> None:
        """Add the records that begin at ``lines``."""
        self.count += len(records)
        odd = [place for place, cells in enumerate(records) if len(cells) != self._width]
        if odd:
            for place in odd:
                found = f"{len(records[place])} cells in a table of {self._width} columns"
                self._mistakes.add("cells", lines[place], found)
            left_out = set(odd)
            lines = [line for place, line in enumerate(lines) if place not in left_out]
            records = [cells for place, cells in enumerate(records) if place not in left_out]
        if not records:
            return
        self._lines += lines
        cells = list(zip(*records, strict=True))
        places = self._places
        for role, coder in self._texts.items():
            texts = [unescape_cell(cell).strip() for cell in cells[places[role]]]
            if role in ("agent", "task") and "" in texts:
                for line, text in zip(lines, texts, strict=True):
                    if not text:
                        self._mistakes.add(role, line, f"no {role} in column {self._columns.taken[role]!r}")
            if role == "cost_unit":
                self._check_units(lines, texts)
            coder.add(texts)
        for role, parts in self._numbers.items():
            parts.append(np.array(self._read_numbers(lines, role, cells[places[role]])))
        self._status.add(self._read_outcomes(lines, cells[places["outcome"]]))
        own = cells[places["tags"]] if "tags" in places else ("",) * len(lines)
        ends = cells[places["status"]] if "status" in places else None
        self._read_ends(ends, own)

    def table(self, number_trials: bool) -> tuple[Table, tuple[Statement, ...]]:
        """The table and notes; :class:`UsageFault` says everything that is wrong with the rows."""
        texts = {role: Coded(*coder.coded()) for role, coder in self._texts.items()}
        method = methods(texts["agent"], texts.get("model"))
        task = texts["task"]
        if "suite" in texts and len(texts["suite"].names) > 1:
            task = joined(texts["suite"], task, lambda suite, name: f"{suite}/{name}" if suite else name)
        found = trials(self._lines, method, task, texts.get("trial"), number_trials, self._place)
        for line, what in found.repeated:
            self._mistakes.add("repeated", line, what)
        if found.repeated and (others := self._columns.others("agent")):
            self._mistakes.hint(f"if another column says what is compared, name it: --agent {' or '.join(others)}")
        for role in self._seen:
            self._check_words(role)
        self._mistakes.refuse()
        notes = list(found.notes)
        priced = cost_methods(texts.get("cost_method"), texts.get("cost_unit"))
        stratum = _known(texts["stratum"]) if "stratum" in texts else _repositories(task, notes)
        status, ended = Coded(*self._status.coded()), Coded(*self._ended.coded())
        success = np.where(status.is_(SUCCESS), 1.0, 0.0)
        success[status.is_(UNKNOWN) | status.is_(INVALID)] = np.nan
        numbers = {NUMBERS[role]: np.concatenate(parts) for role, parts in self._numbers.items()}
        censored = ended.is_("resource").astype(np.float64)
        if self._cap is not None and "seconds" in numbers:
            censored[numbers["seconds"] >= self._cap] = 1.0
        names = zip(method, task, found.labels, strict=True)
        columns: dict[str, Any] = {
            "run": Coded.of(f"{agent} / {name} / {label}" for agent, name, label in names),
            "source": Coded.of(self._at(line) for line in self._lines),
            "agent": texts["agent"],
            "model": _known(texts["model"]) if "model" in texts else None,
            "method": method,
            "task": task,
            "stratum": stratum,
            "trial": found.numbers,
            "status": status,
            "success": success,
            "scorable": np.where(status.is_(INVALID), 0.0, 1.0),
            "ended": ended,
            "censored": censored,
            "tags": Coded(*self._tags.coded()),
            "begun": _known(texts["begun"]) if "begun" in texts else None,
            "cost_method": None if priced is None else _known(priced),
            **numbers,
        }
        _forget_empty_meters(columns, notes)
        made = Table(len(self._lines), {name: column for name, column in columns.items() if column is not None})
        return made, tuple(notes)

    def cannot(self, table: Table) -> tuple[Statement, ...]:
        """What this file does not contain."""
        said = [statement("no-traces"), statement("no-evidence-of-validity")]
        if np.isnan(table.cost_usd).all():
            said.append(statement("no-column-of-costs", option=self._could_be_named("cost")))
        if np.isnan(table.seconds).all():
            said.append(statement("no-column-of-times", option=self._could_be_named("seconds")))
        elif not (table.censored == 1).any():
            said.append(statement("no-time-outs"))
        if "status" not in self._places and not any(table.tags.used().names):
            said.append(statement("no-failure-modes"))
        if "stratum" not in self._places and self._columns.unused and (table.stratum.codes < 0).all():
            said.append(statement("no-column-of-strata", option=self._could_be_named("stratum")))
        return tuple(said)

    def _could_be_named(self, role: str) -> bool:
        """Whether an unused column might have what is missing, so that an option could name it."""
        return role not in self._places and bool(self._columns.unused)

    def _check_words(self, role: str) -> None:
        """Refuse a value that no row has in its column: it would be ignored, or make everything a failure."""
        missing = self._words.unmet(role) if role in self._places else ()
        for word in missing:
            values = ", ".join(self._seen[role][:SHOWN_VALUES]) + (
                " ..." if len(self._seen[role]) > SHOWN_VALUES else ""
            )
            self._mistakes.add_whole(
                f"no row has {word[:40]!r} in column {self._columns.taken[role]}; its values are {values}"
            )
        if missing:
            self._mistakes.hint("give a value that the column has, or leave the option out")

    def _see(self, role: str, cells: set[str]) -> None:
        """Keep the first values of a column, in their order, for messages."""
        known = {cell.strip()[:40] or "(empty)" for cell in cells}
        self._seen[role] = sorted({*self._seen[role], *known})[: SHOWN_VALUES + 1]

    def _check_units(self, lines: Sequence[int], texts: Sequence[str]) -> None:
        name = self._columns.taken["cost_unit"]
        strange = {text for text in set(texts) if not is_unit(text)}
        for line, text in zip(lines, texts, strict=True) if strange else ():
            if text in strange:
                self._mistakes.add("cost_unit", line, f"{name} is {text[:40]!r}: costs are read in {KNOWN_UNITS}")

    def _read_numbers(self, lines: Sequence[int], role: str, cells: Sequence[str]) -> list[float]:
        try:
            numbers = [float(cell) if cell else math.nan for cell in cells]
        except ValueError:
            numbers = [self._read_number(line, role, cell) for line, cell in zip(lines, cells, strict=True)]
        if any(number < 0 or number > MOST for number in numbers):
            for line, number in zip(lines, numbers, strict=True):
                if number < 0 or number > MOST:
                    self._mistakes.add(
                        role, line, f"{self._columns.taken[role]} is {number:g}, which is not possible for an attempt"
                    )
        return numbers

    def _read_number(self, line: int, role: str, cell: str) -> float:
        try:
            return float(cell)
        except ValueError:
            word = cell.strip()
            if word.lower() not in MISSING:
                how = ": write a point instead of the comma" if DECIMAL_COMMA.fullmatch(word) else ""
                self._mistakes.add(role, line, f"{self._columns.taken[role]} is {word[:40]!r}, not a number{how}")
            return math.nan

    def _read_outcomes(self, lines: Sequence[int], cells: Sequence[str]) -> list[str]:
        words = set(cells)
        self._see("outcome", words)
        meaning = {cell: self._words.outcome(cell) for cell in words}
        if "" in meaning.values():
            name = self._columns.taken["outcome"]
            for line, cell in zip(lines, cells, strict=True):
                if not meaning[cell]:
                    what = f"{name} is {cell.strip()[:40]!r}: neither success nor failure"
                    self._mistakes.add("outcome", line, f"{what} (--success VALUE says what a success is)")
        return [meaning[cell] for cell in cells]

    def _read_ends(self, cells: Sequence[str] | None, own: Sequence[str]) -> None:
        if cells is None:
            self._ended.add(["unknown"] * len(own))
            cells = ("",) * len(own)
        else:
            words = set(cells)
            self._see("status", words)
            ends = {cell: self._words.end(cell) for cell in words}
            self._ended.add([ends[cell] for cell in cells])
        pairs = list(zip(own, cells, strict=True))
        tags = {pair: self._words.tags(*pair) for pair in set(pairs)}
        self._tags.add([tags[pair] for pair in pairs])


def _known(column: Coded) -> Coded:
    """The column with nothing where the text is empty."""
    if "" not in column.names:
        return column
    empty = column.names.index("")
    return Coded(np.where(column.codes == empty, -1, column.codes), column.names)


def _repositories(task: Coded, notes: list[Statement]) -> Coded:
    """The strata of a table that names none: the repository, if tasks are named as in SWE-bench."""
    names = Coded.of(repository_of(name) or None for name in task.names)
    if len(names.names) > 1:
        notes.append(statement("strata-from-task-names"))
    return Coded(names.codes[task.codes] if len(names.codes) else np.full(len(task), -1), names.names)


def _forget_empty_meters(columns: dict[str, Any], notes: list[Statement]) -> None:
    """An agent whose meter is always 0 was not metered: its tokens or costs are unknown, not 0."""
    agents = columns["agent"]
    for name in ("cost_usd", "tokens_in", "tokens_out"):
        if name not in columns:
            continue
        totals = np.bincount(agents.codes, np.nan_to_num(columns[name]), minlength=len(agents.names))
        has = np.bincount(agents.codes, ~np.isnan(columns[name]), minlength=len(agents.names)) > 0
        silent = (totals == 0) & has
        if silent.any():
            columns[name] = np.where(silent[agents.codes], np.nan, columns[name])
            notes.append(statement("meter-never-moved", column=name, agents=int(silent.sum())))
