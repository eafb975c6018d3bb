"""The second half of a run: the patch on a fresh base, what must be put back, then every check in order.

    patch     applied to the base; check 0. When it does not apply, every check is blocked and the run is a failure.
    setup     steps declared ``repeat: after_patch`` run again, offline, on the patched tree.
    restore   steering files and protected files are the base's again.
    checks    each attempt in a fresh workspace and sandbox; attempts decide together; an error or a forgery is
              repeated on the base to learn whose doing it is.

Everything is written as events while it happens and as ``acceptance/results.json`` at the end, which the seal makes
durable. Nothing that comes out
of a sandbox decides anything here but through a parser.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial
from typing import Any

from proctor.base.frozen import frozen, replace
from proctor.base.names import name_text
from proctor.contract.model import Check
from proctor.execute.workspace.patch import Application, PatchProblem, apply_patch, conflict_markers
from proctor.judge.ahead import Ahead
from proctor.judge.attempt import Attempt, Ready, attempt, make_ready
from proctor.judge.bench import BASE, PATCHED, Bench, Scene
from proctor.judge.modules import places_of
from proctor.judge.outcome import ERROR, FAIL, FORGED_RESULTS, PASS, Judgement, attribute, decide
from proctor.judge.placement import Placement
from proctor.judge.record import check_entry, finished_payload, keep_logs, problem_text, restored_entries
from proctor.judge.repeat import Repeated, repeat_setup
from proctor.judge.restore import Restored, restore
from proctor.judge.sentinels import forgeable

SCHEMA = 1
RESULTS_TEXT_BYTES = 8 << 20
"""The most that test ids, which code under test can choose, may take up in ``results.json``."""

APPLY = ("git", "apply", "--cached")


@frozen
class Acceptance:
    """What acceptance came to: how the patch applied, and each check's decision."""

    patch: str
    problem: str
    decisions: Mapping[str, Judgement]


def accept(bench: Bench, patch: bytes) -> Acceptance:
    """Judge ``patch`` and leave the evidence in the run directory."""
    results: dict[str, Any] = {"schema": SCHEMA, "kind": "proctor.results", "setup": [], "restored": [], "checks": []}
    placement, problem = _apply(bench, patch)
    results["patch"] = {"outcome": FAIL if problem else PASS, "problem": problem}
    if problem:
        return _blocked(bench, results, problem)
    repeated = repeat_setup(bench, placement)
    try:
        results["setup"] = list(repeated.steps)
        if repeated.problem:
            return _blocked(bench, results, repeated.problem)
        scene, restored = _scene(bench, placement, repeated)
        results["restored"] = restored_entries(restored)
        checks = bench.prepared.contract.checks
        makers = [
            partial(make_ready, bench, check, scene, number + 1) for check in checks for number in range(_times(check))
        ]
        with Ahead(makers, lambda ready: ready.left.close(), bench.spare) as ahead:
            decisions = {check.id: _judge(bench, check, ahead, results) for check in checks}
    finally:
        repeated.discard()
    bench.run.write_json(bench.run.results, results, sync=False)
    return Acceptance(PASS, "", decisions)


def _apply(bench: Bench, patch: bytes) -> tuple[Placement, str]:
    """The patch as writes and removals, or why it cannot be applied; check 0."""
    start, log = bench.clock.wall_ns(), ""
    application = Application((), ())
    try:
        application = apply_patch(patch, bench.read_base, scratch=bench.scratch)
        marked = conflict_markers(application)
        problem = f"conflict markers in {', '.join(name_text(path) for path in marked[:5])}" if marked else ""
    except PatchProblem as error:
        problem = problem_text(error.reason) or "the patch does not apply"
        log = error.log
    payload = {
        "outcome": FAIL if problem else PASS,
        "problem": problem,
        "start": str(start),
        "end": str(bench.clock.wall_ns()),
        "command": list(APPLY),
        "exit_status": 1 if problem else 0,
        "log": name_text(log.encode("utf-8", "replace")[:4000]),
    }
    bench.trace.append("patch.applied", payload)
    bench.trace.sync()
    return Placement(application.writes, application.removals), problem


