"""Compare a sealed report with the one that follows from its evidence. Pure.

A report of the current schema and rules must have the same bytes. Some parts of a report depend on rules that change
from version to version: the taxonomy of tags, risk rules, rubrics, and sentences. If the sealed report was computed by
other rules, those parts may differ and are listed; everything else must be equal.

Reports of schema 1 exist in several forms, because fields were added before schemas were counted. :data:`LATER` names
those fields. One that a report of schema 1 lacks is left out of the comparison, and named.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from proctor.base.canonical import canonical
from proctor.base.json_records import to_json
from proctor.judge.run_evidence import Evidence
from proctor.judge.run_report import report, rules_digest

LATER = (
    *(("alerts",), ("interventions",), ("model",), ("conversation",), ("replayable",), ("scores",), ("taxonomy",)),
    *(("indicators",), ("interpretation",), ("termination", "exit_code"), ("usage", "programs")),
    *(("usage", "agent_calls"), ("usage", "test_cycles")),
)
"""The places of the fields that were added to schema 1 one after the other."""

BY_RULES = (
    *("tags", "taxonomy", "indicators", "interpretation", "scores", "deviations", "replayable", "comparability"),
    *("problems", "rules"),
)
"""The parts of a report that depend on rules. So do the sentences of gates and the causes of programs."""

MOST_DIFFERENCES = 20


@dataclass(frozen=True)
class Rescoring:
    """The report as computed now in the form of the sealed one, and how the two compare.

    ``different`` lists differences that other rules do not explain, ``other_rules`` the parts that they do explain.
    ``without`` lists the fields that were added after the form of the sealed report.
    """

    report: bytes
    different: tuple[str, ...] = ()
    other_rules: tuple[str, ...] = ()
    without: tuple[str, ...] = ()

    @property
    def same(self) -> bool:
        """Whether other rules explain all differences."""
        return not self.different


def rescored(sealed: Mapping[str, Any], schema: int, evidence: Evidence) -> Rescoring:
    """Compare the ``sealed`` report of a known ``schema`` with the report that follows from ``evidence`` now."""
    fresh = to_json(report(evidence, schema), schema)
    without = tuple(_leave_out(fresh, sealed)) if schema == 1 else ()
    data = canonical(fresh)
    if data == canonical(sealed):
        return Rescoring(data, without=without)
    places = tuple(differences(sealed, fresh))
    if by_current_rules(sealed):
        return Rescoring(data, _bounded(places), without=without)
    ruled = tuple(dict.fromkeys(name for place in places if (name := _rule_part(place))))
    strict = tuple(place for place in places if not _rule_part(place))
    return Rescoring(data, _bounded(strict), ruled, without)


def by_current_rules(sealed: Mapping[str, Any]) -> bool:
    """Whether a report names the current rules; reports before schema 3 name none."""
    return sealed.get("rules") == rules_digest()


def differences(one: Any, other: Any, place: str = "") -> Iterator[str]:
    """Where two JSON values differ, as paths such as ``gates[0].why``; empty for the whole value."""
    if isinstance(one, Mapping) and isinstance(other, Mapping):
        for name in sorted({*one, *other}):
            inner = f"{place}.{name}" if place else name
            if name not in one or name not in other:
                yield inner
            else:
                yield from differences(one[name], other[name], inner)
    elif isinstance(one, list | tuple) and isinstance(other, list | tuple) and len(one) == len(other):
        for index, (left, right) in enumerate(zip(one, other, strict=True)):
            yield from differences(left, right, f"{place}[{index}]")
    elif type(one) is not type(other) or one != other:
        yield place


def _leave_out(fresh: dict[str, Any], sealed: Mapping[str, Any]) -> Iterator[str]:
    """Take the later fields out of ``fresh`` that ``sealed`` does not have."""
    for *outer, name in LATER:
        mine: Any = fresh
        theirs: Any = sealed
        for part in outer:
            mine, theirs = mine.get(part), theirs.get(part) if isinstance(theirs, Mapping) else None
        if isinstance(theirs, Mapping) and name not in theirs and name in mine:
            del mine[name]
            yield ".".join((*outer, name))


def _rule_part(place: str) -> str:
    """The part of a report that depends on rules and contains ``place``; empty for any other place."""
    top = place.partition(".")[0].partition("[")[0]
    if top in BY_RULES:
        return top
    if top == "gates" and place.endswith(".why"):
        return "gates.why"
    return "conversation.programs" if place.startswith("conversation.programs") else ""


def _bounded(places: tuple[str, ...]) -> tuple[str, ...]:
    if len(places) <= MOST_DIFFERENCES:
        return places
    return (*places[:MOST_DIFFERENCES], f"and {len(places) - MOST_DIFFERENCES} more")
