"""Gates as a report holds them: the verdict, the sentence and the pointers of each, for everything that can happen."""

from __future__ import annotations

from typing import Any

import pytest

from proctor.contract.model import Check
from proctor.judge.run_verdict import FAILED, NOT_REACHED, PASSED, gate_verdict, gates, named_gate
from proctor.record.report_model import Gate
from tests.judge.scene import Told, evidence_of, happened

APPLIES = named_gate("G1", True, "the patch applies and every check could start", ("events.jsonl#7",))
NO_BUILD = named_gate("G2", True, "the contract declares no build or static check")
HELD = named_gate("G4", True, "no violation of the policy", ("events.jsonl#6",))
TESTS = Check("tests", "acceptance", ("x",), results="pytest")


def verdicts(told: list[Told], **fields: Any) -> tuple[Gate, ...]:
    return gates(evidence_of(told, **fields))


def without(*names: str, **fields: Any) -> list[Told]:
    return [one for one in happened(**fields) if one[0] not in names]


def decided(check: str, outcome: str = "pass", **more: Any) -> Told:
    return "check.decided", {"check": check, "outcome": outcome, "attribution": "agent", **more}


def finding(message: str, grade: str = "violation") -> Told:
    return "safety.finding", {"code": "privilege", "grade": grade, "message": message, "evidence": "x"}


def test_a_run_in_which_everything_went_well() -> None:
    passed = named_gate("G3", True, "every mandatory check passed", ("events.jsonl#9",))
    assert verdicts(happened()) == (APPLIES, NO_BUILD, passed, HELD)


def words(told: list[Told], **fields: Any) -> list[str]:
    return [gate_verdict(gate) for gate in verdicts(told, **fields)]


def test_a_gate_of_which_nothing_was_recorded_was_not_reached() -> None:
    assert words(happened()) == [PASSED] * 4
    assert words([]) == [NOT_REACHED, PASSED, NOT_REACHED, NOT_REACHED]
    assert words([*without("safety.checked"), finding("bad")])[3] == FAILED
    assert words(happened(), checks=()) == [PASSED, PASSED, FAILED, PASSED], "that is the contract's own fault"


def test_a_patch_that_was_never_applied() -> None:
    validity, _, acceptance, _ = verdicts(without("patch.applied", "check.finished", "check.decided"))
    assert validity == named_gate("G1", False, "the patch was never applied")
    assert acceptance == named_gate("G3", False, "tests was never decided")


@pytest.mark.parametrize("outcome", ["fail", "error"])
def test_a_patch_that_does_not_apply(outcome: str) -> None:
    validity, _, acceptance, _ = verdicts(happened(applied=outcome))
    assert validity == named_gate("G1", False, "no", ("events.jsonl#7",))
    assert acceptance == named_gate("G3", False, "tests was blocked: no", ("events.jsonl#8",))


def test_a_check_that_is_blocked_although_the_patch_applies() -> None:
    blocked: Told = ("check.blocked", {"check": "tests", "reason": "its files are gone"})
    validity, _, acceptance, _ = verdicts(happened(more=[blocked]))
    assert validity == named_gate("G1", False, "tests was blocked: its files are gone", ("events.jsonl#10",))
    assert acceptance == named_gate("G3", False, "tests was blocked: its files are gone", ("events.jsonl#10",))


@pytest.mark.parametrize(("more", "why"), [({"detail": "no such file"}, "no such file"), ({}, "")])
def test_a_check_that_could_not_be_started(more: dict[str, str], why: str) -> None:
    late = Check("late", "acceptance", ("x",), mandatory=False)
    attempt: Told = ("check.finished", {"check": "late", "log": {"stdout": "late.out", "stderr": "late.err"}})
    told = happened(more=[attempt, decided("late", "error", reason="could-not-start", **more)])
    never = Check("never", "acceptance", ("x",), mandatory=False)
    evidence = ("events.jsonl#11", "events.jsonl#10", "late.err", "late.out")
    assert verdicts(told, checks=(TESTS, never, late))[0] == named_gate(
        "G1", False, f"late could not be started: {why}", evidence
    )


def test_a_check_without_a_reason_could_be_started() -> None:
    assert verdicts(happened(outcome="error", reason="timeout", attribution="nobody"))[0] == APPLIES


def test_a_failed_check_points_at_its_attempts_and_their_logs() -> None:
    build = Check("build", "build", ("make",))
    first: Told = ("check.finished", {"check": "build", "log": {"stdout": "1.out", "stderr": "1.err"}})
    second: Told = ("check.finished", {"check": "build"})
    told = happened(more=[first, second, decided("build", "fail", reason="exit-code", detail="exited with 2")])
    evidence = ("events.jsonl#12", "events.jsonl#10", "1.err", "1.out", "events.jsonl#11")
    assert verdicts(told, checks=(build, TESTS))[1] == named_gate(
        "G2", False, "build failed: exit-code (exited with 2)", evidence
    )


