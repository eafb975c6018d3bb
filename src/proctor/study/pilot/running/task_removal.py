"""Removing a task from a pilot: only for a reason that recorded evidence shows, on record, and without replacement.

flaky               no change, or the known solution, was judged differently, or the screen is beyond the tolerance
broken-oracle       a run without a change was a success, the known solution was not, or a check cannot start
broken-environment  a fault of the machine took the verdict of every run that checked the task

The result of an agent is not a reason, nor is how its patch was judged: a patch itself can be flaky. Evidence is
a run of this pilot in this home; it must verify, and be about exactly the contract that the pilot froze. The known
solution is the contract's reference, or the person's patch whose digest was frozen.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

from proctor.base.errors import UsageFault
from proctor.judge.run_verdict import ACCEPTANCE_ERROR, HARNESS, INVALID, SUCCESS
from proctor.record.report_model import Report, read_report
from proctor.record.run_directory import RunDirectory
from proctor.record.seal import load_seal
from proctor.record.signing.attestation import require_verified
from proctor.study.pilot.ledger.journal import Removal, Screen, add_removal, read_journal
from proctor.study.pilot.ledger.pilot_runs import CHECKS, SEALED, Run
from proctor.study.pilot.plan.frozen_plan import JOURNAL
from proctor.study.pilot.running.pilot_state import PilotState, take_looks
from proctor.study.statements import Statement, statement

NOTHING, SOLUTION, AGENT = "nothing", "solution", "agent"
MOST_CHARACTERS = 2000


@dataclass(frozen=True)
class Exhibit:
    """One run as evidence: the agent or baseline, and the judge's report."""

    run: str
    seal: str
    actor: str
    report: Report


@dataclass(frozen=True)
class Case:
    """The evidence for a reason: the exhibits, the screen of the task, and all the runs that checked it."""

    exhibits: tuple[Exhibit, ...] = ()
    screen: Screen | None = None
    tolerance: Fraction = Fraction(0)
    checks: tuple[Run, ...] = ()

    @property
    def known(self) -> tuple[Exhibit, ...]:
        """The exhibits in which no agent acted: only these show something about the task."""
        return tuple(one for one in self.exhibits if one.actor != AGENT)


@dataclass(frozen=True)
class Request:
    """A request: the task, the reason as a code and as a sentence, the user, the time, and the runs that show it."""

    task: str
    reason: str
    why: str
    by: str
    at: str
    evidence: tuple[RunDirectory, ...]


def remove(here: PilotState, request: Request) -> Removal:
    """Remove a task; :class:`UsageFault` unless the evidence shows the reason."""
    task = _task(here, request)
    exhibits = tuple(_exhibit(here, run, task) for run in request.evidence)
    screen = here.journal.screens.get(request.task)
    tolerance = Fraction(here.plan.protocol["flakes"]["tolerance"])
    usable = screen if screen is not None and screen.contract == task["contract"] else None
    found = REASONS[request.reason](Case(exhibits, usable, tolerance, _checks(here, str(task["contract"]))))
    if found is None:
        given = ", ".join(one.run for one in exhibits) or "no run"
        raise UsageFault(
            f"the evidence does not show that {request.task} is {request.reason}",
            where=given,
            hint=f"{request.reason}: {NEEDS[request.reason]}",
        )
    take_looks(here)
    add_removal(
        here.plan,
        {
            "task": request.task,
            "contract": task["contract"],
            "reason": request.reason,
            "evidence": [{"run": one.run, "seal": one.seal} for one in exhibits],
            "found": found.record(),
            "why": request.why.strip(),
            "by": request.by,
            "at": request.at,
            "after_runs": len(here.runs),
        },
    )
    return read_journal(here.plan).removals[-1]


def _task(here: PilotState, request: Request) -> Mapping[str, Any]:
    tasks: dict[str, Mapping[str, Any]] = {task["name"]: task for task in here.plan.protocol["tasks"]}
    if request.task not in tasks:
        raise UsageFault(f"the pilot has no task {request.task!r}", hint=f"its tasks are {', '.join(tasks)}")
    if request.task in here.journal.removed:
        raise UsageFault(f"{request.task} was removed already", where=str(here.plan.folder / JOURNAL))
    if len(tasks) - len(here.journal.removals) == 1:
        raise UsageFault(f"{request.task} is the last task of the pilot", hint="a pilot without tasks shows nothing")
    if not request.why.strip() or len(request.why) > MOST_CHARACTERS:
        raise UsageFault(f"needs between 1 and {MOST_CHARACTERS} characters", where="--why")
    return tasks[request.task]


