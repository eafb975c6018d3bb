"""Taking a task out of a pilot: only for a reason that recorded evidence shows, on record, and never replaced.

flaky               one and the same patch was judged differently, or the screen of the task is beyond the tolerance
broken-oracle       a run without a change was a success, the known solution was none, or a check cannot even start
broken-environment  a fault of the machine took the verdict of a run without a change or with the known solution

How well an agent did is no reason. Evidence must verify, and be about the very contract that the pilot froze.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from fractions import Fraction
from typing import Any

from proctor.base.errors import UsageFault
from proctor.base.frozen import frozen
from proctor.judge.status import ACCEPTANCE_ERROR, HARNESS, INVALID, SUCCESS
from proctor.record.attest.attestation import require
from proctor.record.rundir import RunDirectory
from proctor.record.seal import load_seal
from proctor.study.pilot.journal import NAME, Removal, Screen, add_removal, read_journal
from proctor.study.pilot.records import Standing
from proctor.study.pilot.stages import HUMAN

NOTHING, SOLUTION, AGENT = "nothing", "solution", "agent"
MOST_CHARACTERS = 2000


@frozen
class Exhibit:
    """One run as evidence: who acted, and what the judge said of it."""

    run: str
    seal: str
    actor: str
    report: Mapping[str, Any]


@frozen
class Request:
    """What is asked for: which task, why in one word and in a sentence, by whom and when, and the runs that show it."""

    task: str
    reason: str
    why: str
    by: str
    at: str
    evidence: tuple[RunDirectory, ...]


def remove(here: Standing, request: Request) -> Removal:
    """Take a task out; :class:`UsageFault` unless the evidence shows the reason."""
    task = _task(here, request)
    exhibits = tuple(_exhibit(run, str(task["contract"])) for run in request.evidence)
    screen = here.journal.screens.get(request.task)
    tolerance = Fraction(here.plan.protocol["flakes"]["tolerance"])
    usable = screen if screen is not None and screen.contract == task["contract"] else None
    found = REASONS[request.reason](exhibits, usable, tolerance)
    if not found:
        given = ", ".join(one.run for one in exhibits) or "no run"
        raise UsageFault(
            f"the evidence does not show that {request.task} is {request.reason}",
            where=given,
            hint=f"{request.reason}: {NEEDS[request.reason]}",
        )
    add_removal(
        here.plan,
        {
            "task": request.task,
            "contract": task["contract"],
            "reason": request.reason,
            "evidence": [{"run": one.run, "seal": one.seal} for one in exhibits],
            "found": found,
            "why": request.why.strip(),
            "by": request.by,
            "at": request.at,
            "after_runs": len(here.runs),
        },
    )
    return read_journal(here.plan).removals[-1]


def _task(here: Standing, request: Request) -> Mapping[str, Any]:
    tasks: dict[str, Mapping[str, Any]] = {task["name"]: task for task in here.plan.protocol["tasks"]}
    if request.task not in tasks:
        raise UsageFault(f"the pilot has no task {request.task!r}", hint=f"its tasks are {', '.join(tasks)}")
    if request.task in here.journal.removed:
        raise UsageFault(f"{request.task} was removed already", where=str(here.plan.folder / NAME))
    if len(tasks) - len(here.journal.removals) == 1:
        raise UsageFault(f"{request.task} is the last task of the pilot", hint="a pilot without tasks shows nothing")
    if not request.why.strip() or len(request.why) > MOST_CHARACTERS:
        raise UsageFault(f"needs between 1 and {MOST_CHARACTERS} characters", where="--why")
    return tasks[request.task]


def _exhibit(run: RunDirectory, contract: str) -> Exhibit:
    """A run as evidence; it must verify, and be about the contract."""
    require(run, "partial")
    manifest, report = run.read_json(run.manifest), run.read_json(run.report)
    if manifest["contract"]["id"] != contract:
        raise UsageFault(
            f"the run is about {manifest['contract']['name']} {manifest['contract']['version']}",
            where=run.path.name,
            hint=f"evidence must be about the contract that was frozen, {contract}",
        )
    return Exhibit(run.path.name, load_seal(run).digest, _actor(manifest, report), report)


def _actor(manifest: Mapping[str, Any], report: Mapping[str, Any]) -> str:
    """Whether nothing was changed, the known solution was handed over, or an agent acted."""
    agent = manifest["agent"]
    if agent["kind"] == "noop":
        return NOTHING
    human = agent["kind"] == "patch" and manifest["configuration"].get("method") == HUMAN
    return SOLUTION if human or (agent["kind"] == "patch" and agent["name"] == "reference") else AGENT


def _flaky(exhibits: Sequence[Exhibit], screen: Screen | None, tolerance: Fraction) -> str:
    for one in exhibits:
        for check in one.report["checks"]:
            outcomes = {attempt["outcome"] for attempt in check["attempts"] if attempt["tree"] == "patched"}
            if len(outcomes) > 1:
                return f"the attempts at {check['id']} in {one.run} came to {' and '.join(sorted(outcomes))}"
    seen: dict[tuple[str, str], tuple[str, str]] = {}
    for one in exhibits:
        if one.report["status"] == INVALID:
            continue
        for check in one.report["checks"]:
            key = (str(one.report["patch"]["sha256"]), str(check["id"]))
            first, outcome = seen.setdefault(key, (one.run, str(check["outcome"])))
            if outcome != check["outcome"]:
                both = f"{outcome} in {first} and {check['outcome']} in {one.run}"
                return f"{check['id']} said {both} of the same patch"
    if screen is not None and screen.deviating > tolerance * screen.of:
        return f"{screen.deviating} of {screen.of} attempts at {screen.check} deviate ({screen.pointer})"
    return ""


def _broken_oracle(exhibits: Sequence[Exhibit], screen: Screen | None, tolerance: Fraction) -> str:
    for one in exhibits:
        status = one.report["status"]
        if one.actor == NOTHING and status == SUCCESS:
            return f"{one.run} changed nothing and is a success"
        if one.actor == SOLUTION and status not in (SUCCESS, INVALID):
            return f"{one.run} handed over the known solution and is a {status}"
        if status == ACCEPTANCE_ERROR and one.report["attribution"] == HARNESS:
            return f"{one.run} ended in an acceptance error that is the contract's own"
    return ""


def _broken_environment(exhibits: Sequence[Exhibit], screen: Screen | None, tolerance: Fraction) -> str:
    for one in exhibits:
        if one.actor != AGENT and one.report["status"] == INVALID and one.report["attribution"] == HARNESS:
            return f"{one.run} could not be judged: {one.report['problems'][0]}"
    return ""


REASONS: dict[str, Callable[[Sequence[Exhibit], Screen | None, Fraction], str]] = {
    "flaky": _flaky,
    "broken-oracle": _broken_oracle,
    "broken-environment": _broken_environment,
}
NEEDS = {
    "flaky": "a run whose attempts differ, two runs of one patch that were judged differently, or a bad screen",
    "broken-oracle": "a no-op that is a success, a known solution that is none, or a check that cannot start",
    "broken-environment": "a no-op or a known solution that a fault of the machine left without a verdict",
}
