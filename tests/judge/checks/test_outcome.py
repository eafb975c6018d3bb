"""Outcomes, decisions and attribution, case by case."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from proctor.contract.model import Check
from proctor.execute.sandbox.interface import CommandResult, Output
from proctor.judge.checks.check_decision import (
    ERROR,
    FAIL,
    OF_THE_MACHINE,
    PASS,
    SENTINELS_WRONG,
    Judgement,
    attribute,
    decide,
    judge_attempt,
    killed_by,
    set_aside,
)
from proctor.judge.checks.results_readers.interface import RunnerChange, TestResults

NOTHING = Output(b"", 0, "")


def ended(exit_code: int = 0, *, started: bool = True, timed_out: bool = False) -> CommandResult:
    return CommandResult(exit_code, started, timed_out, "" if started else "gone", NOTHING, NOTHING, 0, 0, 0)


def check(**fields: Any) -> Check:
    return Check(**{"id": "c", "gate": "acceptance", "run": ("x",), "results": "pytest", **fields})


def results(complete: bool = True, tampered: bool = False, **outcomes: str) -> TestResults:
    return TestResults(outcomes, complete, "" if complete else "cut", tampered)


GOOD = results(a="passed", b="passed")


@pytest.mark.parametrize(
    ("finished", "oom", "expected"),
    [
        (ended(), 0, ("pass", "exit-code")),
        (ended(1), 0, ("fail", "exit-code")),
        (ended(255), 0, ("fail", "exit-code")),
        (ended(130), 0, ("fail", "exit-code")),
        (ended(126), 0, ("error", "could-not-start")),
        (ended(127), 0, ("error", "could-not-start")),
        (ended(-1, started=False), 0, ("error", "could-not-start")),
        (ended(-9, timed_out=True), 0, ("error", "timeout")),
        (ended(-11), 0, ("error", "runner-crash")),
        (ended(139), 0, ("error", "runner-crash")),
        (ended(137), 2, ("error", "out-of-memory")),
        (ended(1), 2, ("error", "out-of-memory")),
        (ended(0), 2, ("pass", "exit-code")),
    ],
)
def test_exit_code_checks(finished: CommandResult, oom: int, expected: tuple[str, str]) -> None:
    made = judge_attempt(check(results="exit-code"), finished, TestResults(complete=True), "none", oom)
    assert (made.outcome, made.reason) == expected


@pytest.mark.parametrize(
    ("fields", "finished", "found", "sentinels", "expected"),
    [
        ({}, ended(), GOOD, "genuine", ("pass", "tests")),
        ({}, ended(), results(), "genuine", ("fail", "no-tests")),
        ({}, ended(), results(a="skipped"), "genuine", ("fail", "no-tests")),
        ({}, ended(1), results(a="passed", b="failed"), "genuine", ("fail", "tests")),
        ({}, ended(1), results(a="passed", b="error"), "genuine", ("fail", "tests")),
        ({}, ended(1), GOOD, "genuine", ("fail", "exit-code")),
        ({"must_pass": ("a",)}, ended(1), results(a="passed", b="failed"), "genuine", ("pass", "tests")),
        ({"must_pass": ("a",)}, ended(), results(b="passed"), "genuine", ("fail", "tests")),
        ({"must_pass": ("a",)}, ended(), results(a="skipped"), "genuine", ("fail", "tests")),
        ({"keep_passing": ("a",)}, ended(), results(a="failed"), "genuine", ("fail", "tests")),
        ({"must_pass": ("a",)}, ended(), GOOD, "forged", ("fail", "forged")),
        ({"must_pass": ("a",)}, ended(), results(False, True, a="passed"), "unseen", ("fail", "forged")),
        ({"must_pass": ("a",)}, ended(0), results(False, a="passed"), "unseen", ("error", "runner-crash")),
        ({"must_pass": ("a",)}, ended(-6), GOOD, "genuine", ("error", "runner-crash")),
        ({"must_pass": ("a",)}, ended(-9, timed_out=True), GOOD, "genuine", ("error", "timeout")),
        ({"must_pass": ("a",)}, ended(127), results(False), "unseen", ("error", "could-not-start")),
        ({"must_pass": ("a",)}, ended(127), GOOD, "genuine", ("pass", "tests")),
        ({"results": "tap", "must_pass": ("a",)}, ended(137), GOOD, "none", ("pass", "tests")),
        ({"results": "junit"}, ended(1), GOOD, "genuine", ("pass", "tests")),
        ({"results": "junit"}, ended(1), GOOD, "none", ("fail", "exit-code")),
    ],
)
def test_checks_with_tests(
    fields: dict[str, Any], finished: CommandResult, found: TestResults, sentinels: str, expected: tuple[str, str]
) -> None:
    made = judge_attempt(check(**fields), finished, found, sentinels)
    assert (made.outcome, made.reason) == expected


@pytest.mark.parametrize(
    ("subject", "finished", "found", "expected"),
    [
        (check(results="exit-code"), ended(3), GOOD, Judgement(FAIL, "exit-code", "exited with 3")),
        (
            check(),
            ended(1),
            results(a="failed", b="passed", c="error"),
            Judgement(FAIL, "tests", "2 of 3 tests failed", ("a", "c")),
        ),
        (check(), ended(), results(a="skipped"), Judgement(FAIL, "no-tests", "no test was run and passed")),
        (check(), ended(4), GOOD, Judgement(FAIL, "exit-code", "exited with 4 although no test failed")),
    ],
)
def test_a_judgement_says_why(subject: Check, finished: CommandResult, found: TestResults, expected: Judgement) -> None:
    assert judge_attempt(subject, finished, found, "passed") == expected


@pytest.mark.parametrize(
    ("count", "expected"),
    [
        (1, "a0 (calc.py:1)"),
        (3, "a0 (calc.py:1), a1 (calc.py:1), a2 (calc.py:1)"),
        (5, "a0 (calc.py:1), a1 (calc.py:1), a2 (calc.py:1) and 2 more"),
    ],
)
def test_changes_of_the_runner_are_named_up_to_three(count: int, expected: str) -> None:
    changed = tuple(RunnerChange(f"a{number}", "calc.py:1") for number in range(count))
    judged = judge_attempt(check(), ended(), replace(GOOD, changed=changed), "passed")
    assert judged.detail == f"code of the tree changed the test runner: {expected}"


BY_EXIT_CODE = check(results="exit-code", timeout_seconds=60)


@pytest.mark.parametrize(
    ("subject", "finished", "found", "sentinels", "kills", "expected"),
    [
        (BY_EXIT_CODE, ended(started=False), GOOD, "none", 0, Judgement(ERROR, "could-not-start", "gone")),
        (BY_EXIT_CODE, ended(timed_out=True), GOOD, "none", 0, Judgement(ERROR, "timeout", "took more than 60 s")),
        (
            *(BY_EXIT_CODE, ended(-9), GOOD, "none", 2),
            Judgement(ERROR, "out-of-memory", "2 processes were ended for want of memory"),
        ),
        (BY_EXIT_CODE, ended(-11), GOOD, "none", 0, Judgement(ERROR, "runner-crash", "ended by signal 11")),
        (BY_EXIT_CODE, ended(139), GOOD, "none", 0, Judgement(ERROR, "runner-crash", "ended by signal 11")),
        (
            *(BY_EXIT_CODE, ended(127), GOOD, "none", 0),
            Judgement(ERROR, "could-not-start", "exit code 127: the program is missing or no program"),
        ),
        (check(), ended(), results(False), "unseen", 0, Judgement(ERROR, "runner-crash", "cut")),
        (check(), ended(), results(False, True), "unseen", 0, Judgement(FAIL, "forged", "cut")),
        (check(), ended(), GOOD, "forged", 0, Judgement(FAIL, "forged", SENTINELS_WRONG)),
        (
            *(check(), ended(), replace(GOOD, changed=(RunnerChange("a", "calc.py:1"),)), "genuine", 0),
            Judgement(FAIL, "forged", "code of the tree changed the test runner: a (calc.py:1)"),
        ),
    ],
)
def test_an_error_and_a_forgery_say_why(
    subject: Check, finished: CommandResult, found: TestResults, sentinels: str, kills: int, expected: Judgement
) -> None:
    assert judge_attempt(subject, finished, found, sentinels, kills) == expected


def test_failing_ids_are_named_in_order() -> None:
    wanted = check(must_pass=("z", "a"), keep_passing=("a", "m"))
    made = judge_attempt(wanted, ended(), results(m="passed", a="failed", z="skipped"), "genuine")
    assert made.failing == ("a", "z")
    assert made.detail == "2 of 3 listed tests did not pass"


def test_ids_that_never_turned_up_are_told_apart_from_failures() -> None:
    wanted = check(must_pass=("a", "b", "c", "d", "e", "f" * 1000))
    made = judge_attempt(wanted, ended(), results(a="failed", b="passed"), "genuine")
    assert made.detail == "1 of 6 listed tests did not pass; 4 of 6 listed tests not found: c, d, e, ..."
    three = judge_attempt(check(must_pass=("c", "d", "e")), ended(), results(a="passed"), "genuine")
    assert three.detail == "3 of 3 listed tests not found: c, d, e"
    none = judge_attempt(check(must_pass=("f" * 1000,)), ended(), results(a="passed"), "genuine")
    assert none.detail == f"1 of 1 listed tests not found: {'f' * 100}"


@pytest.mark.parametrize(
    ("exit_code", "number"),
    [
        *((-number, number) for number in (1, 2, 9, 11, 15, 17, 28, 31, 34, 64)),
        *((128 + number, number) for number in (*range(1, 17), 24, 25, 26, 27, 29, 30, 31)),
        *((128 + number, 0) for number in (17, 18, 19, 20, 21, 22, 23, 28, 32, 64, 127)),
        *((code, 0) for code in (0, 1, 124, 126, 127, 128)),
    ],
)
def test_j4_signals_are_read_from_exit_codes(exit_code: int, number: int) -> None:
    assert killed_by(exit_code) == number


CRASHED, FAILED = Judgement(ERROR, "runner-crash"), Judgement(FAIL, "exit-code")
STARVED = Judgement(ERROR, "machine-pressure")
NO_MEMORY, NO_MACHINE_MEMORY = Judgement(ERROR, "out-of-memory"), Judgement(ERROR, "machine-out-of-memory")


@pytest.mark.parametrize(
    ("finished", "judgement", "machine_kills", "expected"),
    [
        (ended(), Judgement(PASS, "tests"), 0, ""),
        (ended(137), Judgement(PASS, "tests"), 0, ""),
        (ended(-9), Judgement(PASS, "tests"), 1, ""),
        (ended(1), FAILED, 0, ""),
        (ended(128), FAILED, 0, ""),
        (ended(-9), CRASHED, 0, "killed"),
        (ended(-11), CRASHED, 0, "killed"),
        (ended(0), CRASHED, 0, "killed"),
        (ended(143), FAILED, 0, "killed"),
        (ended(137), Judgement(FAIL, "forged"), 0, "killed"),
        (ended(1), Judgement(FAIL, "forged"), 0, ""),
        (ended(-9), NO_MEMORY, 0, ""),
        (ended(-9), NO_MACHINE_MEMORY, 1, "machine-out-of-memory"),
        (ended(1), FAILED, 1, "machine-out-of-memory"),
        (ended(0), Judgement(FAIL, "tests"), 1, "machine-out-of-memory"),
        (ended(-9, timed_out=True), Judgement(ERROR, "timeout"), 0, ""),
        (ended(-9, timed_out=True), Judgement(ERROR, "timeout"), 1, "machine-out-of-memory"),
        (ended(-9, timed_out=True), STARVED, 0, "machine-pressure"),
        (ended(-9, timed_out=True), STARVED, 1, "machine-pressure"),
        (ended(127, started=False), Judgement(ERROR, "could-not-start"), 0, ""),
        (ended(-9, started=False), Judgement(ERROR, "could-not-start"), 1, ""),
        (ended(127), Judgement(ERROR, "could-not-start"), 0, ""),
    ],
)
def test_j4_what_the_machine_may_have_done_is_set_aside(
    finished: CommandResult, judgement: Judgement, machine_kills: int, expected: str
) -> None:
    assert set_aside(finished, judgement, machine_kills) == expected


def test_j4_without_kills_of_the_machine_none_are_assumed() -> None:
    assert set_aside(ended(1), FAILED) == ""


SECOND = 1_000_000_000


@pytest.mark.parametrize(
    ("wall_ns", "stalled_ns", "timed_out", "expected"),
    [
        (60 * SECOND, 0, True, "timeout"),
        (70 * SECOND, 10 * SECOND, True, "timeout"),
        (600 * SECOND, 540 * SECOND + 1, True, "machine-pressure"),
        (600 * SECOND, 540 * SECOND, True, "timeout"),
        (30 * SECOND, 1, True, "machine-pressure"),
        (30 * SECOND, 0, True, "timeout"),
        (30 * SECOND, 20 * SECOND, False, "exit-code"),
    ],
)
def test_j5_a_timeout_is_the_machines_only_where_the_command_did_not_get_its_time(
    wall_ns: int, stalled_ns: int, timed_out: bool, expected: str
) -> None:
    finished = replace(ended(1, timed_out=timed_out), wall_ns=wall_ns, stalled_ns=stalled_ns)
    made = judge_attempt(
        check(results="exit-code", timeout_seconds=60), finished, TestResults(complete=True), "none", 0, 0
    )
    assert made.reason == expected
    if expected == "machine-pressure":
        ran = "30.000" if wall_ns == 30 * SECOND else "60.000"
        assert (made.outcome, made.detail) == ("error", f"could run for {ran} s of its 60 s")


@pytest.mark.parametrize(
    ("own", "machine", "exit_code", "expected"),
    [
        (0, 1, 1, "machine-out-of-memory"),
        (0, 2, -9, "machine-out-of-memory"),
        (1, 1, 1, "out-of-memory"),
        (0, 1, 0, "exit-code"),
        (0, 0, 1, "exit-code"),
    ],
)
def test_j4_the_machines_want_of_memory_is_told_apart(own: int, machine: int, exit_code: int, expected: str) -> None:
    made = judge_attempt(check(results="exit-code"), ended(exit_code), TestResults(complete=True), "none", own, machine)
    assert made.reason == expected
    if expected == "machine-out-of-memory":
        assert made.outcome == ERROR
        assert made.detail == f"{machine} processes were killed: the machine had no memory"


P, F, E = Judgement(PASS, "tests"), Judgement(FAIL, "tests"), Judgement(ERROR, "timeout")
X = Judgement(FAIL, "forged")


@pytest.mark.parametrize(
    ("rule", "attempts", "expected"),
    [
        ("all", [P], P),
        ("all", [P, P, P], P),
        ("all", [P, F, P], F),
        ("all", [P, E, P], E),
        ("all", [E, F, P], F),
        ("majority", [P, P, F], P),
        ("majority", [P, F], F),
        ("majority", [P, E, E], E),
        ("majority", [P, P, E], P),
        ("any", [F, E, P], P),
        ("any", [F, E], F),
        ("any", [E, E], E),
        ("any", [P, P, X], X),
        ("majority", [P, P, X], X),
        ("all", [X], X),
    ],
)
def test_decisions(rule: str, attempts: list[Judgement], expected: Judgement) -> None:
    assert decide(rule, attempts) == expected


@given(st.sampled_from(["all", "majority", "any"]), st.lists(st.sampled_from([P, F, E, X]), min_size=1, max_size=7))
def test_a_pass_is_never_decided_without_one_and_never_over_a_forgery(rule: str, attempts: list[Judgement]) -> None:
    made = decide(rule, attempts)
    assert made in attempts
    if made == P:
        assert P in attempts
        assert X not in attempts
    if all(one == P for one in attempts):
        assert made == P


NOT_STARTED = Judgement(ERROR, "could-not-start")


@pytest.mark.parametrize(
    ("patched", "base", "outcome", "attribution"),
    [
        (E, P, "error", "agent"),
        (E, F, "error", "agent"),
        (E, E, "error", "nobody"),
        (NOT_STARTED, NOT_STARTED, "error", "harness"),
        (E, NOT_STARTED, "error", "harness"),
        (NOT_STARTED, P, "error", "agent"),
        (X, P, "fail", "agent"),
        (X, F, "fail", "agent"),
        (X, E, "fail", "agent"),
        (X, X, "error", "harness"),
        (E, X, "error", "nobody"),
    ],
)
def test_attribution(patched: Judgement, base: Judgement, outcome: str, attribution: str) -> None:
    made, whose = attribute(patched, base)
    assert (made.outcome, whose) == (outcome, attribution)


@pytest.mark.parametrize("reason", OF_THE_MACHINE)
def test_j4_a_base_that_the_machine_disturbed_blames_no_patch(reason: str) -> None:
    made, whose = attribute(X, Judgement(ERROR, reason, "could run for 1 s"))
    assert (made, whose) == (Judgement(ERROR, reason, "the base could not be judged: could run for 1 s"), "harness")


@pytest.mark.parametrize(("detail", "reason"), [(SENTINELS_WRONG, "sentinels"), ("another", "tampered-results")])
def test_a_forgery_on_the_base_keeps_the_reason_that_was_found_there(detail: str, reason: str) -> None:
    made, _ = attribute(X, replace(X, detail=detail))
    assert made == Judgement(ERROR, reason, f"on the base as well: {detail}")
