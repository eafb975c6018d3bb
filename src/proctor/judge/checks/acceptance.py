"""The second half of a run: apply the patch to a fresh base, restore protected files, then run every check in order.

    patch     applied to the base; check 0. When it does not apply, every check is blocked and the run is a failure.
    setup     steps declared ``repeat: after_patch`` run again, offline, on the patched tree.
    restore   steering files and protected files are the base's again.
    checks    each attempt in a fresh workspace and sandbox; one that the machine may have disturbed does not count and
              is repeated; attempts decide together; after an error or a forgery, the check is repeated on the base to
              find out who caused it.
    confirm   inverted tests confirm what would be a success.

Everything is written as events while it happens and as ``acceptance/results.json`` at the end, which the seal makes
durable. Output of a sandbox affects decisions only through a parser.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import cache, partial
from itertools import count
from typing import Any

from proctor.base.errors import UsageFault
from proctor.base.reversible_escapes import name_text
from proctor.contract.model import Check, Inverted
from proctor.execute.workspace.patch import Application, PatchProblem, apply_patch, conflict_markers
from proctor.judge.check_execution import Attempt, Ready, attempt, make_ready
from proctor.judge.checks.check_decision import (
    ERROR,
    FAIL,
    FORGED_RESULTS,
    KILLED,
    OF_THE_MACHINE,
    PASS,
    Judgement,
    RunnerChanges,
    attribute,
    decide,
    set_aside,
)
from proctor.judge.checks.check_records import check_entry, finished_payload, keep_logs, problem_text, restored_entries
from proctor.judge.checks.inverted_tests.success_confirmation import Confirmation, Confirming, unconfirmed
from proctor.judge.checks.inverted_tests.variant_pool import is_inverted
from proctor.judge.checks.judge_context import BASE, PATCHED, JudgeContext, JudgedTree
from proctor.judge.checks.sentinels import forgeable
from proctor.judge.checks.setup_after_patch import Repeated, repeat_setup
from proctor.judge.patch_policy.paths_of_tests import places_of
from proctor.judge.patch_policy.restored_files import Restored, restore
from proctor.judge.patch_policy.tree_overlay import TreeOverlay
from proctor.record.schema_versions import RESULTS

RESULTS_TEXT_BYTES = 8 << 20
"""The most that test ids, which code under test can choose, may take up in ``results.json``."""

APPLY = ("git", "apply", "--cached")

_DISTURBANCES = (KILLED, *OF_THE_MACHINE)


@dataclass(frozen=True)
class Acceptance:
    """What acceptance came to: how the patch applied, and each check's decision."""

    patch: str
    problem: str
    decisions: Mapping[str, Judgement]


@dataclass(frozen=True)
class Judged:
    """A check with its attempts and their decision; ``confirmation`` is set if inverted tests ran."""

    check: Check
    attempts: tuple[Attempt, ...]
    decided: Judgement
    attribution: str
    confirmation: Confirmation | None = None


def accept(bench: JudgeContext, patch: bytes, *, confirm: bool = True) -> Acceptance:
    """Judge ``patch`` and leave the evidence in the run directory.

    If every mandatory check passes and ``confirm`` is set, inverted tests show whether the results are real.
    """
    results: dict[str, Any] = {**RESULTS.head(), "setup": [], "restored": [], "checks": []}
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
        judged = [_judge(bench, check, scene) for check in bench.prepared.contract.checks]
        if confirm and all(one.decided.outcome == PASS for one in judged if one.check.mandatory):
            judged = [_confirmed(bench, one, scene) for one in judged]
        for one in judged:
            _decide(bench, one, results)
    finally:
        repeated.discard()
    bench.run.write_json(bench.run.results, results, sync=False)
    return Acceptance(PASS, "", {one.check.id: one.decided for one in judged})


@contextmanager
def reference_tree(bench: JudgeContext, patch: bytes) -> Iterator[JudgedTree]:
    """The tree with the reference ``patch`` that checks start from; :class:`UsageFault` if it does not apply."""
    placement, problem = _apply(bench, patch)
    repeated = repeat_setup(bench, placement)
    try:
        problem = problem or repeated.problem
        if problem:
            raise UsageFault(f"the reference cannot be judged: {problem}", hint="proctor validate shows more")
        yield _scene(bench, placement, repeated)[0]
    finally:
        repeated.discard()


def _apply(bench: JudgeContext, patch: bytes) -> tuple[TreeOverlay, str]:
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
    return TreeOverlay(application.writes, application.removals), problem


def _blocked(bench: JudgeContext, results: dict[str, Any], problem: str) -> Acceptance:
    """No check can be reached: say so for each of them."""
    for check in bench.prepared.contract.checks:
        bench.trace.append("check.blocked", {"check": check.id, "reason": problem})
        results["checks"].append(check_entry(check, Judgement("blocked", "blocked", problem), "agent", ()))
    bench.trace.sync()
    bench.run.write_json(bench.run.results, results, sync=False)
    return Acceptance(results["patch"]["outcome"], problem, {})


