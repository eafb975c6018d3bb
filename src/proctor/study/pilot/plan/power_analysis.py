"""Whether a plan can detect the effect that matters: by formula and by simulation, under every assumed correlation.

The plan is supported when the formula reaches the wanted power in every case that the pilot assumes and the simulation
does not contradict it, which can happen with few tasks: the simulated studies are decided as reports are, by the t
test, and by flipped signs too where tasks are fewer than 20 or where all methods are compared with each other. Fewer
tasks than signs need to fall below the level support nothing. Runs that will not be scorable are counted as fewer
tasks, which is conservative. Where all methods are compared with each other, every pair gets its share of alpha, as the
first step of Holm's procedure gives it, which asks a little more than reports do; where interim looks are planned, what
the last look has left of alpha counts.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from functools import cache
from math import comb
from typing import Any

from numpy.random import PCG64, Generator, SeedSequence

from proctor.base.canonical import sha256
from proctor.study.statements import Statement, statement
from proctor.study.stats.alpha_spending import boundaries
from proctor.study.stats.statistical_power import (
    Design,
    Point,
    Test,
    confirmed,
    decisions,
    design_effect,
    formula_point,
    minimum_detectable,
    paired_power,
    simulated_point,
    tasks_needed,
    two_proportions_tasks,
)

DRAWS = 2_000
GRID = (*(5, 10, 15, 20, 25, 30, 40, 50, 60, 75), *(100, 125, 150, 200, 250, 300, 400, 500, 750, 1000))
PLACES = 4
LEAST_TASKS = 2
MOST_TASKS = 100_000
MOST_STEPS = 60
LEAST_LEVEL = 1e-6
"""The smallest level that a recorded analysis can show."""


@dataclass(frozen=True)
class PowerQuestion:
    """The question of a power analysis. ``tasks`` are those that are expected to count."""

    tasks: int
    runs: int
    effect: float
    rate: float
    iccs: tuple[float, ...]
    correlations: tuple[float, ...]
    alpha: float
    target: float
    seed: int
    comparisons: int = 1
    looks: tuple[float, ...] = ()

    @property
    def level(self) -> float:
        """The two-sided level at which one comparison is decided at the end."""
        return _last_level(self.looks, self.alpha / self.comparisons)

    @property
    def least_tasks(self) -> int:
        """The smallest number of tasks that can show a difference."""
        return least_tasks(self.level)

    @property
    def test(self) -> Test:
        """The test that decides a report which compares as many."""
        return decisions if self.comparisons == 1 else confirmed

    def design(self, icc: float, correlation: float) -> Design:
        """The design of the estimators for one pair of correlations."""
        return Design(self.rate, icc, correlation, self.tasks, self.runs, self.level)


@dataclass(frozen=True)
class Row:
    """The plan under one pair of correlations.

    ``smallest`` is the least effect that would be detected, ``needed`` how many tasks are enough, both by formula, but
    not fewer tasks than can show anything; ``None`` if there is no such effect or number. ``apart`` is how many tasks
    each method would need if they shared none.
    """

    icc: float
    correlation: float
    design_effect: float
    power: float
    simulated: Point
    smallest: float | None
    needed: int | None
    apart: int

    @property
    def agree(self) -> bool:
        """Whether the simulation does not contradict the formula."""
        return self.simulated.low <= self.power <= self.simulated.high

    def supported(self, target: float) -> bool:
        """Whether the formula reaches ``target`` and the simulation may as well."""
        return self.power >= target and self.simulated.high >= target


@dataclass(frozen=True)
class Analysis:
    """The answer: a row for each pair of correlations; none with too few tasks to compare.

    ``enough`` is how many tasks are enough in every case, by formula and simulation, where those of the plan are not.
    """

    question: PowerQuestion
    rows: tuple[Row, ...]
    enough: int | None = None

    @property
    def worst(self) -> Row | None:
        """The row with the least power."""
        return min(self.rows, key=lambda row: min(row.power, row.simulated.power), default=None)

    @property
    def supported(self) -> bool:
        """Whether every row is, and the tasks are enough to show anything at all."""
        if self.question.tasks < self.question.least_tasks:
            return False
        return bool(self.rows) and all(row.supported(self.question.target) for row in self.rows)


def answer(record: Mapping[str, Any], removed: bool = False) -> Statement:
    """The answer of a recorded analysis; ``removed`` is whether it leaves out removed tasks.

    It has the least power by formula, and the least power in simulated studies if a simulation contradicts the formula.
    """
    asked, rows, enough = record["question"], record["rows"], record["tasks_that_would_do"]
    tasks, level = int(asked["tasks"]), float(asked["level"])
    known = {"removed": removed, "tasks": tasks, "effect": float(asked["effect"]), "target": float(asked["power"])}
    if not rows:
        return statement("power-without-tasks", **known, least_tasks=LEAST_TASKS)
    least_p = 2.0 ** (1 - tasks)
    if not record["supported"] and least_p >= level:
        few = {"level": level, "least_p": least_p, "least_tasks": least_tasks(level), "tasks_needed": enough}
        return statement("power-with-too-few-tasks", **known, **few)
    agree = all(
        float(row["simulated"]["low"]) <= float(row["power"]) <= float(row["simulated"]["high"]) for row in rows
    )
    formula = min(rows, key=lambda row: float(row["power"]))
    drawn = min(rows, key=lambda row: float(row["simulated"]["power"]))
    seen = {
        "formula": [_case(formula, formula["power"])],
        "simulated": [] if agree else [_case(drawn, drawn["simulated"]["power"])],
    }
    if record["supported"]:
        return statement("power-reached", **known, **seen)
    return statement("power-missed", **known, **seen, tasks_needed=enough)


def _case(row: Mapping[str, Any], power: str) -> dict[str, float]:
    return {"power": float(power), "icc": float(row["icc"]), "correlation": float(row["correlation"])}


def least_tasks(level: float) -> int:
    """The fewest tasks that can show anything: if all differ alike, p comes from signs, below the level."""
    tasks = LEAST_TASKS
    while 2.0 ** (1 - tasks) >= max(level, LEAST_LEVEL):
        tasks += 1
    return tasks


def question_of(protocol: Mapping[str, Any]) -> PowerQuestion:
    """The question of a protocol."""
    assumed, compared = protocol["assumed"], [one for one in protocol["methods"] if not one["baseline"]]
    pairs = 1 if protocol["comparison"] else max(1, comb(len(compared), 2))
    return PowerQuestion(
        tasks=int(len(protocol["tasks"]) * (1 - float(assumed["invalid"])) + 1e-9),
        runs=protocol["runs_per_task"],
        effect=float(protocol["minimum_effect"]),
        rate=float(assumed["rate"]),
        iccs=tuple(float(icc) for icc in assumed["icc"]),
        correlations=tuple(float(one) for one in assumed["correlation"]),
        alpha=float(protocol["alpha"]),
        target=float(protocol["power"]),
        seed=protocol["seeds"]["observed"],
        comparisons=pairs,
        looks=tuple(float(look) for look in protocol["stopping"]["looks"]),
    )


def analyse(question: PowerQuestion, draws: int = DRAWS) -> Analysis:
    """The power of a plan."""
    if question.tasks < LEAST_TASKS:
        return Analysis(question, ())
    rows = []
    raised = question.rate + question.effect
    for icc, correlation in _pairs(question):
        design = question.design(icc, correlation)
        needed = tasks_needed(design, question.effect, question.target)
        rows.append(
            Row(
                icc=icc,
                correlation=correlation,
                design_effect=design_effect(question.runs, icc),
                power=paired_power(design, question.effect),
                simulated=_simulated(question, design, draws),
                smallest=minimum_detectable(design, question.target),
                needed=None if needed is None else max(needed, question.least_tasks),
                apart=two_proportions_tasks(question.rate, raised, question.runs, icc, design.alpha, question.target),
            )
        )
    found = Analysis(question, tuple(rows))
    return found if found.supported else replace(found, enough=_enough(found, draws))


def _enough(found: Analysis, draws: int) -> int | None:
    """The first number of tasks, in steps of a tenth, at which formula and simulation agree that it is enough.

    It is so in every row: the one with the least power need not be the one that needs the most tasks. The simulation
    draws what it would draw for a plan of that number, so that such a plan gets the same answer.
    """
    question = found.question

    def enough(row: Row, tasks: int) -> bool:
        design = replace(question, tasks=tasks).design(row.icc, row.correlation)
        if paired_power(design, question.effect) < question.target:
            return False
        return _simulated(question, design, draws).high >= question.target

    needed = [row.needed for row in found.rows]
    counts = [count for count in needed if count is not None]
    if len(counts) < len(needed):
        return None
    tasks = max(*counts, question.tasks + 1, question.least_tasks)
    for _ in range(MOST_STEPS):
        if tasks > MOST_TASKS:
            return None
        if all(enough(row, tasks) for row in found.rows):
            return tasks
        tasks = max(tasks + 1, tasks * 11 // 10)
    return None


def _simulated(question: PowerQuestion, design: Design, draws: int) -> Point:
    """Studies of one design, decided as their report will be; the same ones regardless of the other designs."""
    key = sha256(f"{design.icc:g} {design.correlation:g} {design.tasks}".encode()).removeprefix("sha256:")
    rng = generator(question.seed, int(key[:8], 16))
    return simulated_point(design, question.effect, rng, draws, question.test)


def curve(question: PowerQuestion) -> list[tuple[int, Row]]:
    """The same by formula over numbers of tasks, those of the plan among them; the simulation is left out."""
    found = []
    for tasks in sorted({*GRID, *(count for count in (question.tasks,) if count >= LEAST_TASKS)}):
        asked = replace(question, tasks=tasks)
        for icc, correlation in _pairs(asked):
            design = asked.design(icc, correlation)
            power = paired_power(design, asked.effect)
            least = minimum_detectable(design, asked.target)
            point = formula_point(design, asked.effect)
            effect = design_effect(asked.runs, icc)
            found.append((tasks, Row(icc, correlation, effect, power, point, least, None, 0)))
    return found


def generator(seed: int, number: int) -> Generator:
    """A stream of random numbers of its own for each part of an analysis."""
    return Generator(PCG64(SeedSequence(seed, spawn_key=(number,))))


def record(analysis: Analysis, draws: int = DRAWS) -> dict[str, Any]:
    """The analysis as data; shares are decimal texts."""
    asked = analysis.question
    return {
        "schema": 1,
        "kind": "proctor.power",
        "question": {
            "tasks": asked.tasks,
            "runs_per_task": asked.runs,
            "effect": text(asked.effect),
            "rate": text(asked.rate),
            "alpha": text(asked.alpha),
            "comparisons": asked.comparisons,
            "looks": [text(look) for look in asked.looks],
            "level": text(asked.level, 6),
            "power": text(asked.target),
        },
        "method": "paired-t-and-signs",
        "draws": draws,
        "seed": asked.seed,
        "rows": [_row(row) for row in analysis.rows],
        "supported": analysis.supported,
        "tasks_that_would_do": analysis.enough,
    }


def text(value: float, places: int = PLACES) -> str:
    """A number as records have it."""
    return f"{value:.{places}f}"


def _row(row: Row) -> dict[str, Any]:
    return {
        "icc": text(row.icc),
        "correlation": text(row.correlation),
        "design_effect": text(row.design_effect),
        "power": text(row.power),
        "simulated": {name: text(getattr(row.simulated, name)) for name in ("power", "low", "high")},
        "minimum_detectable_effect": None if row.smallest is None else text(row.smallest),
        "tasks_needed": row.needed,
        "tasks_needed_unpaired": row.apart,
    }


@cache
def _last_level(looks: tuple[float, ...], alpha: float) -> float:
    """What the last look has left of ``alpha``; all of it where it is the only one."""
    if not looks:
        return alpha
    return boundaries(looks, alpha).nominal[-1]


def _pairs(question: PowerQuestion) -> Iterator[tuple[float, float]]:
    for icc in question.iccs:
        for correlation in question.correlations:
            yield icc, correlation
