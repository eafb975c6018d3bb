"""The criteria before a stage of a pilot and at its end, computed from plan, journal and runs. Pure.

one     every task can be used: a no-op fails, a known solution passes, checks are stable, caps fit the envelopes and
        pay the start of a run; then every run of the stage has a complete record: how it ended and what it cost
two     stage one is over, no run escaped from its sandbox, checks were stable in it as well, and every method has
        shown that it works: not all of its runs ended with an error and without a change;
        then every task has its endpoint and subscores for every method, and the budget holds
three   stage two is over, the plan has the power that it needs, and the remaining budget pays for the remaining runs;
        then the plan is complete, or a rule ended it

Each criterion contains what was found, what is required, and which runs or records show it. A stage without runs is
empty and has no criteria.

Methods that left no change in any run, or always ended with an error, are listed as caveats: a mistyped path gives the
same failures as an agent that solves nothing. It can be correct that an agent changes nothing, but a reader must know
it.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from decimal import Decimal
from fractions import Fraction
from typing import Any

from proctor.execute.monitor.price_table import plain, total_of
from proctor.judge.run_verdict import FAILURE, SUCCESS
from proctor.study.pilot.ledger.journal import Screen
from proctor.study.pilot.ledger.pilot_runs import FAILED, Ledger, Run, run_that_fills
from proctor.study.pilot.running.cap_criteria import Criterion, caps
from proctor.study.pilot.running.stopping_rules import Account, Next, Stop, methods_of, run_cap
from proctor.study.statements import Statement, statement


def by_method(runs: Iterable[Run], methods: Iterable[str]) -> dict[str, list[Run]]:
    """The runs of each method, without those that the machine spoilt; methods without any are left out."""
    found: dict[str, list[Run]] = {name: [] for name in methods}
    for run in runs:
        if run.method in found and not run.spoilt:
            found[run.method].append(run)
    return {name: made for name, made in found.items() if made}


def exit_codes(runs: Sequence[Run]) -> dict[str, int]:
    """How many runs ended with each exit code, the most frequent first."""
    counts = Counter("none" if run.exit_code is None else str(run.exit_code) for run in runs)
    return dict(sorted(counts.items(), key=lambda one: (-one[1], one[0])))


def unproven(runs: Iterable[Run], methods: Iterable[str]) -> Iterator[Statement]:
    """Which methods changed nothing, or always ended with an error, in all runs that count."""
    for name, made in by_method(runs, methods).items():
        known = {"method": name, "runs": len(made), "exit_codes": exit_codes(made), "last_run": made[-1].run}
        if not any(run.changed for run in made):
            yield statement("method-changed-nothing", **known)
        elif all(run.reason == FAILED for run in made):
            yield statement("method-always-failed", **known)


NOOP, REFERENCE, HUMAN = "noop", "reference", "human"
NOT_TRIED = "not-tried"
"""The status of a task that was not tried."""


@dataclass(frozen=True)
class Facts:
    """What criteria are computed from.

    ``power`` is whether the plan is powered: ``supported``, ``answer`` and ``evidence``. ``start`` is what a run costs
    before its agent has done anything. ``later`` are the runs of later stages.
    """

    protocol: Mapping[str, Any]
    ledger: Ledger
    screens: Mapping[str, Screen]
    account: Account
    power: Mapping[str, Any]
    ahead: Next = field(default_factory=Next)
    start: Decimal = Decimal(0)
    later: tuple[Run, ...] = ()

    @property
    def tasks(self) -> tuple[Mapping[str, Any], ...]:
        """The tasks that are in the pilot."""
        return tuple(task for task in self.protocol["tasks"] if task["name"] not in self.ledger.removed)


def entry(stage: str, facts: Facts) -> tuple[Criterion, ...]:
    """The criteria before a stage."""
    return _ENTRY[stage](facts)


def exit_(stage: str, facts: Facts) -> tuple[Criterion, ...]:
    """The criteria at the end of a stage."""
    return _EXIT[stage](facts)


def _entry_one(facts: Facts) -> tuple[Criterion, ...]:
    return (
        _checked(facts, "noop-fails", (NOOP,), FAILURE),
        _checked(facts, "solution-passes", (REFERENCE, HUMAN), SUCCESS),
        _steady(facts),
        *caps(facts.protocol, facts.tasks, facts.start),
    )


def _checked(facts: Facts, name: str, methods: tuple[str, ...], wanted: str) -> Criterion:
    """Whether the runs that try a task have the required status, on every task."""
    shown: list[str] = []
    wrong: list[dict[str, str]] = []
    untried = 0
    for task in facts.tasks:
        runs = [run for run in facts.ledger.checks(task["name"]) if run.method in methods and not run.stopped]
        last = run_that_fills(runs, facts.ledger.retries) or (runs[-1] if runs else None)
        if last is None:
            wrong.append({"task": task["name"], "run": "", "status": NOT_TRIED})
            untried += 1
        else:
            shown.append(last.run)
            wrong += [] if last.status == wanted else [{"task": task["name"], "run": last.run, "status": last.status}]
    return Criterion(
        statement(name, good=len(facts.tasks) - len(wrong), of=len(facts.tasks), wrong=wrong),
        met=bool(facts.tasks) and not wrong,
        evidence=tuple(shown),
        open=0 < untried == len(wrong),
    )


def _steady(facts: Facts) -> Criterion:
    """Whether the checks of every task are stable, or adjudicated by the rule of the protocol."""
    wanted, tolerance = facts.protocol["flakes"], Fraction(facts.protocol["flakes"]["tolerance"])
    shown: list[str] = []
    wrong: list[dict[str, Any]] = []
    unscreened = 0
    for task in facts.tasks:
        screen = facts.screens.get(task["name"])
        if screen is None or screen.contract != task["contract"] or screen.attempts < wanted["runs"]:
            wrong.append({"task": task["name"], "check": "", "deviating": 0, "of": 0})
            unscreened += 1
            continue
        shown.append(screen.pointer)
        if screen.deviating > tolerance * screen.of and not _adjudicated(facts, task["name"]):
            deviating = {"check": screen.check, "deviating": screen.deviating, "of": screen.of}
            wrong.append({"task": task["name"], **deviating})
    counts = {"good": len(facts.tasks) - len(wrong), "of": len(facts.tasks)}
    limits = {"tolerance": str(wanted["tolerance"]), "runs": int(wanted["runs"])}
    return Criterion(
        statement("flakes", **counts, wrong=wrong, **limits),
        met=not wrong,
        evidence=tuple(shown),
        open=0 < unscreened == len(wrong),
    )


def _adjudicated(facts: Facts, task: str) -> bool:
    """Whether the judge decides every check of a task by the protocol's rule, over as many attempts as it says."""
    wanted = (facts.protocol["adjudication"]["rule"], int(facts.protocol["adjudication"]["reruns"]))
    solved = [run for run in facts.ledger.checks(task) if run.method != NOOP and run.status == SUCCESS]
    return wanted[1] > 1 and bool(solved) and all(rule == wanted for rule in solved[-1].rules)