def test_a_forged_check_points_at_the_rounds_that_show_it() -> None:
    shown = {"check": "tests", "verdict": "variant passed", "passed_count": 1, "log": {"stdout": "logs/x"}}
    clean = {"check": "tests", "verdict": "as expected", "passed_count": 0, "log": {}}
    told = happened(outcome="fail", reason="forged", more=[("check.inverted", clean), ("check.inverted", shown)])
    gate = verdicts(told)[2]
    assert gate.evidence == ("events.jsonl#9", "events.jsonl#11", "logs/x", "events.jsonl#8")
    other = happened(outcome="fail", more=[("check.inverted", shown)])
    assert verdicts(other)[2].evidence == ("events.jsonl#9", "events.jsonl#8")


def test_an_error_fails_a_gate_in_words_of_its_own() -> None:
    told = happened(outcome="error", reason="timeout", attribution="nobody")
    evidence = ("events.jsonl#9", "events.jsonl#8")
    assert verdicts(told)[2] == named_gate("G3", False, "tests could not be decided: timeout", evidence)


def test_build_and_static_checks_share_a_gate_and_all_must_pass() -> None:
    checks = (Check("build", "build", ("make",)), Check("lint", "static", ("lint",)), TESTS)
    both = verdicts(happened(more=[decided("build"), decided("lint")]), checks=checks)
    assert both[1] == named_gate("G2", True, "every mandatory check passed", ("events.jsonl#10", "events.jsonl#11"))
    one = verdicts(happened(more=[decided("build"), decided("lint", "fail", reason="exit-code")]), checks=checks)
    assert one[1] == named_gate("G2", False, "lint failed: exit-code", ("events.jsonl#11",))
    assert one[2].passed


def test_a_check_that_is_not_mandatory_hides_none_behind_it() -> None:
    free = Check("free", "build", ("make",), mandatory=False)
    build = Check("build", "build", ("make",))
    told = happened(more=[decided("free", "fail"), decided("build", "fail", reason="exit-code")])
    assert verdicts(told, checks=(free, build, TESTS))[1].why == "build failed: exit-code"
    good = happened(more=[decided("free", "fail"), decided("build")])
    assert verdicts(good, checks=(free, build, TESTS))[1] == named_gate(
        "G2", True, "every mandatory check passed", ("events.jsonl#11",)
    )


def test_a_gate_may_be_empty_on_purpose() -> None:
    nothing = Check("nothing", "build", (), no_op=True)
    unsaid = Check("unsaid", "static", (), no_op=True)
    gate = verdicts(happened(more=[decided("nothing")]), checks=(nothing, unsaid, TESTS))[1]
    assert gate == named_gate("G2", True, "empty on purpose: the contract declares a no-op", ("events.jsonl#10",))


def test_one_real_check_makes_the_gate_real() -> None:
    nothing, build = Check("nothing", "build", (), no_op=True), Check("build", "build", ("make",))
    told = happened(more=[decided("nothing"), decided("build", "fail", reason="exit-code")])
    assert verdicts(told, checks=(nothing, build, TESTS))[1].why == "build failed: exit-code"


@pytest.mark.parametrize("checks", [(), (Check("free", "acceptance", ("x",), mandatory=False),)])
def test_without_a_mandatory_acceptance_check_nothing_is_accepted(checks: tuple[Check, ...]) -> None:
    told = happened(more=[decided("free")])
    assert verdicts(told, checks=checks)[2] == named_gate("G3", False, "the contract has no mandatory acceptance check")


def test_one_mandatory_check_among_others_is_enough() -> None:
    free = Check("free", "acceptance", ("x",), mandatory=False)
    assert verdicts(happened(), checks=(free, TESTS))[2] == named_gate(
        "G3", True, "every mandatory check passed", ("events.jsonl#9",)
    )


@pytest.mark.parametrize(
    ("count", "why"), [(1, "message 0"), (2, "message 0 (and 1 more)"), (25, "message 0 (and 24 more)")]
)
def test_violations_are_counted_and_twenty_are_shown(count: int, why: str) -> None:
    findings = [finding("only a notice", "notice"), *(finding(f"message {number}") for number in range(count))]
    evidence = tuple(f"events.jsonl#{5 + number}" for number in range(min(count, 20)))
    assert verdicts(happened(before=findings))[3] == named_gate("G4", False, why, evidence)


def test_a_policy_that_was_never_held_against_the_run() -> None:
    assert verdicts(without("safety.checked"))[3] == named_gate(
        "G4", False, "the policy was never held against the run"
    )
    assert verdicts(without("safety.checked", before=[finding("m")]))[3].why == "m"


def test_violations_that_were_only_counted() -> None:
    told = [(name, {"violations": 3} if name == "safety.checked" else payload) for name, payload in happened()]
    assert verdicts(told)[3] == named_gate("G4", False, "3 violations", ("events.jsonl#6",))
