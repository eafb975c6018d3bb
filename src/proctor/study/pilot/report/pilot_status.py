"""The state of a pilot for users who watch it: progress, cost, stopping rules, open runs.

Every run is paid for, whether or not it fills a place. The lines of the bill add up to what is spent of the envelope.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from decimal import Decimal
from typing import Any

from proctor.execute.monitor.price_table import plain
from proctor.study.analysis.plain_data import plain_data
from proctor.study.pilot.ledger.costs_besides_runs import totals
from proctor.study.pilot.ledger.interim_analysis import looks_of
from proctor.study.pilot.ledger.pilot_runs import CHECKS as BEFORE
from proctor.study.pilot.ledger.pilot_runs import RUNNING, Ledger, Run
from proctor.study.pilot.plan.pilot_model import STAGES
from proctor.study.pilot.running.pilot_state import (
    REFUSED,
    STOPPED,
    PilotState,
    Stage,
    account_of,
    deviations,
    stages_of,
)
from proctor.study.pilot.running.stopping_rules import (
    counted,
    methods_of,
    rules_so_far,
    run_cap,
)
from proctor.study.statements import statement

METHOD, BASELINE, CHECKS = "method", "baseline", "checks"


@dataclass(frozen=True)
class Line:
    """What was paid for, how many runs or charges that is, and its cost.

    ``name`` is the method, and empty for charges and for the checks of no method. ``checks`` of the runs were made
    before stage one to see whether tasks can be used, and are in no table of results.
    """

    of: str
    name: str
    count: int
    usd: Decimal
    checks: int = 0

    def record(self) -> dict[str, Any]:
        """The line as findings have it."""
        counts = {"count": self.count, "checks": self.checks}
        return {"of": self.of, "name": self.name, **counts, "usd": float(self.usd)}


def bill_of(here: PilotState) -> dict[str, Any]:
    """The whole bill as findings have it, with its sum."""
    lines = [*lines_of(here), *(_charged(one) for one in totals(here.charges()))]
    unit = here.rates.unit
    return {
        "unit": {"name": unit.name, "per_usd": unit.per_usd},
        "lines": [line.record() for line in lines],
        "total_usd": float(here.account().total()),
        "budget_usd": float(here.plan.protocol["budgets"]["pilot_usd"]),
    }


def lines_of(here: PilotState) -> list[Line]:
    """What the runs of each method cost, and the checks that belong to no method."""
    runs, methods = here.ledger.runs, here.plan.protocol["methods"]
    arms = {one["name"]: BASELINE if one["baseline"] else METHOD for one in methods}
    found = [_made(of, name, tuple(run for run in runs if run.method == name)) for name, of in arms.items()]
    others = _made(CHECKS, "", tuple(run for run in runs if run.method not in arms))
    return [*found, others] if others.count else found


def _made(of: str, name: str, runs: tuple[Run, ...]) -> Line:
    return Line(of, name, len(runs), account_of(runs).total(), sum(run.stage == BEFORE for run in runs))


def _charged(one: dict[str, str]) -> Line:
    return Line(one["kind"], "", int(one["count"]), Decimal(one["usd"]))


NOT_BEGUN, CHECKING, CHECKS_LEFT = "not begun", "checking", "checks left"
"""The verdicts on stage one while its entry cannot hold: nothing was tried, checks still run, or were cut off."""


def status_of(here: PilotState, busy: bool) -> dict[str, Any]:
    """The whole state as data; ``busy`` is whether the pilot is running."""
    stages = list(stages_of(here))
    last = stages[-1]
    ledger, protocol = here.ledger, here.plan.protocol
    account, unit = here.account(), here.rates.unit
    return {
        "pilot": here.plan.digest,
        "name": protocol["pilot"]["name"],
        "title": protocol["pilot"]["title"],
        "folder": str(here.plan.folder),
        "stage": last.name,
        "verdict": _verdict(here, last, busy),
        "complete": last.good and last.name == STAGES[-1],
        "busy": busy,
        "stages": [_stage(ledger, stage.name, _verdict(here, stage, busy)) for stage in stages],
        "methods": _methods(here, ledger),
        "unit": {"name": unit.name, "per_usd": unit.per_usd},
        "envelopes": _envelopes(here),
        "charges": totals(here.charges()),
        "checks": _checks(here),
        "rules": _rules(here, ledger),
        "running": [
            {"run": run.run, "stage": run.stage, "method": run.method, "task": run.task, "repeat": run.repeat}
            for run in here.runs
            if run.state == RUNNING
        ],
        "unmet": [one.record() for one in last.unmet] if last.verdict in (REFUSED, STOPPED) else [],
        "stop": last.stop.record() if last.stop else None,
        "removed": [one.record() for one in here.journal.removals],
        "deviations": plain_data(deviations(here)),
        "spent_usd": plain(account.total()),
    }


def _verdict(here: PilotState, stage: Stage, busy: bool) -> str:
    """The verdict on a stage as users see it. A refused stage ends ``pilot run``: while that runs, it still checks.

    If it was cut off before a stage, criteria that were not tried yet do not refuse it.
    """
    if stage.name != STAGES[0] or stage.verdict != REFUSED:
        return stage.verdict
    untried = all(one.open for one in stage.unmet)
    if busy or (untried and not here.runs):
        return CHECKING if busy else NOT_BEGUN
    recorded = (here.plan.folder / f"stage-{stage.name}.json").exists()
    return CHECKS_LEFT if untried and not recorded else stage.verdict


def _stage(ledger: Ledger, name: str, verdict: str) -> dict[str, Any]:
    places = sum(slot.stage == name for slot in ledger.wanted())
    return {"stage": name, "verdict": verdict, "places": places, "filled": len(ledger.held(name))}


def _methods(here: PilotState, ledger: Ledger) -> list[dict[str, Any]]:
    """For each method how many places are done and left, their statuses, and what they cost, with its checks."""
    found = []
    wanted = Counter(slot.method for slot in ledger.wanted())
    paid = {line.name: line for line in lines_of(here) if line.of != CHECKS}
    for method in here.plan.protocol["methods"]:
        name = method["name"]
        runs = [run for run in ledger.held() if run.method == name]
        found.append(
            {
                "method": name,
                "baseline": method["baseline"],
                "done": len(runs),
                "left": wanted[name] - len(runs),
                "statuses": dict(sorted(Counter(run.status for run in runs).items())),
                "checks": paid[name].checks,
                "spent_usd": plain(paid[name].usd),
            }
        )
    return found


def _checks(here: PilotState) -> dict[str, Any]:
    """The checks that belong to no method."""
    line = next((line for line in lines_of(here) if line.of == CHECKS), Line(CHECKS, "", 0, Decimal(0)))
    return {"runs": line.count, "spent_usd": plain(line.usd)}


def _envelopes(here: PilotState) -> list[dict[str, str]]:
    """What is spent of each envelope; of the tasks' envelopes the one with the least left."""
    budgets, account = here.plan.protocol["budgets"], here.account()
    found = [{"envelope": "pilot", "spent_usd": plain(account.total()), "cap_usd": budgets["pilot_usd"]}]
    if budgets["task_usd"] is not None:
        names = {task["contract"]: task["name"] for task in here.plan.protocol["tasks"]}
        most = max(names, key=lambda task: account.spent.get(task, Decimal(0)))
        spent = plain(account.spent.get(most, Decimal(0)))
        found.append({"envelope": f"task {names[most]}", "spent_usd": spent, "cap_usd": budgets["task_usd"]})
    return found