def _exit_one(facts: Facts) -> tuple[Criterion, ...]:
    runs = facts.ledger.held("one")
    return (
        _complete(facts, "one"),
        _all(runs, "endings", lambda run: bool(run.reason or run.code or run.problem)),
        _all(runs, "costs", lambda run: run.usd is not None),
        _equal(facts, "one"),
    )


def _complete(facts: Facts, stage: str) -> Criterion:
    """Whether every place of the stage has a sealed run."""
    wanted = [slot for slot in facts.ledger.wanted() if slot.stage == stage]
    runs = facts.ledger.held(stage)
    found = statement("places", good=len(runs), of=len(wanted))
    return Criterion(found, met=len(runs) == len(wanted), evidence=tuple(run.run for run in runs))


def _all(runs: Sequence[Run], name: str, holds: Callable[[Run], bool]) -> Criterion:
    wrong = [run for run in runs if not holds(run)]
    found = statement(name, good=len(runs) - len(wrong), of=len(runs))
    return Criterion(found, met=not wrong, evidence=tuple(run.run for run in wrong or runs))


def _equal(facts: Facts, stage: str = "") -> Criterion:
    """Whether every method has the same number of runs, those of incomplete blocks included."""
    counts = facts.ledger.counts(stage)
    broken = [block for block in facts.ledger.blocks(stage) if facts.ledger.filled(block) is None]
    alone = [run.run for block in broken for slot in block if (run := facts.ledger.run_that_fills(slot)) is not None]
    found = statement("equal-counts", counts=dict(counts))
    return Criterion(found, met=len(set(counts.values())) <= 1, evidence=tuple(alone))


def _over(facts: Facts, stage: str) -> Criterion:
    """Whether the stage before is over."""
    unmet = [one.found for one in exit_(stage, facts) if not one.met]
    return Criterion(statement(f"stage-{stage}", unmet=unmet), met=not unmet, evidence=(f"stage-{stage}.json",))


def _entry_two(facts: Facts) -> tuple[Criterion, ...]:
    methods = methods_of(facts.protocol)
    broken = [run for run in facts.ledger.held("one") if run.method in methods and run.critical]
    boundary = Criterion(
        statement("boundary", wrong=[run.values for run in broken]),
        met=not broken,
        evidence=tuple(run.run for run in broken),
    )
    return _over(facts, "one"), boundary, _steady(facts), _baselines(facts), _working(facts)


