"""A pilot in sentences: its question, its plan, how far the plan was kept, and its whole bill."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from proctor.present.readable_numbers import count, finite_number
from proctor.study.analysis.cost_unit import UNITS, USD

NAMED = 3
"""How many amendments a sentence names, or fields that they changed and that have no part in the answer."""
HARMLESS = ("assumed.", "deviations", "pilot.title", "endpoints.secondary")
"""How the names of fields begin that no answer rests on: what was assumed for the power, and words."""
TIMES = {1: "once", 2: "twice"}
INCOMPLETE = "This pilot is not complete"
TAKEN = "Estimates take the plan as amended; the level counts amendments after runs as looks."
FIXED = "The question and the plan were fixed before the first run"


def incomplete(findings: Mapping[str, Any]) -> str:
    """What is missing of a pilot that is not complete; empty for every other study."""
    progress = findings.get("progress") or {}
    return str(progress.get("words") or "its runs do not say how far it came.") if _open(progress) else ""


def _open(progress: Mapping[str, Any]) -> bool:
    return progress.get("complete") is False


def minimum_effect_sentence(findings: Mapping[str, Any]) -> str:
    """The smallest difference that would be worth a change; empty where nobody said."""
    effect = finite_number((findings.get("question") or {}).get("minimum_effect"))
    return "" if effect is None else f"Smallest difference worth a change: {effect * 100:g} points."


def fixed(findings: Mapping[str, Any]) -> str:
    """When the plan was fixed, how often it was amended and what that changed; empty where there was no plan."""
    if not (findings.get("question") or {}).get("pilot"):
        return ""
    amendments = _amendments(findings)
    told = amended(amendments)
    return f"{FIXED}, and {told}{_changed(amendments)}." if told else f"{FIXED}."


def _changed(amendments: list[Mapping[str, Any]]) -> str:
    """What amendments changed: all that can move the answer, and then some of the rest."""
    fields = list(
        dict.fromkeys(_whole(str(one.get("field"))) for each in amendments for one in each.get("changed") or ())
    )
    named = [field for field in fields if not field.startswith(HARMLESS)]
    rest = [field for field in fields if field.startswith(HARMLESS)]
    shown = max(NAMED - len(named), 0)
    more = f" and {len(rest) - shown} more with no part in the answer" if len(rest) > shown else ""
    return f"; changed: {', '.join([*named, *rest[:shown]])}{more}" if fields else ""


def _whole(field: str) -> str:
    """The method or variation that a field is of, and for a task that it is one of the tasks: there may be many."""
    if field.startswith("tasks"):
        return "tasks"
    return field.partition("].")[0] + "]" if "]." in field else field


def departures(findings: Mapping[str, Any]) -> list[str]:
    """What a reader must know about the plan before relying on the answer, beside that it was amended.

    The deviations of a pilot have a sentence for each amendment and each removal, which are told by themselves.
    """
    found = []
    amendments = _amendments(findings)
    if any(finite_number(one.get("after_runs")) for one in amendments):
        found.append(TAKEN)
    removed = list((findings.get("progress") or {}).get("removed") or ())
    if removed:
        found.append(f"{_many(len(removed), 'task was', 'tasks were')} removed after the plan was fixed.")
    others = len(findings.get("deviations") or ()) - len(amendments) - len(removed)
    if others > 0 and (findings.get("question") or {}).get("pilot"):
        other = "other " if amendments or removed else ""
        some = _many(others, f"{other}deviation from the plan is", f"{other}deviations from the plan are")
        found.append(f"{some} recorded.")
    return found


def computed_when(findings: Mapping[str, Any]) -> str:
    """When the power and the projection of the plan in force were computed: amendments and removals do so anew."""
    if (findings.get("progress") or {}).get("removed"):
        return "Computed anew for the tasks that are left after the last removal."
    runs = next((finite_number(one.get("after_runs")) for one in reversed(_amendments(findings))), None)
    return f"Computed anew with the last amendment, after {_runs(runs)}." if runs else "Computed before the first run."


def amended(amendments: list[Mapping[str, Any]]) -> str:
    """``amended twice, once after 20 runs``; empty where nothing was amended."""
    if not amendments:
        return ""
    text = f"amended {_times(len(amendments))}"
    late = [runs for one in amendments if (runs := finite_number(one.get("after_runs")))]
    if not late:
        return f"{text}, still before the first run"
    if len(late) > NAMED:
        often = "each time" if len(late) == len(amendments) else _times(len(late))
        return f"{text}, {often} after runs were made, the last time after {_runs(late[-1])}"
    often = "" if len(late) == len(amendments) else f"{_times(len(late))} "
    earlier = "".join(f"{count(runs)} and " for runs in late[:-1])
    return f"{text}, {often}after {earlier}{_runs(late[-1])}"


def _amendments(findings: Mapping[str, Any]) -> list[Mapping[str, Any]]:
    return list((findings.get("appendix") or {}).get("amendments") or ())


def _runs(many: float) -> str:
    return _many(many, "run", "runs")


def _times(many: int) -> str:
    return TIMES.get(many, f"{many} times")


def _many(many: float, one: str, several: str) -> str:
    return f"{count(many)} {one if many == 1 else several}"


TITLE = "What the pilot cost in all"
COUNTED = "Every run was paid for, also one that fills no place or whose task was removed."
BOTH = "Dollars and units are both among these: a thousand units count as a dollar here, as they do for budgets."


@dataclass(frozen=True)
class Bill:
    """The lines of a bill: for what, how many runs or charges, how much; the last is the sum."""

    unit: str
    lines: tuple[tuple[str, str, str, float], ...]
    """Each with its amount in dollars at the end, as a table sorts by it."""
    notes: tuple[str, ...]


def bill(findings: Mapping[str, Any]) -> Bill | None:
    """The bill in findings; nothing where they are of no pilot."""
    given = findings.get("bill")
    if not given:
        return None
    unit = UNITS if (given["unit"] or {}).get("name") == UNITS.name else USD
    lines = [
        (
            _name(line),
            f"{line['count']:,}",
            unit.number(line["usd"]),
            line["usd"],
        )
        for line in given["lines"]
    ]
    total, budget = given["total_usd"], given["budget_usd"]
    lines.append(("in all", "", unit.number(total), total))
    asked = unit.words(budget) if unit is USD else f"{unit.words(budget)}, set as {USD.words(budget)}"
    notes = [f"{COUNTED} The budget is {asked}."]
    if given["unit"] is None:
        notes.append(BOTH)
    return Bill(unit.name, tuple(lines), tuple(notes))


def _name(line: Mapping[str, Any]) -> str:
    """For what a line is; where some of its runs were checks, which no table of results has, how many were."""
    told, checks = ["baseline"] if line["of"] == "baseline" else [], line.get("checks")
    if checks and line["of"] in ("baseline", "method"):
        told.append(f"{line['count'] - checks:,} for the plan, {checks:,} {'check' if checks == 1 else 'checks'}")
    return f"{line['name']} ({': '.join(told)})" if told else str(line["name"])
