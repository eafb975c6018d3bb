"""Everything that is made from a protocol, as bytes by file name: the same protocol and prices give the same bytes.

randomisation.csv    the order of all runs
power.json, .csv     whether the plan can detect the effect that matters; the same over numbers of tasks; power.svg
projection.csv       what the plan costs, block by block; projection.json its sums, projection.svg its curve
cost_model.csv       the lines of the expected cost of a run, by task and method
cost_inputs.json     what the projection was made from
rubric.csv           the table that reviewers fill in; rubric.json the rubric; taxonomy.jsonl the kinds of failures
sanity.json          whether the plan is what a plan must be; monotonicity.json whether its numbers move as they must

A plan's curves are small self-contained SVG files: lines over one axis, distinguished by dashes as well as by colour.
Pure text from numbers. Reports draw their own figures; these are stored beside the tables that they show.
"""

from __future__ import annotations

import csv
import io
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from html import escape
from math import ceil, floor, log10
from typing import Any

from proctor.base.canonical import canonical
from proctor.base.errors import InfrastructureFault
from proctor.execute.monitor.price_table import PriceTable, plain
from proctor.judge.scoring_rubric import RUBRIC, TEMPLATE
from proctor.judge.taxonomy import PATH as TAXONOMY
from proctor.study.pilot.plan import plan_checks, power_analysis
from proctor.study.pilot.plan.cost_projection import LEVELS, BlockCost, Projection, inputs
from proctor.study.pilot.plan.frozen_plan import RANDOMISATION
from proctor.study.pilot.plan.protocol import design_of
from proctor.study.pilot.plan.randomisation import Slot, randomise, to_csv

WIDTH, HEIGHT = 720, 410
LEFT, RIGHT, TOP, BOTTOM = 70, 640, 56, 330
COLOURS = ("#1f5fa8", "#a8451f", "#2e7d32", "#7b3fa0", "#6b6b00")
DASHES = ("none", "7 4", "2 3", "10 3 2 3", "5 2")
TICKS = 5
STEPS = (1.0, 1.5, 2.0, 2.5, 3.0, 4.0, 5.0, 6.0, 7.5, 8.0)
MOST_POINTS = 400


@dataclass(frozen=True)
class Line:
    """One line with its name."""

    name: str
    points: tuple[tuple[float, float], ...]


def svg(
    title: str,
    across: str,
    up: str,
    lines: Sequence[Line],
    level: tuple[str, float] | None = None,
    at_x: tuple[str, float] | None = None,
) -> bytes:
    """The figure of ``lines``; ``level`` and ``at_x`` are named values to compare them with."""
    points = [point for line in lines for point in line.points]
    right = _round_up(max([x for x, _ in points] + ([at_x[1]] if at_x else []), default=1.0))
    top = _round_up(max([y for _, y in points] + ([level[1]] if level else []), default=1.0))

    def at(x: float, y: float) -> str:
        return f"{LEFT + (RIGHT - LEFT) * x / right:.1f},{BOTTOM - (BOTTOM - TOP) * y / top:.1f}"

    body = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {HEIGHT}" role="img" '
        'aria-labelledby="title describe" font-family="sans-serif" font-size="12">',
        f'<title id="title">{escape(title)}</title>',
        f'<desc id="describe">{escape(_describe(across, up, lines, (level, at_x)))}</desc>',
        f'<rect width="{WIDTH}" height="{HEIGHT}" fill="#ffffff"/>',
        f'<text x="{LEFT}" y="22" font-size="15" font-weight="bold">{escape(title)}</text>',
        *_axes(across, up, right, top),
    ]
    if level:
        name, value = level
        body.append(f'<polyline points="{at(0, value)} {at(right, value)}" stroke="#555555" stroke-dasharray="1 3"/>')
        y = BOTTOM - (BOTTOM - TOP) * value / top
        body.append(f'<text x="{RIGHT + 8}" y="{y + 4:.1f}" fill="#333333">{escape(name)}</text>')
    if at_x:
        name, value = at_x
        body.append(f'<polyline points="{at(value, 0)} {at(value, top)}" stroke="#555555" stroke-dasharray="1 3"/>')
        x = LEFT + (RIGHT - LEFT) * value / right
        body.append(f'<text x="{x:.1f}" y="{TOP - 4}" text-anchor="middle" fill="#333333">{escape(name)}</text>')
    for index, line in enumerate(lines):
        colour, dash = COLOURS[index % len(COLOURS)], DASHES[index % len(DASHES)]
        drawn = " ".join(at(x, y) for x, y in _thinned(line.points))
        body.append(
            f'<polyline points="{drawn}" fill="none" stroke="{colour}" stroke-width="2" stroke-dasharray="{dash}"/>'
        )
        y = HEIGHT - 18
        left = LEFT + index * (WIDTH - LEFT) // max(len(lines), 1)
        body.append(
            f'<polyline points="{left},{y - 4} {left + 28},{y - 4}" stroke="{colour}" stroke-dasharray="{dash}"'
        )
        body[-1] += ' stroke-width="2"/>'
        body.append(f'<text x="{left + 34}" y="{y}">{escape(line.name)}</text>')
    return "\n".join([*body, "</svg>", ""]).encode()


