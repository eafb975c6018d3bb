"""The spending limits of a batch: for each task over its repeats, and for the batch in all.

A run reserves its share before it starts and settles its real spend afterwards, so that parallel runs never reserve the
same money twice. A run whose own cap does not fit waits while others hold reservations that may be released, and later
runs wait behind it. If no run holds any, it starts with what is left; if nothing is left, or less than its start alone
costs, it is refused. A run that was refused or ended here lacked resources; it does not count as a failure. Both caps
are policy choices.

The spend is the projection, or a provider's bill if that is higher; units of the fallback schedule count by its rate.
Acceptance is paid after the agent's part is over: what it costs beyond its headroom can pass a cap.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from decimal import Decimal
from typing import Any

from proctor.base.errors import BudgetExceeded, ProctorError
from proctor.conduct.replay.trace_replay import panel_of_run
from proctor.execute.monitor.breakers.breaker_settings import POLICY_CHOICE, Thresholds
from proctor.execute.monitor.budget import Ledger, make_envelopes
from proctor.execute.monitor.price_table import FALLBACK, PriceTable, plain, total_of
from proctor.execute.proctor_home import Home
from proctor.record.manifest_model import read_manifest
from proctor.record.report_model import Cost, read_report
from proctor.record.run_directory import RunDirectory

LOOK_SECONDS = 0.2
"""How often a run that waits for its share checks whether it should stop."""


@dataclass(frozen=True)
class Share:
    """What one run has taken out: of which task, how much, and what the others had of each envelope by then."""

    task: str
    usd: Decimal
    task_spent: Decimal
    batch_spent: Decimal


class Envelopes:
    """The spending limits of one batch; ``None`` is no cap. ``spent`` is what its earlier runs used, by task.

    ``start_usd`` is what a run costs before its agent has done anything.
    """

    def __init__(
        self,
        task_usd: str | None,
        batch_usd: str | None,
        spent: Iterable[tuple[str, Decimal]] = (),
        start_usd: Decimal = Decimal(0),
    ) -> None:
        self._task_usd, self._batch_usd = task_usd, batch_usd
        self._start_usd = start_usd
        self._spent: dict[str, Decimal] = {}
        self._held: list[Share] = []
        self._line: list[object] = []
        self._turn = threading.Condition()
        for task, usd in spent:
            self._add(task, usd)

    def take(self, task: str, run_usd: str, stopped: Callable[[], bool]) -> Share:
        """The share of a run of ``task`` that costs ``run_usd`` at most; :class:`BudgetExceeded` if nothing is left."""
        with self._turn:
            ticket = object()
            self._line.append(ticket)
            try:
                while not self._ready(ticket, task, Decimal(run_usd)) and not stopped():
                    self._turn.wait(LOOK_SECONDS)
            finally:
                self._line.remove(ticket)
                self._turn.notify_all()
            task_spent, batch_spent = self._used(task), self._used(None)
            self._refuse(run_usd, task_spent, batch_spent)
            caps = ((self._task_usd, task_spent), (self._batch_usd, batch_spent))
            usd = min([Decimal(run_usd), *(Decimal(cap) - used for cap, used in caps if cap is not None)])
            share = Share(task, usd, task_spent, batch_spent)
            self._held.append(share)
            return share

    def settle(self, share: Share, spent: Decimal) -> None:
        """Give ``share`` back and count what was ``spent`` in its place."""
        with self._turn:
            self._held.remove(share)
            self._add(share.task, spent)
            self._turn.notify_all()

    def charge(self, task: str, usd: Decimal) -> None:
        """Count spend on ``task`` outside of its runs; spend without a task (an empty name) counts only in all."""
        with self._turn:
            self._add(task, usd)
            self._turn.notify_all()

    @property
    def capped(self) -> bool:
        """Whether there is anything that runs share."""
        return self._task_usd is not None or self._batch_usd is not None

    def settings(self, share: Share) -> dict[str, Any]:
        """The fields of a panel's settings that hold one run to its share."""
        if not self.capped:
            return {}
        return {
            "task_usd": self._task_usd,
            "task_spent_usd": plain(share.task_spent),
            "batch_usd": self._batch_usd,
            "batch_spent_usd": plain(share.batch_spent),
        }

    def _add(self, task: str, usd: Decimal) -> None:
        self._spent[task] = total_of((self._spent.get(task, Decimal(0)), usd))

    def _used(self, task: str | None) -> Decimal:
        """The spend and reservations of a task, or of the batch."""
        spent = [usd for name, usd in self._spent.items() if task in (None, name)]
        return total_of([*spent, *(share.usd for share in self._held if task in (None, share.task))])

    def _fits(self, task: str, run_usd: Decimal) -> bool:
        caps = ((self._task_usd, task), (self._batch_usd, None))
        return all(cap is None or self._used(name) + run_usd <= Decimal(cap) for cap, name in caps)

    def _ready(self, ticket: object, task: str, run_usd: Decimal) -> bool:
        """Whether it is this run's turn, and it fits or no reservation could be released to make room for it."""
        others = any(self._batch_usd is not None or share.task == task for share in self._held)
        return self._line[0] is ticket and (self._fits(task, run_usd) or not others)

    def _refuse(self, run_usd: str, task_spent: Decimal, batch_spent: Decimal) -> None:
        found = make_envelopes(
            Thresholds(),
            Decimal(run_usd),
            task_cap=None if self._task_usd is None else Decimal(self._task_usd),
            task_spent=task_spent,
            batch_cap=None if self._batch_usd is None else Decimal(self._batch_usd),
            batch_spent=batch_spent,
        )
        for envelope in found:
            if envelope.scope != "run" and envelope.limit == 0:
                raise BudgetExceeded(
                    f"a spending limit is reached: the {envelope.scope} has spent {plain(envelope.spent_before)} of "
                    f"{plain(envelope.cap)} USD ({POLICY_CHOICE}), and the rest is reserved for acceptance",
                    hint="start a new batch with a larger limit; finished runs are kept",
                )
            if 0 < self._start_usd >= envelope.limit:
                raise BudgetExceeded(
                    f"the spending limit is too low: the start of a run costs {plain(self._start_usd)} USD, and of the "
                    f"{plain(envelope.cap)} USD for the {envelope.scope} ({POLICY_CHOICE}) an agent may spend "
                    f"{plain(envelope.limit)} now",
                    hint="raise budget.usd" if envelope.scope == "run" else "start a new batch with a larger limit",
                )


