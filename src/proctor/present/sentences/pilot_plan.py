"""The question of a pilot, its plan and its power, and how far the plan was followed."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from proctor.present.readable_numbers import count, finite_number
from proctor.present.sentences.phrases import Sentences
from proctor.present.sentences.pilot_criteria import criterion, power, todo
from proctor.present.sentences.pilot_progress import progress

NAMED = 3
"""How many amendments a sentence names, or fields that they changed and that have no part in the answer."""
HARMLESS = ("assumed.", "deviations", "pilot.title", "endpoints.secondary")
"""How the names of fields begin that no answer depends on: assumptions for the power, and text."""
TIMES = {1: "once", 2: "twice"}
INCOMPLETE = "This pilot is not complete"
AS_AMENDED = "Estimates use the amended plan; the level counts amendments after runs as looks."
FIXED = "The question and the plan were fixed before the first run"


def incomplete(findings: Mapping[str, Any]) -> str:
    """What is missing of a pilot that is not complete; empty for every other study."""
    given = findings.get("progress") or {}
    return progress(given) if given.get("complete") is False else ""


def minimum_effect_sentence(findings: Mapping[str, Any]) -> str:
    """The smallest difference that would be worth a change; empty where it is not set."""
    effect = finite_number((findings.get("question") or {}).get("minimum_effect"))
    return "" if effect is None else f"Smallest difference worth a change: {effect * 100:g} points."


def fixed(findings: Mapping[str, Any]) -> str:
    """When the plan was fixed, how often it was amended and what that changed; empty without a plan."""
    if not (findings.get("question") or {}).get("pilot"):
        return ""
    amendments = _amendments(findings)
    changed = amended(amendments)
    return f"{FIXED}, and {changed}{_changed(amendments)}." if changed else f"{FIXED}."


def _changed(amendments: list[Mapping[str, Any]]) -> str:
    """What amendments changed: everything that can change the answer, and then some of the rest."""
    fields = list(
        dict.fromkeys(_whole(str(one.get("field"))) for each in amendments for one in each.get("changed") or ())
    )
    relevant = [field for field in fields if not field.startswith(HARMLESS)]
    rest = [field for field in fields if field.startswith(HARMLESS)]
    shown = max(NAMED - len(relevant), 0)
    more = f" and {len(rest) - shown} more that cannot change the answer" if len(rest) > shown else ""
    return f"; changed: {', '.join([*relevant, *rest[:shown]])}{more}" if fields else ""


def _whole(field: str) -> str:
    """The method or variation of a field; every task is only called *tasks*, because there may be many."""
    if field.startswith("tasks"):
        return "tasks"
    return field.partition("].")[0] + "]" if "]." in field else field


def departures(findings: Mapping[str, Any]) -> list[str]:
    """What a reader must know about the plan before relying on the answer, besides its amendments.

    The deviations of a pilot have a statement for each amendment and each removal, which are counted separately.
    """
    found = []
    amendments = _amendments(findings)
    if any(finite_number(one.get("after_runs")) for one in amendments):
        found.append(AS_AMENDED)
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
    """When the power and the projection of the plan in force were computed; amendments and removals change them."""
    if (findings.get("progress") or {}).get("removed"):
        return "Computed again for the tasks that are left after the last removal."
    runs = next((finite_number(one.get("after_runs")) for one in reversed(_amendments(findings))), None)
    return f"Computed again with the last amendment, after {_runs(runs)}." if runs else "Computed before the first run."


def amended(amendments: list[Mapping[str, Any]]) -> str:
    """``amended twice, once after 20 runs``; empty where nothing was amended."""
    if not amendments:
        return ""
    text = f"amended {_times(len(amendments))}"
    late = [runs for one in amendments if (runs := finite_number(one.get("after_runs")))]
    if not late:
        return f"{text}, before the first run"
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


def answer(given: Mapping[str, Any]) -> str:
    """Whether a plan reaches its target power, and with which power."""
    verdict = (
        "The plan reaches its target power" if given.get("supported") else "The plan does not reach its target power"
    )
    return f"{verdict}: {power(given['answer'])}."


def original(given: Mapping[str, Any]) -> str:
    """The power of the plan as it was first frozen."""
    reaches = "reached" if given.get("supported") else "did not reach"
    many = _many(given["tasks"], "task", "tasks")
    return f"The original plan, of {many}, {reaches} its target power{_detail(given)}."


def _detail(given: Mapping[str, Any]) -> str:
    return f": {power(given['answer'])}" if given.get("answer") else ""


WRONG = {
    "formula and simulation agree": "formula and simulation differ",
    "no more false alarms than alpha": "there are more false alarms than alpha",
    "power rises with tasks": "power falls with tasks",
    "power rises with runs of a task": "power falls with runs of a task",
    "power rises with the effect": "power falls with the effect",
    "power rises with alpha": "power falls with alpha",
    "power falls with the correlation of runs": "power rises with the correlation of runs",
    "cost never falls with more runs": "cost falls with more runs",
    "there is a design to analyse": "there is no design to analyse",
}
"""What is wrong where a check of a plan does not hold; the name of the check is what must hold."""


def wrong(name: str) -> str:
    """What is wrong when the check of a plan with this name does not hold."""
    return WRONG.get(name) or f"this does not hold: {name}"


def _cannot_pay(said: Mapping[str, Any]) -> str:
    caps = f"the caps of the runs of a block are {float(said['block_usd']):.2f} of {float(said['budget_usd']):.2f} USD"
    return (
        f"A block begins only while the caps of its runs are left, and {caps}: the pilot would be stopped early. Lower "
        "budgets.run_usd, or raise budgets.pilot_usd."
    )


def _refused(said: Mapping[str, Any]) -> str:
    one = said["criterion"]
    return f"Stage one will be refused. Criterion: {criterion(one)}. Advice: {todo(one)}."


SENTENCES: Sentences = {
    "block-caps-above-rest": _cannot_pay,
    "expected-cost-above-budget": lambda said: (
        "The expected cost is above the budget: the pilot would be stopped before its end."
    ),
    "high-cost-above-budget": lambda said: (
        "The high end of the cost is above the budget: the pilot may be stopped before its end."
    ),
    "stage-one-will-be-refused": _refused,
    "tasks-above-budget": lambda said: f"Expected to be above budgets.task_usd: {', '.join(said['tasks'][:10])}.",
}
"""What would end a pilot early, or keep it from beginning."""