def _rules(here: PilotState, ledger: Ledger) -> list[dict[str, Any]]:
    """How far each rule is from ending the pilot."""
    protocol, unit = here.plan.protocol, here.rates.unit
    methods, allowed = methods_of(protocol), int(protocol["stopping"]["violations"])
    kinds, by_method = counted(run for run in ledger.held() if run.method in methods)
    most = max([*kinds.items(), *by_method.items()], key=lambda one: one[1], default=("", 0))
    left = Decimal(protocol["budgets"]["pilot_usd"]) - here.account().total()
    blocks = list(ledger.blocks())
    open_blocks = [block for block in blocks if ledger.filled(block) is None]
    need = Decimal(0)
    if open_blocks:
        waiting = [slot for slot in open_blocks[0] if ledger.run_that_fills(slot) is None]
        need = run_cap(protocol, waiting[0].contract) * len(waiting) + here.account().patch(waiting)
    capped = sum(1 for run in ledger.held() if run.code and not run.unsafe)
    done = len(blocks) - len(open_blocks)
    found = [
        statement("rule-budget", left_usd=float(left), needed_usd=float(need), unit=unit.name),
        statement("rule-safety", most=most[0], runs=most[1], allowed=allowed),
        statement("rule-run-caps", runs=capped),
    ]
    planned = looks_of(protocol, len(blocks))
    if planned:
        taken = rules_so_far(ledger, protocol)[1]
        ahead = [number for number, wanted in planned if number > done and wanted not in {one.wanted for one in taken}]
        next_ = ahead[0] if ahead else None
        found.append(statement("rule-efficacy", taken=len(taken), blocks=done, next=next_))
    return [one.record() for one in found]
