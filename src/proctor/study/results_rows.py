"""The rows of a table of results, read one by one into columns.

What a word means is decided once for each word, not once for each row. Mistakes are collected, not raised, so that all
of them can be told together.
"""

from __future__ import annotations

import math
import re
from typing import TYPE_CHECKING, Any

from proctor.base.errors import UsageFault
from proctor.study.results_columns import Columns
from proctor.study.results_shapes import (
    BROKEN,
    CAPPED,
    FAILURE,
    FINISHED,
    INVALID,
    OUTCOMES,
    SUCCESS,
    UNKNOWN,
    plain,
    repository_of,
)

if TYPE_CHECKING:
    from proctor.study.table import Table

MISTAKES = 20
"""How many mistakes are kept; the rest is counted."""
MISSING = frozenset({"", "none", "null", "nan", "na", "n/a"})
NUMBERS = {
    "cost": "cost_usd",
    "tokens_in": "tokens_in",
    "tokens_out": "tokens_out",
    "seconds": "seconds",
    "calls": "tool_calls",
}
"""The roles whose cells are numbers, and the columns of the table they become."""
TEXTS = ("agent", "model", "task", "suite", "trial", "stratum", "begun")
THRESHOLD = re.compile(r"^>=\s*(-?\d+(?:\.\d+)?)$")