def _axes(across: str, up: str, right: float, top: float) -> Iterator[str]:
    for tick in range(TICKS + 1):
        x = LEFT + (RIGHT - LEFT) * tick / TICKS
        y = BOTTOM - (BOTTOM - TOP) * tick / TICKS
        yield f'<polyline points="{LEFT},{y:.1f} {RIGHT},{y:.1f}" stroke="#dddddd"/>'
        yield f'<text x="{LEFT - 8}" y="{y + 4:.1f}" text-anchor="end">{top * tick / TICKS:g}</text>'
        yield f'<text x="{x:.1f}" y="{BOTTOM + 18}" text-anchor="middle">{right * tick / TICKS:g}</text>'
    yield f'<polyline points="{LEFT},{TOP} {LEFT},{BOTTOM} {RIGHT},{BOTTOM}" fill="none" stroke="#333333"/>'
    yield f'<text x="{(LEFT + RIGHT) // 2}" y="{BOTTOM + 36}" text-anchor="middle">{escape(across)}</text>'
    middle = (TOP + BOTTOM) // 2
    yield f'<text x="16" y="{middle}" text-anchor="middle" transform="rotate(-90 16 {middle})">{escape(up)}</text>'


def _describe(across: str, up: str, lines: Sequence[Line], marks: Sequence[tuple[str, float] | None]) -> str:
    """The ends of every line as text, for readers who cannot see the figure."""
    parts = [
        f"{line.name}: {up} {line.points[0][1]:g} at {line.points[0][0]:g}, {line.points[-1][1]:g} at "
        f"{line.points[-1][0]:g} ({across})"
        for line in lines
        if line.points
    ]
    return "; ".join([*parts, *(f"{mark[0]} is at {mark[1]:g}" for mark in marks if mark)])


def _thinned(points: Sequence[tuple[float, float]]) -> Sequence[tuple[float, float]]:
    """At most as many points as are visible, the last one included."""
    step = max(1, ceil(len(points) / MOST_POINTS))
    return [*points[:-1:step], *points[-1:]]


def _round_up(value: float) -> float:
    """The next value that five equal ticks show well."""
    if value <= 0:
        return 1.0
    size = 10.0 ** floor(log10(value))
    return next((step * size for step in STEPS if step * size >= value * 0.999999), 10 * size)


SHOWN_POWER = 0.99
"""The curve ends where more tasks add no power."""


def make_artefacts(protocol: Mapping[str, Any], prices: PriceTable | None = None) -> dict[str, bytes]:
    """The artefacts of a plan. A plan that contradicts itself is a fault of the program and is not returned."""
    slots = randomise(design_of(protocol))
    projection = Projection(protocol, prices)
    blocks = projection.blocks(slots)
    question = power_analysis.question_of(protocol)
    analysis = power_analysis.analyse(question)
    must = {"structure": plan_checks.structure(protocol, slots), "money": plan_checks.money(projection, slots, blocks)}
    broken = [check for found in must.values() for check in found if not check.held]
    if broken:
        words = f"the plan contradicts itself: {broken[0].name} ({broken[0].seen})"
        raise InfrastructureFault(words, hint="this is a defect of Proctor; nothing was frozen")
    return {
        RANDOMISATION: to_csv(slots),
        "power.json": canonical(power_analysis.record(analysis)),
        "power.csv": _power_table(question),
        "power.svg": _power_curve(question),
        "projection.csv": _projection_table(blocks),
        "projection.json": canonical(projection.summary(slots)),
        "projection.svg": _projection_curve(protocol, blocks),
        "cost_model.csv": _cost_model(projection, slots),
        "cost_inputs.json": canonical(inputs(protocol, prices)),
        "rubric.csv": TEMPLATE.read_bytes(),
        "rubric.json": RUBRIC.read_bytes(),
        "taxonomy.jsonl": TAXONOMY.read_bytes(),
        "sanity.json": canonical(plan_checks.record("sanity", {**must, "power": plan_checks.power(analysis)})),
        "monotonicity.json": canonical(
            plan_checks.record("monotonicity", {"monotonicity": plan_checks.monotonicity(question, blocks)})
        ),
    }


