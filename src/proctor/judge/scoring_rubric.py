"""The published rubric, as data: gates and what shows them, and the weights of the three scores. Read once.

    data/rubric.json   the rubric; the weights of the graded score are the default of a contract
    data/rubric.csv    the head of a table with one row a run, which reviewers fill in further

Also: weighted sums in exact decimals, the rubric as an SVG figure, and the sensitivity of a ranking to the weights.
Each weight in turn is moved down and up by every step, the others keep their proportions and the sum stays 1. For each
such weighting the ranking of the agents is compared with the one of the contract's weights by Kendall's tau-b. Scores
are means over the runs of an agent that passed every gate; the number of those runs is given with each mean.
"""

from __future__ import annotations

import csv
import io
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from decimal import ROUND_HALF_EVEN, Context, Decimal
from functools import cache
from itertools import combinations
from pathlib import Path
from typing import Any

from proctor.base.canonical import parse, sha256
from proctor.base.dataclass_fields import field_items
from proctor.base.reversible_escapes import escape_cell
from proctor.judge.run_verdict import gate_verdict
from proctor.record.report_model import Report

CONTEXT = Context(prec=40, rounding=ROUND_HALF_EVEN)
_PLACES = Decimal("0.000001")


def decimal_text(value: Decimal) -> str:
    """A number as records hold it, with six places."""
    rounded = value.quantize(_PLACES, context=CONTEXT)
    return str(rounded if rounded else abs(rounded))


def share(part: Decimal | int, whole: Decimal | int) -> Decimal:
    """``part`` of ``whole``, which is not 0."""
    return CONTEXT.divide(Decimal(part), Decimal(whole))


def weighted(weights: Mapping[str, Decimal], parts: Mapping[str, Decimal]) -> Decimal:
    """The sum of all parts, each times its weight."""
    total = Decimal(0)
    for name, value in parts.items():
        total = CONTEXT.add(total, CONTEXT.multiply(weights[name], value))
    return total


WIDTH, ROW, LEFT, BAR = 640, 22, 190, 360
_SHADES = {"graded": "#4c78a8", "contract": "#59a14f", "pilot": "#b07aa1"}


def figure(rubric: Mapping[str, Any]) -> str:
    """The gates in a row, then one bar for every weight of every score."""
    body = list(_gates(rubric["gates"]))
    y = 88
    for score, shade in _SHADES.items():
        body.append(f'<text x="10" y="{y}" font-weight="bold">{score} score</text>')
        for name, weight in rubric[score]["weights"].items():
            y += ROW
            body += _bar(name, Decimal(weight), y, shade)
        y += ROW + 10
    head = (
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{WIDTH}" height="{y}" font-family="sans-serif" font-size="13">'
    )
    return "\n".join([head, *body, "</svg>", ""])


def _gates(gates: list[Mapping[str, Any]]) -> Iterator[str]:
    width = (WIDTH - 20) // len(gates)
    for index, gate in enumerate(gates):
        x = 10 + index * width
        yield f'<rect x="{x}" y="10" width="{width - 8}" height="44" fill="#eeeeee" stroke="#555555"/>'
        yield f'<text x="{x + 8}" y="28" font-weight="bold">{gate["id"]}</text>'
        yield f'<text x="{x + 8}" y="45" font-size="11">{gate["name"]}</text>'


def _bar(name: str, weight: Decimal, y: int, shade: str) -> Iterator[str]:
    yield f'<text x="20" y="{y}">{name}</text>'
    yield f'<rect x="{LEFT}" y="{y - 12}" width="{int(BAR * weight)}" height="14" fill="{shade}"/>'
    yield f'<text x="{LEFT + int(BAR * weight) + 8}" y="{y}">{weight}</text>'


STEPS = tuple(Decimal(text) for text in ("0.05", "0.1", "0.2"))
"""By how much a weight is moved; a policy choice."""

Parts = Mapping[str, Decimal]


@dataclass(frozen=True)
class Moved:
    """What became of the ranking when one weight was moved."""

    weight: str
    by: str
    weights: tuple[tuple[str, str], ...]
    tau: Decimal | None
    same_first: bool