def least_usd(cap: str, other: str | None) -> str:
    """The smaller of two caps, of which the second may be none."""
    return cap if other is None else min(cap, other, key=Decimal)


def start_usd(prices: PriceTable | None) -> Decimal:
    """What a run costs however little it does, by its price table or else by the fallback schedule."""
    cost = total_of(price.price for price in (prices or FALLBACK.table).of("run"))
    return cost if prices is not None else cost / FALLBACK.units_per_usd


def spent_usd(cost: Cost | None) -> Decimal:
    """What a run spent by the cost that its report states."""
    if cost is None:
        return Decimal(0)
    units = Decimal(cost.units or 0) / FALLBACK.units_per_usd
    return max(units if cost.usd is None else Decimal(cost.usd), Decimal(cost.observed_usd or 0))


def _spent_of_ledger(ledger: Ledger) -> Decimal:
    in_money = ledger.table.currency == "usd"
    return max(ledger.projected if in_money else ledger.projected / FALLBACK.units_per_usd, ledger.observed_usd)


def runs_of(home: Home, batch: str, pilot: str = "") -> Iterator[tuple[RunDirectory, str]]:
    """Every run of a batch, and of the pilot that it belongs to, with its task, oldest first; also those cut off."""
    for path in sorted(home.runs.iterdir()) if home.runs.is_dir() else ():
        run = RunDirectory(path)
        try:
            manifest = read_manifest(run)
        except ProctorError:
            continue
        asked = manifest.configuration
        if manifest.run != path.name or asked.contract is None:
            continue  # a copy, whose run is counted under its own id, or a run of no batch
        if asked.batch == batch or (pilot and asked.pilot == pilot):
            yield run, asked.contract


def spent_before(home: Home, batch: str, pilot: str = "") -> Iterator[tuple[str, Decimal]]:
    """The spend of each run of a batch, with its task; of a run that was cut off, as far as its trace shows.

    The batches of one ``pilot`` share its spending limits.
    """
    for run, task in runs_of(home, batch, pilot):
        if run.events.is_file() or run.seal.is_file():
            yield task, spent_by(run)


def spent_by(run: RunDirectory) -> Decimal:
    """The spend of one run; if it was cut off, as far as its trace shows, and nothing before its first event."""
    if run.seal.is_file():
        return spent_usd(read_report(run).usage.cost)
    return _spent_of_ledger(panel_of_run(run).facts.ledger) if run.events.is_file() else Decimal(0)