def _scene(bench: JudgeContext, placement: TreeOverlay, repeated: Repeated) -> tuple[JudgedTree, tuple[Restored, ...]]:
    """The tree that checks start from, with everything restored that the patch may not change."""
    policy = bench.prepared.contract.policy
    places = places_of(bench.prepared.contract)
    if not repeated.layers:
        restored = restore(placement, policy, bench.read_base, places, bench.has_source)
        return JudgedTree(PATCHED, bench.prepared.layers, placement), restored
    above = repeated.steering(placement.touched(), policy)
    restored = restore(above, policy, bench.read_base, places, bench.has_source)
    return JudgedTree(PATCHED, repeated.layers, above), restored


def _times(check: Check) -> int:
    """How many attempts ``check`` gets on the patched tree."""
    return 0 if check.no_op else max(1, check.rerun.times)


def _judge(bench: JudgeContext, check: Check, scene: JudgedTree) -> Judged:
    """All attempts of one check, their decision, and its attribution."""
    if check.no_op:
        return Judged(check, (), Judgement(PASS, "no-op", "empty on purpose"), "")
    base = cache(partial(_on_base, bench, check))
    fresh = (partial(make_ready, bench, check, scene, number) for number in count(1))
    attempts: tuple[Attempt, ...] = ()
    for _ in range(_times(check)):
        made = _counting(bench, fresh, lambda: base()[-1].changed)
        attempts += tuple(_recorded(bench, check, one) for one in made)
    decided = decide(check.rerun.decide, [one.judgement for one in attempts if not one.set_aside])
    attribution = "agent" if decided.outcome == FAIL else ""
    if decided.reason in OF_THE_MACHINE:
        attribution = "harness"
    elif decided.outcome == ERROR or decided.reason == FORGED_RESULTS:
        decided, attribution = attribute(decided, base()[-1].judgement)
    if base.cache_info().currsize:
        attempts += tuple(_recorded(bench, check, one) for one in base())
    return Judged(check, attempts, decided, attribution)


def _confirmed(bench: JudgeContext, judged: Judged, scene: JudgedTree) -> Judged:
    """``judged`` after inverted tests, if its check has any: forged results are a failure of the patch."""
    check = judged.check
    if not is_inverted(check):
        off = is_inverted(replace(check, inverted=Inverted()))
        return replace(judged, confirmation=unconfirmed(check, "inverted.draws is 0")) if off else judged
    pool = bench.pool.of(check) if bench.pool is not None else None
    if pool is None or bench.pool is None:
        confirmation = unconfirmed(check, "no pool of variants was made: proctor validate makes one")
    else:
        confirmation = Confirming(bench, check, scene, pool, bench.pool.digest).confirm()
    if confirmation.forged is None:
        return replace(judged, confirmation=confirmation)
    return replace(judged, confirmation=confirmation, decided=confirmation.forged, attribution="agent")


def _decide(bench: JudgeContext, judged: Judged, results: dict[str, Any]) -> None:
    """Record the decision on a check."""
    check, attempts = judged.check, judged.attempts
    bench.trace.append("check.decided", _decided_payload(check, judged.decided, judged.attribution, attempts))
    bench.trace.sync()
    entry = check_entry(check, judged.decided, judged.attribution, attempts, _share(bench))
    inverted = {"inverted": dict(judged.confirmation.entry)} if judged.confirmation else {}
    results["checks"].append({**entry, **inverted})
    overridden = sorted({path for one in attempts for path in one.overridden})
    hidden = restored_entries(Restored(path, "hidden") for path in overridden)
    results["restored"] += [{**entry, "check": check.id} for entry in hidden]


def _on_base(bench: JudgeContext, check: Check) -> tuple[Attempt, ...]:
    """Run the check on the base; the last attempt counts. The events follow those of the patched tree."""
    base = JudgedTree(BASE, bench.prepared.layers, TreeOverlay())
    fresh = (partial(make_ready, bench, check, base, number) for number in count(1))
    return tuple(_counting(bench, fresh))


def _counting(
    bench: JudgeContext, fresh: Iterator[Callable[[], Ready]], on_base: Callable[[], RunnerChanges] = tuple
) -> Iterator[Attempt]:
    """Attempts up to the first that counts. Each kind of disturbance sets aside at most one attempt."""
    made = attempt(bench, next(fresh)(), on_base)
    kinds = [*_DISTURBANCES]
    while (why := set_aside(made.finished, made.judgement, made.machine_oom_kills)) in kinds:
        kinds.remove(why)
        yield replace(made, set_aside=why)
        made = attempt(bench, next(fresh)(), on_base)
    yield made


def _recorded(bench: JudgeContext, check: Check, made: Attempt) -> Attempt:
    """Record the event and the logs of an attempt."""
    if made.judgement.outcome == ERROR and not made.judgement.detail:
        made = replace(made, judgement=replace(made.judgement, detail="the command did not come to its end"))
    logs = keep_logs(bench.run, check, made)
    bench.trace.append("check.finished", finished_payload(check, made, logs))
    return made


def _share(bench: JudgeContext) -> int:
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
        "attempts": sum(one.tree == PATCHED and not one.set_aside for one in attempts),
        "set_aside": sum(bool(one.set_aside) for one in attempts),
        "attribution": attribution,
    }
