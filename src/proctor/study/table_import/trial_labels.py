"""The methods that are compared, from agents and models, and the trials of each, from their labels."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from decimal import Decimal

import numpy as np
from numpy.typing import NDArray

from proctor.study.run_table import Coded, Floats
from proctor.study.statements import Statement, statement

ORDERED = "trials-by-order"
NUMBER = re.compile(r"[0-9]{1,30}(?:\.[0-9]{1,30})?")
MOST_DIGITS = 15
"""Longer labels are not numbers of trials: floats could not distinguish them."""
FIRST = "1"
SORTED = "trials-by-label"


@dataclass(frozen=True)
class Trials:
    """The number and the label of each attempt, the attempts that are repeated, and notes."""

    numbers: Floats
    labels: Sequence[str]
    repeated: tuple[tuple[int, str], ...] = ()
    """Each with its line."""
    notes: tuple[Statement, ...] = ()


def joined(one: Coded, other: Coded, name: Callable[[str, str], str]) -> Coded:
    """The column that names each pair of two columns."""
    size = max(1, len(other.names))
    pairs, place = np.unique(one.codes.astype(np.int64) * size + other.codes, return_inverse=True)
    names = Coded.of(name(one.names[pair // size], other.names[pair % size]) for pair in pairs.tolist())
    return Coded(names.codes[place], names.names)


def methods(agent: Coded, model: Coded | None) -> Coded:
    """What is compared: the agent, with the model if an agent ran with several."""
    if model is None:
        return agent
    size = max(1, len(model.names))
    pairs = np.unique(agent.codes.astype(np.int64) * size + model.codes).tolist()
    seen: dict[int, set[str]] = {}
    for pair in pairs:
        seen.setdefault(pair // size, set()).add(model.names[pair % size])
    several = {agent.names[code] for code, models in seen.items() if len(models - {""}) > 1}
    return joined(agent, model, lambda one, other: f"{one} · {other}" if one in several and other else one)


def trials(
    lines: Sequence[int],
    method: Coded,
    task: Coded,
    label: Coded | None,
    number_trials: bool,
    place_of: Callable[[int], str] = "line {}".format,
) -> Trials:
    """The trials of each method at each task. An attempt without a label is the first, like the only one.

    ``place_of`` names the place of a line in messages.
    """
    cell = method.codes.astype(np.int64) * max(1, len(task.names)) + task.codes
    if number_trials:
        numbers = _places(cell, np.arange(len(cell)))
        return Trials(numbers, [f"{number:.0f}" for number in numbers.tolist()], (), (statement(ORDERED),))
    told = Coded(np.zeros(len(cell), dtype=np.int32), (FIRST,))
    if label is not None:
        told = Coded(label.codes, (name or FIRST for name in label.names))
    key = cell * max(1, len(told.names)) + _alike(told.names)[told.codes]
    labels = list(map(str, told))
    _, place, counts = np.unique(key, return_inverse=True, return_counts=True)
    again = np.flatnonzero(counts[place] > 1)
    if len(again):
        return Trials(np.zeros(0), [], _repeated(lines, method, task, label, again, place, place_of))
    if all(name.isdecimal() and len(name) <= MOST_DIGITS for name in told.names):
        return Trials(np.array([float(name) for name in told.names])[told.codes], labels)
    return Trials(_places(cell, told.used().codes), labels, (), (statement(SORTED),))


def _alike(names: Sequence[str]) -> NDArray[np.int64]:
    """A number for each label, the same for those that write one number in different ways: 1, 01 and 1.0."""
    found: dict[str | Decimal, int] = {}
    keys = (Decimal(name) if NUMBER.fullmatch(name) else name for name in names)
    return np.array([found.setdefault(key, len(found)) for key in keys], dtype=np.int64)


def _places(cell: NDArray[np.int64], rank: NDArray[np.integer]) -> Floats:
    """The place of each row among those of its cell, from 1, by rank."""
    order = np.lexsort((rank, cell))
    ordered = cell[order]
    first = np.concatenate(([True], ordered[1:] != ordered[:-1])) if len(ordered) else np.zeros(0, dtype=bool)
    start = np.maximum.accumulate(np.where(first, np.arange(len(ordered)), 0))
    found = np.empty(len(ordered))
    found[order] = np.arange(len(ordered)) - start + 1
    return found


def _repeated(
    lines: Sequence[int],
    method: Coded,
    task: Coded,
    label: Coded | None,
    rows: NDArray[np.int64],
    place: NDArray[np.int64],
    place_of: Callable[[int], str],
) -> tuple[tuple[int, str], ...]:
    """Every repeated attempt, with both places."""
    first: dict[int, int] = {}
    found = []
    for row in rows.tolist():
        before = first.setdefault(int(place[row]), row)
        if before != row:
            which = f", trial {label[row] or FIRST!r}" if label is not None else ""
            hint = "" if label is not None else "; --trial COLUMN or --number-trials distinguishes them"
            what = f"the attempt of {method[row]!r} at {task[row]!r}{which}"
            found.append((lines[row], f"{what} is already at {place_of(lines[before])}{hint}"))
    return tuple(found)