def _working(facts: Facts) -> Criterion:
    """Whether each method changed something or ended without an error in some run.

    A later stage can show that a method works: the criterion is for methods that never did.
    """
    methods = methods_of(facts.protocol)
    made = by_method(facts.ledger.held(), methods)
    worked = {run.method for run in facts.later if not run.vain and not run.spoilt}
    dead = {name: runs for name, runs in made.items() if all(run.vain for run in runs) and name not in worked}
    wrong = [
        {"method": name, "runs": len(runs), "exit_codes": exit_codes(runs), "last_run": runs[-1].run}
        for name, runs in dead.items()
    ]
    return Criterion(
        statement("working", good=len(methods) - len(dead), of=len(methods), wrong=wrong),
        met=not dead,
        evidence=tuple(run.run for runs in (dead or made).values() for run in runs),
    )


def _baselines(facts: Facts) -> Criterion:
    """Whether the baselines have the status that they must have, in all runs so far."""
    wanted = {NOOP: FAILURE, REFERENCE: SUCCESS, HUMAN: SUCCESS}
    arms = {method["name"] for method in facts.protocol["methods"] if method["baseline"]}
    runs = [run for run in facts.ledger.held() if run.method in arms]
    wrong = [run for run in runs if run.status != wanted[run.method]]
    allowed = int(Fraction(facts.protocol["flakes"]["tolerance"]) * len(runs))
    return Criterion(
        statement("baselines", wrong=[run.values for run in wrong], of=len(runs), allowed=allowed),
        met=len(wrong) <= allowed,
        evidence=tuple(run.run for run in wrong or runs),
    )


def _exit_two(facts: Facts) -> tuple[Criterion, ...]:
    runs = [*facts.ledger.held("one"), *facts.ledger.held("two")]
    arms = [method["name"] for method in facts.protocol["methods"]]
    scored = {(run.task, run.method) for run in runs if run.scorable}
    lacking = [
        {"task": task["name"], "method": arm}
        for task in facts.tasks
        for arm in arms
        if (task["name"], arm) not in scored
    ]
    pairs = len(facts.tasks) * len(arms)
    spent, cap = facts.account.total(), Decimal(facts.protocol["budgets"]["pilot_usd"])
    return (
        _complete(facts, "two"),
        Criterion(statement("endpoints", good=pairs - len(lacking), of=pairs, lacking=lacking), met=not lacking),
        _all([run for run in runs if run.scorable], "subscores", lambda run: run.scored),
        Criterion(statement("spend", spent_usd=plain(spent), cap_usd=plain(cap)), met=spent <= cap),
        _equal(facts),
    )


def _entry_three(facts: Facts) -> tuple[Criterion, ...]:
    left = [
        slot for slot in facts.ledger.wanted() if slot.stage == "three" and facts.ledger.run_that_fills(slot) is None
    ]
    seen: dict[str, list[Decimal]] = {}
    for run in facts.ledger.held():
        seen.setdefault(run.method, []).append(run.usd or Decimal(0))
    means = {method: total_of(costs) / len(costs) for method, costs in seen.items()}
    expected = total_of(means.get(slot.method, run_cap(facts.protocol, slot.contract)) for slot in left)
    free = max(Decimal(facts.protocol["budgets"]["pilot_usd"]) - facts.account.total(), Decimal(0))
    amounts = {"left_usd": plain(_cents(free)), "needed_usd": plain(_cents(expected))}
    return (
        _over(facts, "two"),
        _working(facts),
        Criterion(
            statement("power", power=facts.power["answer"], target=float(facts.protocol["power"])),
            met=facts.power["supported"] is True,
            evidence=tuple(facts.power["evidence"]),
        ),
        Criterion(statement("budget", **amounts, runs=len(left)), met=expected <= free),
    )


def _exit_three(facts: Facts) -> tuple[Criterion, ...]:
    """Whether the plan is complete, or a rule ended it."""
    complete = _complete(facts, "three")
    stop: Stop | None = facts.ahead.stop
    return (
        Criterion(
            statement("end", **complete.found.values, stop=stop.why if stop else None),
            met=complete.met or stop is not None or bool(facts.ahead.cut and not facts.ahead.blocks),
            evidence=stop.evidence if stop else complete.evidence,
        ),
        _equal(facts),
    )


def _cents(amount: Decimal) -> Decimal:
    return amount.quantize(Decimal("0.000001"))


_ENTRY = {"one": _entry_one, "two": _entry_two, "three": _entry_three}
_EXIT = {"one": _exit_one, "two": _exit_two, "three": _exit_three}