class Rows:
    """Collects the rows of ``file``."""

    def __init__(
        self,
        file: str,
        columns: Columns,
        success: tuple[str, ...],
        unknown: tuple[str, ...],
        timeout: tuple[str, ...],
        cap_seconds: float | None,
    ) -> None:
        self.count = 0
        self.mistakes: list[str] = []
        self.mistaken = 0
        self._file = file
        self._columns = columns
        self._width = len(columns.header)
        self._places = {role: columns.place(role) for role in columns.taken}
        self._texts: dict[str, list[str]] = {role: [] for role in TEXTS if role in columns.taken}
        self._numbers: dict[str, list[float]] = {role: [] for role in NUMBERS if role in columns.taken}
        self._lines: list[int] = []
        self._status: list[str] = []
        self._ended: list[str] = []
        self._tags: list[str] = []
        self._success = frozenset(word.strip().lower() for word in success)
        self._thresholds = [float(match[1]) for word in success if (match := THRESHOLD.match(word.strip()))]
        self._unknown = frozenset(word.strip().lower() for word in unknown)
        self._timeout = frozenset(plain(word) for word in timeout)
        self._cap = cap_seconds
        self._outcomes: dict[str, str] = {}
        self._ends: dict[str, tuple[str, str]] = {}

    def add(self, line: int, cells: list[str]) -> None:
        """Take the record that begins at ``line``."""
        self.count += 1
        if len(cells) != self._width:
            self._mistake(line, f"{len(cells)} cells in a table of {self._width} columns")
            return
        self._lines.append(line)
        places = self._places
        for role, texts in self._texts.items():
            text = cells[places[role]].strip()
            if not text and role in ("agent", "task"):
                self._mistake(line, f"no {role} in column {self._columns.taken[role]!r}")
            texts.append(text)
        for role, numbers in self._numbers.items():
            numbers.append(self._number(line, role, cells[places[role]]))
        word = cells[places["outcome"]].strip().lower()
        status = self._outcomes.get(word)
        if status is None:
            status = self._outcome(line, word)
        self._status.append(status)
        end, tag = self._end(cells[places["status"]]) if "status" in places else ("unknown", "")
        self._ended.append(end)
        own = cells[places["tags"]].strip() if "tags" in places else ""
        self._tags.append(";".join(sorted({part.strip() for part in (*own.split(";"), tag) if part.strip()})))

    def table(self, number_trials: bool) -> tuple[Table, list[str], tuple[str, ...]]:
        """The table, every repeated attempt, and what was noted."""
        import numpy as np

        from proctor.study.table import Coded, Table

        notes: list[str] = []
        agents = self._texts["agent"]
        methods = self._methods(agents)
        tasks = self._tasks()
        trials, labels, repeated = self._trials(methods, tasks, number_trials, notes)
        strata = self._texts.get("stratum")
        if strata is None:
            strata = [repository_of(task) for task in tasks]
            if any(strata):
                notes.append("strata: the repository in the task's name")
        status = Coded.of(self._status)
        seconds = np.array(self._numbers["seconds"]) if "seconds" in self._numbers else None
        ended = Coded.of(self._ended)
        censored = ended.is_("resource").astype(np.float64)
        if self._cap is not None and seconds is not None:
            censored[seconds >= self._cap] = 1.0
        success = np.where(status.is_(SUCCESS), 1.0, 0.0)
        success[status.is_(UNKNOWN) | status.is_(INVALID)] = np.nan
        columns: dict[str, Any] = {
            "run": Coded.of([f"{m} / {t} / {n}" for m, t, n in zip(methods, tasks, labels, strict=True)]),
            "source": Coded.of([f"{self._file}:{line}" for line in self._lines]),
            "agent": Coded.of(agents),
            "model": Coded.of([text or None for text in self._texts["model"]]) if "model" in self._texts else None,
            "method": Coded.of(methods),
            "task": Coded.of(tasks),
            "stratum": Coded.of([text or None for text in strata]),
            "trial": trials,
            "status": status,
            "success": success,
            "scorable": np.where(status.is_(INVALID), 0.0, 1.0),
            "ended": ended,
            "censored": censored,
            "tags": Coded.of(self._tags),
            "begun": Coded.of([text or None for text in self._texts["begun"]]) if "begun" in self._texts else None,
        }
        for role, numbers in self._numbers.items():
            columns[NUMBERS[role]] = np.array(numbers)
        _forget_empty_meters(columns, notes)
        if repeated:
            return Table(0, {}), repeated, ()
        made = Table(self.count, {name: column for name, column in columns.items() if column is not None})
        return made, [], tuple(notes)

    def cannot(self, table: Table) -> tuple[str, ...]:
        """What this file does not say, so that no analysis of it can."""
        import numpy as np

        said = ["no traces: the outcomes are taken as the file states them, and nobody can look behind them here"]
        said.append("no evidence of validity: whether tasks, tests and environments were sound is not in the file")
        if not len(table) or np.isnan(table.cost_usd).all():
            said.append("no costs: the file has none")
        if np.isnan(table.seconds).all():
            said.append("no times: the file has none")
        elif not (table.censored == 1).any():
            said.append("no time-outs are marked: times are taken as complete (see --timeout and --cap-seconds)")
        if "status" not in self._places:
            said.append("no failure modes: no column says how an attempt ended")
        return tuple(said)

    def _methods(self, agents: list[str]) -> list[str]:
        """What is compared: the agent, with the model where an agent ran with several."""
        models = self._texts.get("model")
        if models is None:
            return agents
        seen: dict[str, str] = {}
        pairs = list(zip(agents, models, strict=True))
        several = {agent for agent, model in pairs if model and seen.setdefault(agent, model) != model}
        return [f"{agent} · {model}" if agent in several and model else agent for agent, model in pairs]

    def _tasks(self) -> list[str]:
        """The tasks, with the name of their suite where the file has several."""
        tasks, suites = self._texts["task"], self._texts.get("suite")
        if suites is None or len(set(suites)) < 2:
            return tasks
        return [f"{suite}/{task}" if suite else task for suite, task in zip(suites, tasks, strict=True)]

    def _trials(
        self, methods: list[str], tasks: list[str], number_trials: bool, notes: list[str]
    ) -> tuple[list[float], list[str], list[str]]:
        """The number and the label of each trial, and the attempts that are there twice."""
        given = self._texts.get("trial")
        if number_trials or given is None:
            counts: dict[tuple[str, str], int] = {}
            labels = []
            for cell in zip(methods, tasks, strict=True):
                counts[cell] = counts.get(cell, 0) + 1
                labels.append(str(counts[cell]))
            if number_trials:
                notes.append("trials are numbered in the order of the file")
                return [float(label) for label in labels], labels, []
            labels = ["1"] * len(methods)
        else:
            labels = given
        repeated = []
        first: dict[tuple[str, str, str], int] = {}
        for line, key in zip(self._lines, zip(methods, tasks, labels, strict=True), strict=True):
            before = first.setdefault(key, line)
            if before != line:
                which = f", trial {key[2]!r}" if given is not None else ""
                why = "" if given is not None else "; --trial COLUMN or --number-trials tells them apart"
                repeated.append(
                    f"{self._file}:{line}: the attempt of {key[0]!r} at {key[1]!r}{which} "
                    f"stands at line {before} already{why}"
                )
        if all(label.isdecimal() for label in labels):
            return [float(label) for label in labels], labels, repeated
        notes.append("trials are numbered in the order of their labels")
        cells: dict[tuple[str, str], list[str]] = {}
        for method, task, label in zip(methods, tasks, labels, strict=True):
            cells.setdefault((method, task), []).append(label)
        number = {
            (*cell, label): float(place)
            for cell, inside in cells.items()
            for place, label in enumerate(sorted(inside), 1)
        }
        return [number[key] for key in zip(methods, tasks, labels, strict=True)], labels, repeated

    def _number(self, line: int, role: str, cell: str) -> float:
        try:
            number = float(cell)
        except ValueError:
            if cell.strip().lower() not in MISSING:
                self._mistake(line, f"{self._columns.taken[role]} is {cell.strip()[:40]!r}, not a number")
            return math.nan
        if number < 0 or math.isinf(number):
            self._mistake(line, f"{self._columns.taken[role]} is {cell.strip()[:40]}, which no attempt can take")
        return number

    def _outcome(self, line: int, word: str) -> str:
        """What an outcome means; a word that means nothing is a mistake in every row that has it."""
        if word in self._unknown:
            status = UNKNOWN
        elif self._success:
            status = self._as_asked(word)
        else:
            status = OUTCOMES.get(word, "")
        if not status:
            name = self._columns.taken["outcome"]
            self._mistake(
                line, f"{name} is {word[:40]!r}: neither success nor failure (--success VALUE says what a success is)"
            )
            return UNKNOWN
        self._outcomes[word] = status
        return status

    def _as_asked(self, word: str) -> str:
        """What an outcome means when the caller said what a success is."""
        if word in self._success:
            return SUCCESS
        usual = OUTCOMES.get(word, "")
        if self._thresholds and word not in MISSING:
            try:
                return SUCCESS if float(word) >= min(self._thresholds) else FAILURE
            except ValueError:
                return ""
        return FAILURE if usual in ("", SUCCESS) else usual

    def _end(self, cell: str) -> tuple[str, str]:
        """What ended an attempt, and the tag that names it."""
        known = self._ends.get(cell)
        if known is None:
            word = plain(cell)
            if word in self._timeout or word in CAPPED:
                known = ("resource", cell.strip())
            elif word in BROKEN:
                known = ("infrastructure", cell.strip())
            elif word in FINISHED:
                known = ("finished", "")
            else:
                known = ("unknown", cell.strip().replace(";", ","))
            self._ends[cell] = known
        return known

    def _mistake(self, line: int, what: str) -> None:
        self.mistaken += 1
        if len(self.mistakes) < MISTAKES:
            self.mistakes.append(f"{self._file}:{line}: {what}")


def _forget_empty_meters(columns: dict[str, Any], notes: list[str]) -> None:
    """An agent whose meter never moved was not metered: nothing is known about its tokens or costs, which is not 0."""
    import numpy as np

    agents = columns["agent"]
    names = [name for name in ("cost_usd", "tokens_in", "tokens_out") if name in columns]
    for name in names:
        totals = np.bincount(agents.codes, np.nan_to_num(columns[name]), minlength=len(agents.names))
        has = np.bincount(agents.codes, ~np.isnan(columns[name]), minlength=len(agents.names)) > 0
        silent = (totals == 0) & has
        if silent.any():
            columns[name][silent[agents.codes]] = np.nan
            notes.append(f"{name} is 0 in every row of {int(silent.sum())} agents: taken as not measured")


def check_threshold(word: str) -> None:
    """Refuse a threshold that is not one."""
    if word.strip().startswith((">", "<", "=")) and not THRESHOLD.match(word.strip()):
        raise UsageFault(f"{word!r} is no threshold", hint="write it like --success '>=0.9'")