def _checks(here: PilotState, contract: str) -> tuple[Run, ...]:
    """The runs of the pilot that tried whether the task can be used and came to an end."""
    tried = (run for run in here.runs if run.stage == CHECKS and run.contract == contract)
    return tuple(run for run in tried if run.state == SEALED and not run.stopped)


def _exhibit(here: PilotState, run: RunDirectory, task: Mapping[str, Any]) -> Exhibit:
    """A run as evidence; it must be the pilot's own, verify, and be about the contract."""
    contract, place = str(task["contract"]), run.path.resolve()
    if not any(one.path.resolve() == place for one in here.runs):
        raise UsageFault(
            "this is not a run of this pilot in this home",
            where=str(run.path),
            hint="evidence is a run that `proctor pilot run` made; `proctor pilot status` names what was found",
        )
    require_verified(run, "partial")
    manifest, report = run.read_json(run.manifest), read_report(run)
    if manifest["contract"]["id"] != contract:
        raise UsageFault(
            f"the run is about {manifest['contract']['name']} {manifest['contract']['version']}",
            where=run.path.name,
            hint=f"evidence must be about the contract that was frozen, {contract}",
        )
    return Exhibit(run.path.name, load_seal(run).digest, actor(manifest["agent"], str(task["human_patch"])), report)


def actor(agent: Mapping[str, Any], human_patch: str) -> str:
    """Whether nothing was changed, the known solution was submitted, or an agent acted.

    ``human_patch`` is the digest that was frozen for the task; the name of a run does not matter.
    """
    if agent["kind"] == "noop":
        return NOTHING
    human = bool(human_patch) and agent["digest"] == human_patch
    return SOLUTION if agent["kind"] == "patch" and (human or agent["name"] == "reference") else AGENT


def _flaky(case: Case) -> Statement | None:
    screen = case.screen
    for one in case.known:
        for check in one.report.checks:
            outcomes = {attempt.outcome for attempt in check.attempts if attempt.tree == "patched"}
            if len(outcomes) > 1:
                return statement("attempts-differ", check=check.id, run=one.run, outcomes=sorted(outcomes))
    seen: dict[tuple[str, str], tuple[str, str]] = {}
    for one in case.known:
        if one.report.status == INVALID:
            continue
        for check in one.report.checks:
            key = (one.report.patch.sha256, check.id)
            first, outcome = seen.setdefault(key, (one.run, check.outcome))
            if outcome != check.outcome:
                before = {"other_outcome": outcome, "other_run": first}
                now = {"check": check.id, "outcome": check.outcome, "run": one.run}
                return statement("same-patch-judged-differently", **now, **before)
    if screen is not None and screen.deviating > case.tolerance * screen.of:
        counts = {"deviating": screen.deviating, "of": screen.of}
        return statement("screen-deviates", check=screen.check, **counts, pointer=screen.pointer)
    return None


def _broken_oracle(case: Case) -> Statement | None:
    for one in case.exhibits:
        status = one.report.status
        if one.actor == NOTHING and status == SUCCESS:
            return statement("no-op-succeeded", run=one.run)
        if one.actor == SOLUTION and status not in (SUCCESS, INVALID):
            return statement("solution-not-accepted", run=one.run, status=status)
        if status == ACCEPTANCE_ERROR and one.report.attribution == HARNESS:
            return statement("contract-in-error", run=one.run)
    return None


def _broken_environment(case: Case) -> Statement | None:
    if not case.checks or not all(run.spoilt for run in case.checks):
        return None
    for one in case.known:
        if one.report.status == INVALID and one.report.attribution == HARNESS:
            problem = str(one.report.problems[0])
            return statement("nothing-could-be-judged", run=one.run, checks=len(case.checks), problem=problem)
    return None


REASONS: dict[str, Callable[[Case], Statement | None]] = {
    "flaky": _flaky,
    "broken-oracle": _broken_oracle,
    "broken-environment": _broken_environment,
}
NEEDS = {
    "flaky": "no-ops or known solutions whose attempts differ or that were judged differently, or a bad screen",
    "broken-oracle": "a no-op that is a success, a known solution that is not, or a check that cannot start",
    "broken-environment": "a no-op or known solution without a verdict, and no check of the task that has one",
}
