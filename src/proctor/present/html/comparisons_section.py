"""The differences between agents that are more than chance: every pair, adjusted for the number of pairs.

A few pairs are drawn and listed. Many are a matrix, with the list folded below it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from proctor.present.figures.interval_plots import Whisker, forest
from proctor.present.html.evidence_links import Evidence
from proctor.present.html.html_table import (
    Cell,
    Column,
    Section,
    confidence,
    empty_note,
    estimated,
    folded,
    framed,
    listed,
    methods,
    note,
    table,
)
from proctor.present.html_markup import Markup, Piece, tag
from proctor.present.readable_numbers import count, finite_number, points, probability
from proctor.present.sentences import sentences
from proctor.present.sentences.comparability import earlier
from proctor.present.sentences.estimates import reason

FEW = 15
"""Up to so many pairs are drawn one by one."""

WIDEST = 40
"""Agents in the matrix."""

SEPARABLE = (
    "Bold pairs are separable: p adjusted is below alpha, and the interval excludes 0. Intervals are for one pair each."
)
AHEAD, BEHIND, OPEN = "\u25b2", "\u25bc", "\u00b7"


def comparisons(findings: Mapping[str, Any], evidence: Evidence) -> Section:
    """All pairs of agents."""
    pairs = list(findings.get("pairs") or ())
    if not pairs:
        return Section("comparisons", "Comparisons", empty_note("there are no two agents with tasks in common"))
    apart = sum(1 for pair in pairs if pair.get("separable"))
    summary = tag(
        "p",
        tag("strong", f"{count(apart)} of {count(len(pairs))}"),
        f" {'pair is' if len(pairs) == 1 else 'pairs are'} separable at {confidence(findings)}",
        " after adjusting for the number of comparisons." if len(pairs) > 1 else ".",
        " For the rest the data do not say which agent is better." if apart < len(pairs) else None,
    )
    every = _list(pairs, evidence)
    if len(pairs) <= FEW:
        shown: list[Piece] = [_plot(pairs, findings), every]
    else:
        shown = [_matrix(pairs, findings, evidence), folded(f"All {count(len(pairs))} pairs with intervals", every)]
    return Section("comparisons", "Comparisons", tag("div", summary, shown))


def _plot(pairs: Sequence[Mapping[str, Any]], findings: Mapping[str, Any]) -> Markup:
    lines = []
    for pair in pairs:
        difference = pair.get("difference") or {}
        value, low, high = (finite_number(difference.get(part)) for part in ("value", "low", "high"))
        label = f"{pair.get('a')} \u2212 {pair.get('b')}"
        lines.append(Whisker(label, value, low, high, bool(pair.get("separable")), reason(pair.get("difference"))))
    marks = [(0.0, "no difference")]
    effect = finite_number((findings.get("question") or {}).get("minimum_effect"))
    if effect:
        marks.append((effect, f"worth it: {points(effect)}"))
    title = "Difference of success between two agents with its interval"
    figure = forest("pairs", lines, title=title, measure="percentage points", form=points, marks=marks)
    return tag("div", framed(figure, title), note(SEPARABLE))


def _list(pairs: Sequence[Mapping[str, Any]], evidence: Evidence) -> Markup:
    columns = [
        Column("First"),
        Column("Second"),
        Column("Tasks", True),
        Column("Difference, points", True),
        Column("p", True),
        Column("p adjusted", True),
        Column("p by sign flips", True),
        Column("Separable"),
    ]
    lines: list[list[Cell | Piece]] = []
    for pair in pairs:
        first, second = str(pair.get("a")), str(pair.get("b"))
        lines.append(
            [
                first,
                second,
                Cell(count(pair.get("tasks")), finite_number(pair.get("tasks"))),
                estimated(pair.get("difference"), evidence.pair(first, second), points),
                *(
                    Cell(probability(pair.get(part)), finite_number(pair.get(part)))
                    for part in ("p", "p_adjusted", "p_sign_flip")
                ),
                tag("b", "yes") if pair.get("separable") else "no",
            ]
        )
    made = table("Pairs of agents: first minus second", columns, lines)
    return tag("div", made, methods(pair.get("difference") for pair in pairs))


def _matrix(pairs: Sequence[Mapping[str, Any]], findings: Mapping[str, Any], evidence: Evidence) -> Markup:
    """Rows against columns by rank; each cell is the difference in points and whether it is more than chance."""
    names = [str(row.get("agent")) for row in findings.get("agents") or ()][:WIDEST]
    found: dict[tuple[str, str], tuple[float | None, bool]] = {}
    for pair in pairs:
        value = finite_number((pair.get("difference") or {}).get("value"))
        first, second = str(pair.get("a")), str(pair.get("b"))
        found[first, second] = (value, bool(pair.get("separable")))
        found[second, first] = (None if value is None else -value, bool(pair.get("separable")))
    columns = [Column("Agent"), *(Column(str(place), True) for place in range(1, len(names) + 1))]
    lines: list[list[Cell | Piece]] = [
        [tag("span", tag("a", f"{place}. {name}", href=evidence.agent(name), class_="n")), *_row(name, names, found)]
        for place, name in enumerate(names, 1)
    ]
    title = "Row against column, in percentage points"
    text = f"Columns are numbered like the rows. {AHEAD} the row is better by so much, {BEHIND} it is worse; "
    text += f"{OPEN} the difference is not separable from none."
    return tag("div", table(title, columns, lines, sortable=False, look="matrix"), note(text))


def _row(name: str, names: Sequence[str], found: Mapping[tuple[str, str], tuple[float | None, bool]]) -> list[Cell]:
    cells = []
    for other in names:
        value, separable = found.get((name, other), (None, False))
        if name == other:
            cells.append(Cell("", look="self"))
        elif value is None:
            cells.append(Cell("\u2013", look="open"))
        else:
            sign = (AHEAD if value > 0 else BEHIND) if separable else OPEN
            look = ("ahead" if value > 0 else "behind") if separable else "open"
            text = f"{abs(value) * 100:.0f}" if separable else f"{round(value * 100) or 0:+d}".replace("+0", "0")
            shown = [text.replace("-", "\u2212"), tag("span", sign, class_="sign")]
            cells.append(Cell(shown, look=look))
    return cells


def versus(findings: Mapping[str, Any], evidence: Evidence) -> Section | None:
    """What changed since other findings, where they were given."""
    other = findings.get("versus")
    if not other:
        return None
    columns = [Column("Agent"), Column("Before", True), Column("After", True), Column("Difference, points", True)]
    lines: list[list[Cell | Piece]] = [
        [
            f"{row.get('agent')}{' (another agent than before)' if row.get('another') else ''}",
            estimated(row.get("before"), None),
            estimated(row.get("after"), link := _after(row, evidence)),
            estimated(row.get("difference"), link, points),
        ]
        for row in other.get("rows") or ()
    ]
    name = earlier(other)
    body: list[Piece] = [tag("p", f"Before is {name}; after are the findings of this page.")]
    body.append(
        table(f"Success before ({name}) and after", columns, lines) if lines else empty_note("no agent is in both")
    )
    if other.get("notes"):
        body.append(listed(sentences(other["notes"])))
    return Section("versus", "Against earlier findings", tag("div", body))


def _after(row: Mapping[str, Any], evidence: Evidence) -> str | None:
    """The link to the later runs of an agent; none if only the runs on some tasks are compared."""
    agent, compared = str(row.get("agent")), finite_number((row.get("after") or {}).get("n"))
    return evidence.scored(agent) if compared is not None and compared == evidence.outcomes(agent) else None
