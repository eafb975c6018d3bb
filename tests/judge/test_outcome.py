"""Outcomes, decisions and attribution, case by case."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from proctor.contract.model import Check
from proctor.execute.sandbox.interface import Finished, Output
from proctor.judge.outcome import ERROR, FAIL, PASS, Judgement, attribute, decide, judge_attempt
from proctor.judge.results.interface import TestResults

NOTHING = Output(b"", 0, "")


def ended(exit_code: int = 0, *, started: bool = True, timed_out: bool = False) -> Finished:
    return Finished(exit_code, started, timed_out, "" if started else "gone", NOTHING, NOTHING, 0, 0, 0)


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
def test_exit_code_checks(finished: Finished, oom: int, expected: tuple[str, str]) -> None:
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
    fields: dict[str, Any], finished: Finished, found: TestResults, sentinels: str, expected: tuple[str, str]
) -> None:
    made = judge_attempt(check(**fields), finished, found, sentinels)
    assert (made.outcome, made.reason) == expected


def test_failing_ids_are_named_in_order() -> None:
    wanted = check(must_pass=("z", "a"), keep_passing=("a", "m"))
    made = judge_attempt(wanted, ended(), results(m="passed", a="failed", z="skipped"), "genuine")
    assert made.failing == ("a", "z")
    assert made.detail == "2 of 3 listed tests did not pass"


def test_ids_that_never_turned_up_are_told_apart_from_failures() -> None:
    wanted = check(must_pass=("a", "b", "c", "d", "e", "f" * 1000))
    made = judge_attempt(wanted, ended(), results(a="failed", b="passed"), "genuine")
    assert made.detail == "1 of 6 listed tests did not pass; 4 of 6 listed tests not found: c, d, e, ..."
    none = judge_attempt(check(must_pass=("f" * 1000,)), ended(), results(a="passed"), "genuine")
    assert none.detail == f"1 of 1 listed tests not found: {'f' * 100}"


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
