"""Confirm a success: drawn variants of its tests must fail, and unaltered tests must still pass.

Each round runs in a fresh sandbox under the same names, paths and selection. A set of rounds that shows nothing
confirms the success. Otherwise further sets are drawn, and the check is forged where one test is suspicious in two sets
(see ``draw``). What shows only once is recorded and decides nothing: a test may be flaky.

A round that the machine disturbs is run again; one that it disturbs each time makes the run invalid.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from random import Random
from typing import Any

from proctor.base.clock import seconds_text
from proctor.base.errors import InfrastructureFault
from proctor.base.parallel import parallel_map
from proctor.base.reversible_escapes import name_text
from proctor.contract.model import Check
from proctor.judge.checks.check_decision import FAIL, FORGED_RESULTS, SENTINELS_WRONG, Judgement
from proctor.judge.checks.check_records import keep_logs, stream
from proctor.judge.checks.inverted_tests.assertion_edits import EXPECTATION, diff, edited
from proctor.judge.checks.inverted_tests.random_rounds import (
    MOST_DIVIDED,
    MOST_SETS,
    Round,
    RoundFindings,
    affordable,
    divide,
    evaluate,
    forged_tests,
    lacks_results,
    plan_rounds,
)
from proctor.judge.checks.inverted_tests.sandbox_rounds import RoundResult, run_round, run_undisturbed, unchanged
from proctor.judge.checks.inverted_tests.variant_pool import WHOLE_CHECK, CheckPool, Variant, tests_of
from proctor.judge.checks.judge_context import JudgeContext, JudgedTree

MOST_LISTED = 20
"""How many variants and controls of one round a record names."""

CLEAN, PASSED, BROKEN, DISTURBED = "as expected", "variant passed", "control failed", "disturbed by the machine"


@dataclass(frozen=True)
class Confirmation:
    """What the rounds of one check showed: a judgement if it is forged, and the entry of ``results.json``."""

    forged: Judgement | None
    entry: Mapping[str, Any]


def unconfirmed(check: Check, problem: str) -> Confirmation:
    """The confirmation of a check without variants."""
    tests = tests_of(check)
    entry = {"rounds": [], "variants": 0, "controls": 0, "tests": len(tests), "without": list(tests), "pool": ""}
    return Confirmation(None, {**entry, "problem": problem})


class Confirming:
    """Confirms one check on one scene."""

    def __init__(self, bench: JudgeContext, check: Check, scene: JudgedTree, pool: CheckPool, pool_digest: str) -> None:
        self._bench = bench
        self._check = check
        self._scene = scene
        self._files = unchanged(pool, bench, check, scene)
        kept = tuple(one for one in pool.variants if one.path in self._files)
        self._pool = pool if len(kept) == len(pool.variants) else _reduced(pool, kept, check)
        self._digest = pool_digest
        self._tests = tests_of(check)
        self._chance = Random(bench.entropy(32))
        self._sets: list[list[RoundFindings]] = []
        self._entries: list[dict[str, Any]] = []
        self._drawn: list[Round] = []

    def confirm(self) -> Confirmation:
        """Run the rounds and say what they showed."""
        if not self._pool.variants:
            return unconfirmed(self._check, self._pool.problem or "no listed test has a variant")
        rounds = affordable(self._check.inverted.draws, self._pool, self._tests, self._bench.side_by_side)
        forged: Judgement | None = None
        while not forged and len(self._sets) < MOST_SETS:
            self._sets.append([])
            forged = self._run_set(plan_rounds(self._pool, self._tests, rounds, self._chance)) or self._forged()
            if not any(seen.suspicious for seen in self._sets[0]):
                break
        return Confirmation(forged, self._entry())

    def _run_set(self, rounds: tuple[Round, ...]) -> Judgement | None:
        """Run one set, and the parts of rounds that are divided; a judgement where the results of one were changed."""
        left = MOST_DIVIDED
        while rounds:
            first = len(self._drawn) + 1
            self._drawn += rounds
            made = list(parallel_map(self._made, list(enumerate(rounds, first)), self._bench.side_by_side))
            parts: list[Round] = []
            for drawn, one in zip(rounds, made, strict=True):
                if self._see(drawn, one).is_disturbed:
                    parts += divide(drawn, self._pool, self._tests, self._chance)
            tampered = next(filter(None, map(_tampered, rounds, made)), None)
            if tampered:
                return tampered
            rounds = tuple(parts[:left])
            left -= len(rounds)
        return None

    def _made(self, numbered: tuple[int, Round]) -> RoundResult:
        number, drawn = numbered
        only = (*self._tests, *self._pool.controls) if self._pool.selects else ()
        return run_undisturbed(
            lambda: run_round(self._bench, self._check, self._scene, drawn.variants, self._files, only, number),
            lambda made: lacks_results(evaluate(drawn, made.outcomes, self._pool.order), made.outcomes),
        )

    def _see(self, drawn: Round, made: RoundResult) -> RoundFindings:
        """Add the results of a round and write its event; the machine may have stopped the round early."""
        seen = evaluate(drawn, made.outcomes, self._pool.order)
        if drawn.variants and made.has_wrong_sentinels:
            seen = replace(seen, is_disturbed=True)  # sentinels run after altered tests as well
        self._record(drawn, made, seen, DISTURBED if made.is_of_the_machine else _verdict(seen))
        if made.is_of_the_machine:
            why = made.attempt.judgement.detail
            raise InfrastructureFault(f"the success of {self._check.id} could not be confirmed: {why}")
        self._sets[-1].append(seen)
        return seen

    def _forged(self) -> Judgement | None:
        """What the sets up to now show: a variant that passed is the clearest evidence, then a control that failed."""
        tests = forged_tests([{test for seen in several for test in seen.suspicious} for several in self._sets])
        if not tests:
            return None
        passed = [one for several in self._sets for seen in several for one in seen.passed if one[1] in tests]
        if passed:
            clear = max(passed, key=lambda one: (one[1] in self._tests, one[0].edit.kind == EXPECTATION))
            detail = _passed_text(*clear, self._files)
        else:
            mode = "in runs of the listed tests alone" if self._pool.selects else "when the check is repeated"
            detail = f"{_test_text(tests[0])} passes in the check and fails unaltered {mode}"
        return Judgement(FAIL, FORGED_RESULTS, detail, tests)

    def _entry(self) -> dict[str, Any]:
        return {
            "rounds": self._entries,
            "variants": sum(len(one.variants) for one in self._drawn),
            "controls": sum(len(one.controls) for one in self._drawn),
            "tests": len(self._tests),
            "without": list(self._pool.without),
            "pool": self._digest,
            "problem": self._pool.problem,
        }

    def _record(self, drawn: Round, made: RoundResult, seen: RoundFindings, verdict: str) -> None:
        """Write the event of a round; one that shows something keeps its output."""
        attempt = made.attempt
        passed = {one for one, _ in seen.passed}
        logs = keep_logs(self._bench.run, self._check, attempt) if seen.suspicious else {}
        shown = sorted(drawn.variants, key=lambda one: one not in passed)[:MOST_LISTED]
        payload = {
            "check": self._check.id,
            "set": len(self._sets),
            "round": attempt.number,
            "tries": made.tries,
            "command": list(attempt.command),
            "selected": self._pool.selects,
            "exit_code": attempt.finished.exit_code,
            "start": str(attempt.start_ns),
            "end": str(attempt.end_ns),
            "observed_seconds": seconds_text(attempt.finished.wall_ns),
            "cpu_seconds": seconds_text(attempt.finished.cpu_ns),
            "waited_seconds": seconds_text(attempt.waited_ns),
            "stalled_seconds": seconds_text(attempt.finished.stalled_ns),
            "verdict": verdict,
            "variants": [self._variant_entry(one, made.outcomes) for one in shown],
            "variant_count": len(drawn.variants),
            "passed_count": len(passed),
            "control_count": len(drawn.controls),
            "failed_controls": list(seen.failed[:MOST_LISTED]),
            "suspicious": list(seen.suspicious),
            "sentinels": attempt.sentinels,
            "tampered": attempt.results.tampered,
            "stdout": stream(attempt.finished.stdout),
            "stderr": stream(attempt.finished.stderr),
            "log": logs,
        }
        self._bench.trace.append("check.inverted", payload)
        names = ("set", "round", "verdict", "variant_count", "passed_count", "control_count", "suspicious")
        self._entries.append({name: payload[name] for name in names})

    def _variant_entry(self, one: Variant, outcomes: Mapping[str, str]) -> dict[str, Any]:
        data = self._files[one.path]
        return {
            "path": name_text(one.path),
            "line": one.edit.line,
            "kind": one.edit.kind,
            "tests": list(one.ids[:MOST_LISTED]),
            "outcome": outcomes.get(one.ids[0], "absent"),
            "diff": diff(name_text(one.path), data, edited(data, [one.edit])),
        }


def _reduced(pool: CheckPool, kept: tuple[Variant, ...], check: Check) -> CheckPool:
    """A pool without the variants of test files that the patch has changed."""
    covered = {test for one in kept if one.depends for test in one.ids}
    without = tuple(test for test in tests_of(check) if test not in covered)
    return CheckPool(
        *(pool.check, kept, without, pool.controls, pool.selects, pool.files, pool.round_ms, pool.check_ms),
        order=pool.order,
        problem=pool.problem or "the patch changed the test files, which are neither hidden nor protected",
    )


def _tampered(drawn: Round, made: RoundResult) -> Judgement | None:
    """The judgement of a round whose results were changed; sentinels show that only where no test is altered."""
    if made.attempt.results.tampered or (made.has_wrong_sentinels and not drawn.variants):
        why = made.attempt.results.problem or SENTINELS_WRONG
        return Judgement(FAIL, FORGED_RESULTS, f"in a further run of the check: {why}")
    return None


def _verdict(seen: RoundFindings) -> str:
    if seen.passed:
        return PASSED
    return BROKEN if seen.failed else CLEAN


def _passed_text(variant: Variant, test: str, files: Mapping[bytes, bytes]) -> str:
    """What shows the forgery, in a sentence: the test, and the line that was altered."""
    data = files[variant.path]
    changed = diff(name_text(variant.path), data, edited(data, [variant.edit])).splitlines()
    lines = [line[1:].strip() for line in changed if line.startswith("+") and not line.startswith("+++")]
    line = lines[0][:200] if lines else ""
    where = f"{name_text(variant.path)}:{variant.edit.line}"
    return f"{_test_text(test)} still passes when it is altered to fail ({variant.edit.kind}, {where}: {line})"


def _test_text(test: str) -> str:
    return "the check" if test == WHOLE_CHECK else test
