"""In what the costs of a table of results are: US dollars, unless its own column of units says otherwise.

Tables that Proctor wrote have such a column, since the costs of runs without a price table are in units of a schedule.
"""

from __future__ import annotations

from proctor.study.analysis.unit import SCHEDULE, UNITS, USD
from proctor.study.results_trials import joined
from proctor.study.table import Coded

DOLLARS = frozenset({"", USD.counts.lower(), "us$", "$", "us dollars", "dollars"})
KNOWN_UNITS = f"{USD.counts}, or as Proctor writes them in {UNITS.counts!r}"


def is_unit(text: str) -> bool:
    """Whether a text names a unit that costs can be read in."""
    return _abstract(text) or text.lower() in DOLLARS


def cost_methods(method: Coded | None, unit: Coded | None) -> Coded | None:
    """The price table or the schedule behind each cost; a cost in units is by a schedule, whatever else is known."""
    if unit is None:
        return method
    told = method or Coded([0] * len(unit), ("",))
    return joined(told, unit, lambda name, of: SCHEDULE if _abstract(of) and not name.startswith(SCHEDULE) else name)


def _abstract(text: str) -> bool:
    return text.lower() == UNITS.counts
