"""The unit of the costs of a table: US dollars, or units of a schedule without prices.

The columns of a table are in dollars, with so many units to a dollar, as budgets count them. Findings
record the unit, and an amount is always shown in its own unit. Dollars and units are never added: a table that has both
loses its costs, and its findings say so.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from proctor.execute.monitor.price_table import FALLBACK
from proctor.study.run_table import NAMES, Mask, Table

SCHEDULE = "fallback"
"""How the names of schedules without prices begin."""
COSTS = tuple(name for name in NAMES if name.endswith("_usd") and name != "billed_usd")


@dataclass(frozen=True)
class Unit:
    """A unit of costs: its name, and how many of them the columns of a table count as a dollar."""

    name: str
    per_usd: int
    mixed: tuple[int, int] = (0, 0)
    """How many runs are in dollars and how many in units, where a table has both."""

    @property
    def counts(self) -> str:
        """What 1 in a column of costs means, as tables for other programs write it."""
        return self.name if self.per_usd == 1 else f"{self.per_usd} {self.name}"


USD = Unit("USD", 1)
UNITS = Unit("units", int(FALLBACK.units_per_usd))


def in_one_unit(table: Table) -> tuple[Table, Unit]:
    """``table`` with costs of one unit only, and that unit; without any costs when they are of both."""
    metered: Mask = ~np.isnan(table.cost_usd)
    method = table.cost_method
    abstract = np.array([name.startswith(SCHEDULE) for name in method.names] + [False], dtype=bool)[method.codes]
    units, dollars = int((metered & abstract).sum()), int((metered & ~abstract).sum())
    if not units:
        return table, USD
    if not dollars:
        return table, UNITS
    return table.without(COSTS), Unit(USD.name, USD.per_usd, (dollars, units))
