"""What must hold before a stage of a pilot begins and when it is over, computed from what lies there. Pure.

one     every task can be used: a no-op fails, a known solution passes, checks are steady, caps fit the envelopes and
        pay the start of a run; then every run of the stage has a complete record: how it ended and what it cost
two     stage one is over, no run broke through the boundary, checks were steady in it as well, and every method has
        shown that it works: not all its runs ended with an error and without a change;
        then every task has its endpoint and subscores for every method, and the budget holds
three   stage two is over, the plan has the power that it needs, and what is left pays for the rest;
        then the plan is complete, or a rule ended it

Each criterion says what was found, what was asked for, and which runs or records show it. A stage without a single run
has nothing to hold back.

Methods that left no change in any run, or always ended with an error: a mistyped path comes out like an agent that
solves nothing. Pure.
Both are failures, and a comparison with either says the same. Only how such runs ended, and that none of them changed
anything, tells them apart. An agent may rightly change nothing; a reader has to know that it did not.
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
from proctor.study.pilot.running.criteria import Criterion, caps
from proctor.study.pilot.running.stopping_rules import Account, Next, Stop, methods_of, run_cap


def by_method(runs: Iterable[Run], methods: Iterable[str]) -> dict[str, list[Run]]:
    """The runs of each method, without those that the machine spoilt; methods without any are left out."""
    found: dict[str, list[Run]] = {name: [] for name in methods}
    for run in runs:
        if run.method in found and not run.spoilt:
            found[run.method].append(run)
    return {name: made for name, made in found.items() if made}


def ended_with(runs: Sequence[Run]) -> str:
    """The exit codes of runs, the most frequent first: ``exit code 2 in 23, 0 in 1``."""
    counts = Counter("none" if run.exit_code is None else str(run.exit_code) for run in runs)
    told = sorted(counts.items(), key=lambda one: (-one[1], one[0]))
    return f"exit code {', '.join(f'{code} in {count}' for code, count in told)}"


def unproven(runs: Iterable[Run], methods: Iterable[str]) -> Iterator[str]:
    """Which methods changed nothing, or ended well, in no run that counts, in sentences for the first screen."""
    for name, made in by_method(runs, methods).items():
        look = f"proctor show {made[-1].run} --output says what it printed"
        if not any(run.changed for run in made):
            of = f"any of its {len(made)} runs" if len(made) > 1 else "its only run"
            yield f"{name} changed nothing in {of} ({ended_with(made)}): it may never have worked; {look}."
        elif all(run.reason == FAILED for run in made):
            of = f"all of its {len(made)} runs" if len(made) > 1 else "its only run"
            yield f"{name} ended with an error in {of} ({ended_with(made)}): it may be broken; {look}."


NOOP, REFERENCE, HUMAN = "noop", "reference", "human"
MOST_SHOWN = 5


@dataclass(frozen=True)
class Facts:
    """What criteria are computed from.

    ``power`` says whether the plan is powered: ``supported``, ``value``, ``threshold`` and ``evidence``. ``start`` is
    what a run costs before its agent has done anything. ``later`` are the runs of stages that came after.
    """

    protocol: Mapping[str, Any]
    ledger: Ledger
    screens: Mapping[str, Screen]
    account: Account
    power: Mapping[str, Any] = field(default_factory=dict)
    ahead: Next = field(default_factory=Next)
    start: Decimal = Decimal(0)
    later: tuple[Run, ...] = ()

    @property
    def tasks(self) -> tuple[Mapping[str, Any], ...]:
        """The tasks that are in the pilot."""
        return tuple(task for task in self.protocol["tasks"] if task["name"] not in self.ledger.removed)


def entry(stage: str, facts: Facts) -> tuple[Criterion, ...]:
    """What must hold before a stage begins."""
    return _ENTRY[stage](facts)


def exit_(stage: str, facts: Facts) -> tuple[Criterion, ...]:
    """What must hold when a stage is over."""
    return _EXIT[stage](facts)


def _entry_one(facts: Facts) -> tuple[Criterion, ...]:
    return (
        _checked(facts, "noop-fails", "a no-op fails on every task", (NOOP,), FAILURE),
        _checked(facts, "solution-passes", "a known solution passes on every task", (REFERENCE, HUMAN), SUCCESS),
        _steady(facts),
        *caps(facts.protocol, facts.tasks, facts.start),
    )


def _checked(facts: Facts, name: str, words: str, methods: tuple[str, ...], wanted: str) -> Criterion:
    """Whether the runs that try a task come out as they must, on every task."""
    shown: list[str] = []
    wrong: list[str] = []
    untried = 0
    for task in facts.tasks:
        runs = [run for run in facts.ledger.checks(task["name"]) if run.method in methods and not run.stopped]
        last = run_that_fills(runs, facts.ledger.retries) or (runs[-1] if runs else None)
        if last is None:
            wrong.append(f"{task['name']} (never tried)")
            untried += 1
        else:
            shown.append(last.run)
            wrong += [] if last.status == wanted else [f"{task['name']} ({last.run}: {last.status})"]
    good = len(facts.tasks) - len(wrong)
    return Criterion(
        id=name,
        words=words,
        value=f"{good} of {len(facts.tasks)} tasks" + _but(wrong),
        threshold=f"{len(facts.tasks)} of {len(facts.tasks)}",
        met=bool(facts.tasks) and not wrong,
        evidence=tuple(shown),
        todo="mend the contract before the pilot is planned, or proctor pilot remove PILOT TASK --reason broken-oracle",
        open=0 < untried == len(wrong),
    )


def _steady(facts: Facts) -> Criterion:
    """Whether every task is steady enough, or decided by the rule for unsteady ones that was fixed in advance."""
    wanted = facts.protocol["flakes"]
    tolerance = Fraction(wanted["tolerance"])
    wrong: list[str] = []
    shown: list[str] = []
    unscreened = 0
    for task in facts.tasks:
        screen = facts.screens.get(task["name"])
        if screen is None or screen.contract != task["contract"] or screen.attempts < wanted["runs"]:
            wrong.append(f"{task['name']} (not screened)")
            unscreened += 1
            continue
        shown.append(screen.pointer)
        if screen.deviating > tolerance * screen.of and not _adjudicated(facts, task["name"]):
            wrong.append(f"{task['name']} ({screen.deviating} of {screen.of} attempts at {screen.check} deviate)")
    return Criterion(
        id="flakes",
        words="checks are steady on the base and on the known solution, or adjudicated by the rule of the protocol",
        value=f"{len(facts.tasks) - len(wrong)} of {len(facts.tasks)} tasks" + _but(wrong),
        threshold=f"at most {wanted['tolerance']} of {wanted['runs']} attempts on each tree deviate",
        met=not wrong,
        evidence=tuple(shown),
        todo="proctor pilot remove PILOT TASK --reason flaky --why WHY, or mend the checks and plan anew",
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
        _all(runs, "endings", "every run says how it ended", lambda run: bool(run.reason or run.code or run.problem)),
        _all(runs, "costs", "every run says what it cost", lambda run: run.usd is not None),
        _equal(facts, "one"),
    )


def _complete(facts: Facts, stage: str) -> Criterion:
    wanted = [slot for slot in facts.ledger.wanted() if slot.stage == stage]
    runs = facts.ledger.held(stage)
    return Criterion(
        id="places",
        words="every place of the stage has a sealed run",
        value=str(len(runs)),
        threshold=str(len(wanted)),
        met=len(runs) == len(wanted),
        evidence=tuple(run.run for run in runs),
        todo="proctor pilot run PILOT goes on; what an envelope cut off needs an amendment of the budget",
    )


def _all(runs: Sequence[Run], name: str, words: str, holds: Callable[[Run], bool]) -> Criterion:
    wrong = [run for run in runs if not holds(run)]
    return Criterion(
        id=name,
        words=words,
        value=f"{len(runs) - len(wrong)} of {len(runs)} runs",
        threshold=f"{len(runs)} of {len(runs)}",
        met=not wrong,
        evidence=tuple(run.run for run in wrong or runs),
        todo="proctor show RUN says what is missing",
    )


def _equal(facts: Facts, stage: str = "") -> Criterion:
    """Whether every method has as many runs, those of a block that could not be completed included."""
    counts = facts.ledger.counts(stage)
    broken = [block for block in facts.ledger.blocks(stage) if facts.ledger.filled(block) is None]
    alone = [run.run for block in broken for slot in block if (run := facts.ledger.run_that_fills(slot)) is not None]
    return Criterion(
        id="equal-counts",
        words="every method has the same number of runs",
        value=", ".join(f"{name} {count}" for name, count in counts.items()),
        threshold="the same for all",
        met=len(set(counts.values())) <= 1,
        evidence=tuple(alone),
        todo="proctor pilot run PILOT completes the block; if it cannot, its runs are left out of the comparison",
    )


def _over(facts: Facts, stage: str) -> Criterion:
    """Whether the stage before is over."""
    criteria = exit_(stage, facts)
    wrong = [one.id for one in criteria if not one.met]
    return Criterion(
        id=f"stage-{stage}",
        words=f"stage {stage} is over",
        value="over" if not wrong else f"not over: {', '.join(wrong)}",
        threshold="over",
        met=not wrong,
        evidence=(f"stage-{stage}.json",),
        todo=next((one.todo for one in criteria if not one.met), ""),
    )


def _entry_two(facts: Facts) -> tuple[Criterion, ...]:
    methods = methods_of(facts.protocol)
    broken = [run for run in facts.ledger.held("one") if run.method in methods and run.critical]
    boundary = Criterion(
        id="boundary",
        words="no run broke through the boundary or was ended for safety",
        value=f"{len(broken)} runs" + _but([run.words for run in broken]),
        threshold="0 runs",
        met=not broken,
        evidence=tuple(run.run for run in broken),
        todo="proctor show RUN says what happened; a method that does this is no candidate for a larger stage",
    )
    return _over(facts, "one"), boundary, _steady(facts), _baselines(facts), _working(facts)


def _working(facts: Facts) -> Criterion:
    """Whether each method did more in its runs so far than to end with an error before it had changed anything.

    What a method does in a later stage shows that it could work: the criterion is for those that never did.
    """
    methods = methods_of(facts.protocol)
    made = by_method(facts.ledger.held(), methods)
    worked = {run.method for run in facts.later if not run.vain and not run.spoilt}
    dead = {name: runs for name, runs in made.items() if all(run.vain for run in runs) and name not in worked}
    wrong = [
        f"{name} (no change in {len(runs)} of {len(runs)} runs: {ended_with(runs)})" for name, runs in dead.items()
    ]
    last = next((runs[-1].run for runs in dead.values()), "RUN")
    return Criterion(
        id="working",
        words="every method changed something or ended without an error in some run",
        value=f"{len(methods) - len(dead)} of {len(methods)} methods" + _but(wrong),
        threshold=f"{len(methods)} of {len(methods)}",
        met=not dead,
        evidence=tuple(run.run for runs in (dead or made).values() for run in runs),
        todo=f"proctor show {last} --output says what its agent printed; if it cannot work, mend it in another pilot, "
        "since methods stay once there are runs",
    )


def _baselines(facts: Facts) -> Criterion:
    """Whether what cannot come out differently did not, in all runs so far."""
    wanted = {NOOP: FAILURE, REFERENCE: SUCCESS, HUMAN: SUCCESS}
    arms = {method["name"] for method in facts.protocol["methods"] if method["baseline"]}
    runs = [run for run in facts.ledger.held() if run.method in arms]
    wrong = [run for run in runs if run.status != wanted[run.method]]
    allowed = int(Fraction(facts.protocol["flakes"]["tolerance"]) * len(runs))
    return Criterion(
        id="baselines",
        words="baselines came out as they must",
        value=f"{len(wrong)} of {len(runs)} runs did not" + _but([run.words for run in wrong]),
        threshold=f"at most {allowed}",
        met=len(wrong) <= allowed,
        evidence=tuple(run.run for run in wrong or runs),
        todo="proctor pilot remove PILOT TASK --reason flaky --evidence RUN --why WHY, with the runs that differ",
    )


def _exit_two(facts: Facts) -> tuple[Criterion, ...]:
    runs = [*facts.ledger.held("one"), *facts.ledger.held("two")]
    arms = [method["name"] for method in facts.protocol["methods"]]
    scored = {(run.task, run.method) for run in runs if run.scorable}
    lacking = [f"{task['name']}, {arm}" for task in facts.tasks for arm in arms if (task["name"], arm) not in scored]
    pairs = len(facts.tasks) * len(arms)
    spent, cap = facts.account.total(), Decimal(facts.protocol["budgets"]["pilot_usd"])
    return (
        _complete(facts, "two"),
        Criterion(
            id="endpoints",
            words="every task has a run with a verdict for every method",
            value=f"{pairs - len(lacking)} of {pairs}" + _but(lacking),
            threshold=f"{pairs} of {pairs}",
            met=not lacking,
            todo="proctor pilot status PILOT shows the runs; a task without verdicts may be removed as broken",
        ),
        _all([run for run in runs if run.scorable], "subscores", "every verdict has subscores", lambda run: run.scored),
        Criterion(
            id="spend",
            words="what was spent is within the pilot's envelope",
            value=f"{plain(spent)} USD",
            threshold=f"at most {plain(cap)} USD",
            met=spent <= cap,
            todo="proctor pilot amend PILOT with a larger budget, on record",
        ),
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
    power = facts.power
    return (
        _over(facts, "two"),
        _working(facts),
        Criterion(
            id="power",
            words="the plan has the power to see the smallest difference that matters",
            value=str(power.get("value", "unknown")),
            threshold=str(power.get("threshold", facts.protocol["power"])),
            met=power.get("supported") is True,
            evidence=tuple(power.get("evidence", ())),
            todo="a larger minimum effect: try it with proctor pilot power PILOT, then proctor pilot amend PILOT "
            "--why; more runs or tasks are another pilot, once there are runs",
        ),
        Criterion(
            id="budget",
            words="what is left pays for the rest at the cost seen so far",
            value=f"{plain(_cents(free))} USD left",
            threshold=f"{plain(_cents(expected))} USD for {len(left)} runs",
            met=expected <= free,
            todo="proctor pilot amend PILOT with a larger budget, on record",
        ),
    )


def _exit_three(facts: Facts) -> tuple[Criterion, ...]:
    complete = _complete(facts, "three")
    stop: Stop | None = facts.ahead.stop
    value = f"{complete.value} of {complete.threshold} places"
    return (
        Criterion(
            id="end",
            words="the plan is complete, or a rule ended it",
            value=f"stopped by the rule for {stop.rule}: {stop.words}" if stop else value,
            threshold=f"{complete.threshold} places, or a rule",
            met=complete.met or stop is not None or bool(facts.ahead.cut and not facts.ahead.blocks),
            evidence=stop.evidence if stop else complete.evidence,
            todo="proctor pilot run PILOT goes on",
        ),
        _equal(facts),
    )


def _cents(amount: Decimal) -> Decimal:
    return amount.quantize(Decimal("0.000001"))


def _but(wrong: Sequence[str]) -> str:
    """Which ones do not hold, as far as they can be told in a line."""
    more = f" and {len(wrong) - MOST_SHOWN} more" if len(wrong) > MOST_SHOWN else ""
    return f"; not {', '.join(wrong[:MOST_SHOWN])}{more}" if wrong else ""


_ENTRY = {"one": _entry_one, "two": _entry_two, "three": _entry_three}
_EXIT = {"one": _exit_one, "two": _exit_two, "three": _exit_three}