def _blocked(bench: Bench, results: dict[str, Any], problem: str) -> Acceptance:
    """No check can be reached: say so for each of them."""
    for check in bench.prepared.contract.checks:
        bench.trace.append("check.blocked", {"check": check.id, "reason": problem})
        results["checks"].append(check_entry(check, Judgement("blocked", "blocked", problem), "agent", ()))
    bench.trace.sync()
    bench.run.write_json(bench.run.results, results, sync=False)
    return Acceptance(results["patch"]["outcome"], problem, {})


def _scene(bench: Bench, placement: Placement, repeated: Repeated) -> tuple[Scene, tuple[Restored, ...]]:
    """The tree that checks start from, with everything put back that the patch may not decide."""
    policy = bench.prepared.contract.policy
    places = places_of(bench.prepared.contract)
    if not repeated.layers:
        restored = restore(placement, policy, bench.read_base, places)
        return Scene(PATCHED, bench.prepared.layers, placement), restored
    above = repeated.steering(placement.touched(), policy)
    restored = restore(above, policy, bench.read_base, places)
    return Scene(PATCHED, repeated.layers, above), restored


def _times(check: Check) -> int:
    """How many attempts ``check`` gets on the patched tree."""
    return 0 if check.no_op else max(1, check.rerun.times)


def _judge(bench: Bench, check: Check, ahead: Ahead[Ready], results: dict[str, Any]) -> Judgement:
    """All attempts of one check, their decision and whose doing it is."""
    attempts: tuple[Attempt, ...] = ()
    if check.no_op:
        decided, attribution = Judgement(PASS, "no-op", "empty on purpose"), ""
    else:
        prepare = ahead.prepare if bench.backend.overlays() else None
        attempts = tuple(_recorded(bench, check, ahead.take(), prepare) for _ in range(_times(check)))
        decided = decide(check.rerun.decide, [one.judgement for one in attempts])
        attribution = "agent" if decided.outcome == FAIL else ""
        if decided.outcome == ERROR or decided.reason == FORGED_RESULTS:
            base = Scene(BASE, bench.prepared.layers, Placement())
            compared = _recorded(bench, check, make_ready(bench, check, base, 1))
            attempts = (*attempts, compared)
            decided, attribution = attribute(decided, compared.judgement)
    bench.trace.append("check.decided", _decided_payload(check, decided, attribution, attempts))
    bench.trace.sync()
    results["checks"].append(check_entry(check, decided, attribution, attempts, _share(bench)))
    overridden = sorted({path for one in attempts for path in one.overridden})
    hidden = restored_entries(Restored(path, "hidden") for path in overridden)
    results["restored"] += [{**entry, "check": check.id} for entry in hidden]
    return decided


def _recorded(bench: Bench, check: Check, ready: Ready, meanwhile: Callable[[], None] | None = None) -> Attempt:
    """One attempt with its event and its logs."""
    made = attempt(bench, ready, meanwhile)
    if made.judgement.outcome == ERROR and not made.judgement.detail:
        made = replace(made, judgement=replace(made.judgement, detail="the command did not come to its end"))
    logs = keep_logs(bench.run, check, made)
    bench.trace.append("check.finished", finished_payload(check, made, logs))
    return made


def _share(bench: Bench) -> int:
    """How many bytes of test ids one check may add to the results."""
    return RESULTS_TEXT_BYTES // len(bench.prepared.contract.checks)


def _decided_payload(
    check: Check, decided: Judgement, attribution: str, attempts: tuple[Attempt, ...]
) -> dict[str, Any]:
    return {
        "check": check.id,
        "gate": check.gate,
        "layer": check.layer,
        "mandatory": check.mandatory,
        "outcome": decided.outcome,
        "reason": decided.reason,
        "detail": decided.detail,
        "rule": "no-op" if check.no_op else check.rerun.decide,
        "flagged": check.rerun.decide != "all",
        "forgeable": forgeable(check),
        "attempts": sum(one.tree == PATCHED for one in attempts),
        "attribution": attribution,
    }