def mean_parts(reports: Iterable[Report]) -> dict[str, tuple[Parts, int]]:
    """The mean of each part over the runs of each agent that passed every gate, and how many those were."""
    gathered: dict[str, list[Mapping[str, str]]] = {}
    for report in reports:
        if report.score:
            gathered.setdefault(report.agent.name, []).append(dict(field_items(report.score.parts)))
    return {
        agent: ({name: share(sum(Decimal(one[name]) for one in runs), len(runs)) for name in runs[0]}, len(runs))
        for agent, runs in sorted(gathered.items())
    }


def ranking(means: Mapping[str, Parts], weights: Parts) -> dict[str, Decimal]:
    """The score of every agent."""
    return {agent: weighted(weights, parts) for agent, parts in means.items()}


def moved(weights: Parts, name: str, by: Decimal) -> dict[str, Decimal]:
    """The weights with one moved within 0 and 1, and the others scaled so that the sum stays 1."""
    target = min(Decimal(1), max(Decimal(0), CONTEXT.add(weights[name], by)))
    others = [other for other in weights if other != name]
    rest, left = sum((weights[other] for other in others), Decimal(0)), CONTEXT.subtract(Decimal(1), target)
    scaled = {
        other: CONTEXT.multiply(left, share(weights[other], rest)) if rest else share(left, len(others))
        for other in others
    }
    return {one: target if one == name else scaled[one] for one in weights}


def kendall(first: Sequence[Decimal], second: Sequence[Decimal]) -> Decimal | None:
    """Tau-b of two rankings of the same things, with ties; undefined where one of them orders nothing."""
    agree = first_ordered = second_ordered = 0
    for left, right in combinations(range(len(first)), 2):
        one, other = _sign(first[left] - first[right]), _sign(second[left] - second[right])
        agree += one * other
        first_ordered += one != 0
        second_ordered += other != 0
    if not first_ordered or not second_ordered:
        return None
    return CONTEXT.divide(Decimal(agree), CONTEXT.sqrt(Decimal(first_ordered * second_ordered)))


def sensitivity(means: Mapping[str, Parts], weights: Parts) -> tuple[Moved, ...]:
    """Every movement of every weight that changes it, with what became of the ranking."""
    usual = ranking(means, weights)
    found = []
    for name in weights:
        for by in sorted([*(-step for step in STEPS), *STEPS]):
            now = moved(weights, name, by)
            if now == dict(weights):
                continue
            scores = ranking(means, now)
            tau = kendall(list(usual.values()), [scores[agent] for agent in usual])
            listed = tuple((one, decimal_text(value)) for one, value in now.items())
            found.append(Moved(name, f"{by:+}", listed, tau, _first(usual) == _first(scores)))
    return tuple(found)


def _first(scores: Mapping[str, Decimal]) -> set[str]:
    """The agents that no other agent surpasses."""
    return {agent for agent, score in scores.items() if score == max(scores.values())}


def _sign(value: Decimal) -> int:
    return (value > 0) - (value < 0)


_DATA = Path(__file__).parent / "data"
RUBRIC, TEMPLATE = _DATA / "rubric.json", _DATA / "rubric.csv"


@cache
def rubric() -> Mapping[str, Any]:
    """The rubric."""
    found: dict[str, Any] = parse(RUBRIC.read_bytes())
    return found


@cache
def rubric_digest() -> str:
    """The digest of the file, by which a score names the rubric that it follows."""
    return sha256(RUBRIC.read_bytes())


def weights_of(score: str) -> dict[str, Decimal]:
    """The weights of one of the scores ``graded``, ``contract`` and ``pilot``."""
    return {name: Decimal(value) for name, value in rubric()[score]["weights"].items()}


def columns() -> list[str]:
    """The columns of the template."""
    return TEMPLATE.read_text("utf-8").strip().split(",")


def table(reports: Iterable[Report]) -> str:
    """The template with a row for each report; what a reviewer is to say stays empty."""
    written = io.StringIO()
    writer = csv.DictWriter(written, columns(), restval="", lineterminator="\n")
    writer.writeheader()
    for report in reports:
        row = {
            "run": report.run,
            "contract": report.contract.name,
            "agent": report.agent.name,
            "status": report.status,
            **{gate.id: gate_verdict(gate) for gate in report.gates},
            "graded": report.score.value if report.score else "",
        }
        if report.scores:
            row |= {"contract_score": report.scores.contract.value, **report.scores.pilot.parts}
            row["pilot"] = str(report.scores.pilot.value)
        writer.writerow({name: escape_cell(str(value)) for name, value in row.items()})
    return written.getvalue()
