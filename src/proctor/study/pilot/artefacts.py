"""Everything that is made from a protocol, as bytes by file name: the same protocol and prices give the same bytes.

randomisation.csv    the order of all runs
power.json, .csv     whether the plan can see the effect that matters; the same over numbers of tasks; power.svg
projection.csv       what the plan costs, block by block; projection.json its sums, projection.svg its curve
cost_model.csv       the lines of the expected cost of a run, by task and method
cost_inputs.json     what the projection was made from
rubric.csv           the table that reviewers fill in; rubric.json the rubric; taxonomy.jsonl the kinds of failures
sanity.json          whether the plan is what a plan must be; monotonicity.json whether its numbers move as they must
"""

from __future__ import annotations

import csv
import io
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from proctor.base.canonical import canonical
from proctor.base.errors import InfrastructureFault
from proctor.execute.watch.money import plain
from proctor.execute.watch.prices import PriceTable
from proctor.judge.rubric import RUBRIC, TEMPLATE
from proctor.judge.taxonomy import PATH as TAXONOMY
from proctor.study.pilot import checks, power
from proctor.study.pilot.curve import Line, svg
from proctor.study.pilot.plan import RANDOMISATION
from proctor.study.pilot.projection import LEVELS, BlockCost, Projection, inputs
from proctor.study.pilot.protocol import design_of
from proctor.study.pilot.randomise import Slot, randomise, to_csv

SHOWN_POWER = 0.99
"""The curve ends where nothing is left to be gained."""


def make_artefacts(protocol: Mapping[str, Any], prices: PriceTable | None = None) -> dict[str, bytes]:
    """The artefacts of a plan. A plan that contradicts itself is a fault of the program and is not handed out."""
    slots = randomise(design_of(protocol))
    projection = Projection(protocol, prices)
    blocks = projection.blocks(slots)
    question = power.question_of(protocol)
    analysis = power.analyse(question)
    must = {"structure": checks.structure(protocol, slots), "money": checks.money(projection, slots, blocks)}
    broken = [check for found in must.values() for check in found if not check.held]
    if broken:
        words = f"the plan contradicts itself: {broken[0].name} ({broken[0].seen})"
        raise InfrastructureFault(words, hint="this is a defect of Proctor; nothing was frozen")
    return {
        RANDOMISATION: to_csv(slots),
        "power.json": canonical(power.record(analysis)),
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
        "sanity.json": canonical(checks.record("sanity", {**must, "power": checks.power(analysis)})),
        "monotonicity.json": canonical(
            checks.record("monotonicity", {"monotonicity": checks.monotonicity(question, blocks)})
        ),
    }


def _power_table(question: power.Question) -> bytes:
    head = ["tasks", "runs_per_task", "icc", "correlation", "effect", "power", "minimum_detectable_effect"]
    rows = []
    for tasks, row in power.curve(question):
        shares = [power.text(value) for value in (row.icc, row.correlation, question.effect, row.power)]
        least = "" if row.smallest is None else power.text(row.smallest)
        rows.append([str(tasks), str(question.runs), *shares, least])
    return _table(head, rows)


def _power_curve(question: power.Question) -> bytes:
    """Power over tasks for each correlation of runs, with the methods as little alike as was assumed."""
    least = min(question.correlations)
    rows = [(tasks, row) for tasks, row in power.curve(question) if row.correlation == least]
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