def _power_table(question: power_analysis.PowerQuestion) -> bytes:
    head = ["tasks", "runs_per_task", "icc", "correlation", "effect", "power", "minimum_detectable_effect"]
    rows = []
    for tasks, row in power_analysis.curve(question):
        shares = [power_analysis.text(value) for value in (row.icc, row.correlation, question.effect, row.power)]
        least = "" if row.smallest is None else power_analysis.text(row.smallest)
        rows.append([str(tasks), str(question.runs), *shares, least])
    return _table(head, rows)


def _power_curve(question: power_analysis.PowerQuestion) -> bytes:
    """Power over tasks for each correlation of runs, with the lowest assumed correlation of methods."""
    least = min(question.correlations)
    rows = [(tasks, row) for tasks, row in power_analysis.curve(question) if row.correlation == least]
    short = [tasks for tasks, row in rows if row.power < SHOWN_POWER]
    enough = next((tasks for tasks, _ in rows if tasks > max(short, default=0)), rows[-1][0])
    rows = [(tasks, row) for tasks, row in rows if tasks <= max(enough, question.tasks)]
    lines = [
        Line(f"icc {icc:g}", tuple((float(tasks), row.power) for tasks, row in rows if row.icc == icc))
        for icc in question.iccs
    ]
    title = f"Power to see {question.effect:g} with {question.runs} runs of each task"
    return svg(title, "tasks", "power", lines, ("wanted", question.target), ("the plan", float(question.tasks)))


def _projection_table(blocks: Sequence[BlockCost]) -> bytes:
    head = ["block", "stage", "stratum", "task", "repeat", "runs", "runs_so_far"]
    head += [f"{level}_usd" for level in LEVELS] + [f"{level}_usd_so_far" for level in LEVELS]
    rows, done = [], 0
    for block in blocks:
        done += block.runs
        slot = block.slot
        begin = [str(slot.block), slot.stage, slot.stratum, slot.task, str(slot.repeat), str(block.runs), str(done)]
        rows.append([*begin, *(plain(usd) for usd in (*block.usd, *block.up_to))])
    return _table(head, rows)


def _projection_curve(protocol: Mapping[str, Any], blocks: Sequence[BlockCost]) -> bytes:
    runs, points = 0, []
    for block in blocks:
        runs += block.runs
        points.append((float(runs), [float(usd) for usd in block.up_to]))
    lines = [Line(level, ((0.0, 0.0), *((at, usd[index]) for at, usd in points))) for index, level in enumerate(LEVELS)]
    cap = ("budget", float(protocol["budgets"]["pilot_usd"]))
    return svg("Projected cost of the pilot", "runs", "USD so far", lines, cap)


def _cost_model(projection: Projection, slots: Sequence[Slot]) -> bytes:
    head = [
        "task",
        "method",
        "phase",
        "part",
        "action",
        "unit",
        "model",
        "quantity",
        "unit_price",
        "amount",
        "currency",
    ]
    rows = []
    for task, method in sorted({(slot.task, slot.method) for slot in slots}):
        for item in projection.run(task, method, True).items:
            named = [task, method, item.phase, item.part, item.action, item.unit, item.model]
            amounts = [plain(value) for value in (item.quantity, item.price, item.amount)]
            rows.append([*named, *amounts, projection.table.currency])
    return _table(head, rows)


def _table(head: Sequence[str], rows: Iterable[Sequence[str]]) -> bytes:
    written = io.StringIO()
    writer = csv.writer(written, lineterminator="\n")
    writer.writerow(head)
    writer.writerows(rows)
    return written.getvalue().encode()
