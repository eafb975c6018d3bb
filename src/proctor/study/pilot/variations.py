"""How runs came out under the variations that a pilot declared over its repeats. Pure."""

from __future__ import annotations

from typing import Any

from proctor.study.pilot.records import Standing, places

NO_VARIATION = "(none)"
"""What stands for the variation of a run that was made when none was declared."""


def variations_of(here: Standing) -> list[dict[str, Any]]:
    """How each method came out under each variation: the runs that count, those with a verdict, and the successes.

    A run says itself which variation it was made under: the plan may have been amended since.
    """
    names, repeats = [one["name"] for one in here.plan.protocol["variations"]], _repeats(here)
    found = {(name, one["name"]): [0, 0, 0] for name in names for one in here.plan.protocol["methods"]}
    for slot, run, counts in places(here):
        if run is not None and counts:
            cell = found.setdefault((run.variation or NO_VARIATION, slot.method), [0, 0, 0])
            for column, one in enumerate((1, run.scorable, run.scorable and run.success)):
                cell[column] += one
    return [
        {
            "variation": name,
            "repeats": repeats.get(name, []),
            "method": method,
            "runs": runs,
            "scorable": scorable,
            "successes": successes,
        }
        for (name, method), (runs, scorable, successes) in found.items()
    ]


def _repeats(here: Standing) -> dict[str, list[int]]:
    """Which repeats were made under which variation."""
    found: dict[str, set[int]] = {}
    for slot, run, counts in places(here):
        if run is not None and counts:
            found.setdefault(run.variation or NO_VARIATION, set()).add(slot.repeat)
    return {name: sorted(repeats) for name, repeats in found.items()}


def varied(here: Standing) -> str:
    """Which repeats had which variation, in a sentence; empty where none is declared."""
    if not here.plan.protocol.get("variations"):
        return ""
    told = [f"{name} (repeats {', '.join(map(str, of))})" for name, of in _repeats(here).items()]
    return f"Repeats differ as was declared, for every method alike: {', '.join(sorted(told))}." if told else ""
