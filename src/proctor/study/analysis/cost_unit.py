"""In what the costs of a table are: US dollars, or units of a schedule that knows no prices.

The columns of a table are in dollars, with so many units to a dollar, as budgets count them. Nobody pays in units, so
findings say which it is, and whoever shows an amount shows it in its own unit. Dollars and units are never added: a
table that has both loses its costs, and its findings say so.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from proctor.execute.monitor.price_table import FALLBACK
from proctor.study.run_table import NAMES, Mask, Table

SCHEDULE = "fallback"
"""How the names of schedules begin that know no prices."""
COSTS = tuple(name for name in NAMES if name.endswith("_usd") and name != "billed_usd")


@dataclass(frozen=True)
class Unit:
    """A unit of costs: its name, and how many of them the columns of a table count as a dollar."""

    name: str
    per_usd: int
    mixed: tuple[int, int] = (0, 0)
    """How many runs are in dollars and how many in units, where a table has both and no cost is told."""

    def words(self, usd: float) -> str:
        """An amount in a sentence: money to the cent, or to two digits that count; other units to three."""
        amount = usd * self.per_usd
        if self.per_usd != 1:
            number = f"{amount:,.0f}" if amount >= 1000 else f"{amount:.3g}"
        else:
            number = f"{amount:,.2f}" if amount == 0 or amount >= 0.1 else f"{amount:.2g}"
        return f"{number} {self.name}"

    def number(self, usd: float) -> str:
        """An amount of a bill, without its unit: as many decimals as every other, so that its lines add up."""
        return f"{usd * self.per_usd:,.{4 if self.per_usd == 1 else 2}f}"

    def exact(self, usd: float) -> str:
        """An amount of a bill with its unit."""
        return f"{self.number(usd)} {self.name}"

    @property
    def counts(self) -> str:
        """What 1 in a column of costs stands for, as tables for other programs say it."""
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
