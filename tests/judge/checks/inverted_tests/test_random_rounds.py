"""Rounds drawn from a pool: what every set promises, what a round shows, and when a test is forged."""

from __future__ import annotations

from collections import Counter
from random import Random
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from proctor.contract.model import Inverted
from proctor.judge.checks.inverted_tests.assertion_edits import ASSERTION, EXCEPTION, EXPECTATION, FORM, NEGATION, Edit
from proctor.judge.checks.inverted_tests.random_rounds import (
    Round,
    RoundFindings,
    affordable,
    divide,
    evaluate,
    forged_tests,
    lacks_results,
    plan_rounds,
)
from proctor.judge.checks.inverted_tests.variant_pool import CheckPool, Variant

TESTS = tuple("abcdef")


def variant(
    ids: tuple[str, ...], start: int = 0, kind: str = EXPECTATION, more: tuple[str, ...] = (), line: int = 1
) -> Variant:
    return Variant(b"t.py", Edit(start, start + 1, b"", kind, line), ids, (*ids, *more))


def pool_of(tests: str, kinds: tuple[str, ...], each: int = 2, controls: str = "") -> CheckPool:
    """A pool with ``each`` variants of every kind for every test, on lines of their own."""
    found, start = [], 0
    for test in tests:
        for kind in kinds:
            for _ in range(each):
                start += 2
                found.append(variant((test,), start, kind, line=start))
    return CheckPool("t", tuple(found), controls=tuple(controls))


@st.composite
def pools(draw: st.DrawFn) -> CheckPool:
    found = []
    for start in range(draw(st.integers(0, 24))):
        ids = tuple(sorted(draw(st.sets(st.sampled_from((*TESTS, "x")), min_size=1, max_size=2))))
        more = tuple(sorted(draw(st.sets(st.sampled_from((*TESTS, "y")), max_size=1)) - set(ids)))
        kind = draw(st.sampled_from((EXPECTATION, NEGATION, EXCEPTION, ASSERTION)))
        found.append(variant(ids, draw(st.integers(0, start)), kind, more, draw(st.integers(1, 3))))
    return CheckPool("tests", tuple(found), controls=("x", "y"))


@settings(max_examples=60)
@given(pools(), st.integers(1, 6), st.integers(2, 8), st.integers())
def test_every_set_keeps_its_promises(pool: CheckPool, many: int, rounds: int, seed: int) -> None:
    tests = TESTS[:many]
    planned = plan_rounds(pool, tests, rounds, Random(seed))
    assert len(planned) == rounds
    assert any(not one.variants for one in planned), "in some round nothing is altered"
    for one in planned:
        for index, first in enumerate(one.variants):
            assert not any(first.clashes(other) for other in one.variants[index + 1 :])
        affected = {test for first in one.variants for test in first.affects}
        assert one.controls == tuple(test for test in (*tests, "x", "y") if test not in affected)
        assert all(set(first.ids) & {*tests, "x", "y"} for first in one.variants)
    assert planned == plan_rounds(pool, tests, rounds, Random(seed)), "the seed decides"


@pytest.mark.parametrize("tests", ["ab", "abc", "abcd", "abcdefgh"])
@pytest.mark.parametrize("rounds", [3, 4, 6])
def test_in_each_altered_round_some_tests_are_altered_and_some_are_not(tests: str, rounds: int) -> None:
    pool = pool_of(tests, (EXPECTATION, NEGATION))
    for seed in range(20):
        planned = plan_rounds(pool, tuple(tests), rounds, Random(seed))
        altered = [one for one in planned if one.variants]
        assert len(altered) == rounds - 1
        for one in altered:
            assert len(one.variants) == min((2 * len(tests) + 1) // 3, len(tests) - 1)
            assert set(one.controls) & set(tests), "a test that must pass is a control"
        times = Counter(first.ids[0] for one in altered for first in one.variants)
        assert max(times.values()) - min(times[test] for test in tests) <= 1, "tests take turns"
        drawn = [first for one in altered for first in one.variants]
        assert len(set(drawn)) == len(drawn) or rounds > 4, "no variant is drawn again before others were"


@pytest.mark.parametrize("rounds", [3, 4, 6])
def test_all_rounds_but_one_alter_values_alone(rounds: int) -> None:
    pool = pool_of("abc", (EXPECTATION, FORM, NEGATION))
    for seed in range(20):
        planned = plan_rounds(pool, tuple("abc"), rounds, Random(seed))
        kinds = [{first.edit.kind for first in one.variants} for one in planned]
        assert kinds.count({EXPECTATION}) == rounds - 2, "code under test cannot recognise these"
        others = [one for one in kinds if one and EXPECTATION not in one]
        assert len(others) == 1, "one round has every other kind"


def test_kinds_and_lines_take_turns() -> None:
    several = (
        variant(("a",), 0, NEGATION),
        variant(("a",), 2, FORM),
        variant(("a",), 4, EXPECTATION, line=5),
        variant(("a",), 6, EXPECTATION, line=5),
        variant(("a",), 8, EXPECTATION, line=6),
        variant(("b",), 20, EXPECTATION),
    )
    seen = set()
    for seed in range(60):
        planned = plan_rounds(CheckPool("t", several), ("a", "b"), 6, Random(seed))
        drawn = [first for one in planned for first in one.variants if first.ids == ("a",)]
        lines = [first.edit.line for first in drawn if first.edit.kind == EXPECTATION]
        assert len(lines) < 2 or set(lines) == {5, 6}, "a line that was drawn waits for the others"
        seen |= {first.edit.kind for first in drawn}
    assert seen == {NEGATION, FORM, EXPECTATION}


def test_tests_without_values_to_alter_have_enough_rounds() -> None:
    for seed in range(30):
        pool = pool_of("abcd", (NEGATION,))
        planned = plan_rounds(pool, tuple("abcd"), 4, Random(seed))
        assert sum(bool(one.variants) for one in planned) == 3
        mixed = CheckPool("t", (*pool_of("ab", (NEGATION,)).variants, variant(("c",), 90), variant(("d",), 95)))
        planned = plan_rounds(mixed, tuple("abcd"), 4, Random(seed))
        drawn = {first.ids[0] for one in planned for first in one.variants}
        assert drawn >= {"a", "b"}


@pytest.mark.parametrize(
    ("without", "rounds", "alike"),
    [(1, 4, 2), (6, 4, 2), (7, 4, 1), (8, 4, 1), (8, 6, 3), (9, 4, 0), (8, 3, 1), (8, 2, 1)],
)
def test_as_many_rounds_alter_values_alone_as_the_other_tests_leave(without: int, rounds: int, alike: int) -> None:
    tests = "abcdefghi"
    values = (variant((test,), 900 + 2 * at) for at, test in enumerate(tests[without:]))
    pool = CheckPool("t", (*pool_of(tests[:without], (NEGATION,)).variants, *values))
    for seed in range(10):
        planned = plan_rounds(pool, tuple(tests), rounds, Random(seed))
        kinds = [{first.edit.kind for first in one.variants} for one in planned if one.variants]
        assert len(kinds) == rounds - 1
        assert kinds.count({EXPECTATION}) == alike


def test_kinds_that_were_drawn_wait_for_the_others() -> None:
    several = tuple(variant(("a",), 2 * at, kind, line=at) for at, kind in enumerate((NEGATION, NEGATION, FORM)))
    for seed in range(20):
        planned = plan_rounds(CheckPool("t", several), ("a", "b"), 3, Random(seed))
        kinds = [first.edit.kind for one in planned for first in one.variants]
        assert sorted(kinds) == [FORM, NEGATION]


def test_a_single_test_is_altered_in_some_rounds_by_chance() -> None:
    pool = pool_of("a", (EXPECTATION, NEGATION), 4, controls="x")
    for rounds, least in ((2, 1), (3, 1), (4, 1), (6, 2), (9, 3)):
        counts = set()
        for seed in range(200):
            planned = plan_rounds(pool, ("a",), rounds, Random(seed))
            assert {one.controls for one in planned} == {("x",), ("a", "x")}
            kinds = [first.edit.kind for one in planned for first in one.variants]
            assert EXPECTATION in kinds
            assert kinds.count(NEGATION) == (1 if len(kinds) >= 2 else 0)
            counts.add(len(kinds))
        assert counts == set(range(least, rounds - least + 1)), "chance decides how many, and there are some of both"


def test_a_single_test_without_values_is_altered_in_another_way() -> None:
    pool = pool_of("a", (NEGATION, ASSERTION))
    for seed in range(30):
        planned = plan_rounds(pool, ("a",), 4, Random(seed))
        assert any(one.variants for one in planned)


def test_controls_of_the_pool_are_altered_too() -> None:
    pool = pool_of("abxyz", (EXPECTATION, NEGATION), controls="xyz")
    for seed in range(20):
        planned = plan_rounds(pool, ("a", "b"), 4, Random(seed))
        for one in planned:
            kept = {first.ids[0] for first in one.variants} & set("xyz")
            is_alike = all(first.edit.kind == EXPECTATION for first in one.variants)
            assert len(kept) == (0 if is_alike else 2), "an agent has seen these tests and could recognise the round"
        assert {first.ids[0] for one in planned for first in one.variants} >= set("ab")


ORDER = ("a", "b", "c")


@pytest.mark.parametrize(
    ("outcomes", "order", "failed", "is_disturbed"),
    [
        ({"a": "passed", "b": "failed", "c": "failed"}, ORDER, (), True),
        ({"b": "failed", "a": "failed", "c": "passed"}, ORDER, ("a",), False),
        ({"b": "failed", "a": "failed", "c": "passed"}, (), (), True),
        ({"b": "failed", "c": "failed", "a": "failed"}, ORDER, ("a",), True),
        ({"a": "passed", "b": "failed"}, ORDER, ("c",), False),
        ({"a": "failed", "c": "failed"}, ORDER, ("a", "c", "b"), False),
    ],
)
def test_j1_code_under_test_does_not_choose_the_order_that_counts(
    outcomes: dict[str, str], order: tuple[str, ...], failed: tuple[str, ...], is_disturbed: bool
) -> None:
    seen = evaluate(Round((variant(("b",)),), ("a", "c")), outcomes, order)
    assert (seen.failed, seen.is_disturbed) == (failed, is_disturbed)


@pytest.mark.parametrize(
    ("outcomes", "lacking"),
    [
        ({"a": "passed", "b": "failed", "c": "passed"}, False),
        ({"a": "passed"}, True),
        ({}, True),
        ({"a": "failed"}, False),
        ({"b": "passed"}, False),
    ],
)
def test_j1_only_results_that_are_missing_are_asked_for_again(outcomes: dict[str, str], lacking: bool) -> None:
    seen = evaluate(Round((variant(("b",)),), ("a", "c")), outcomes)
    assert lacks_results(seen, outcomes) is lacking


def test_variants_that_clash_are_not_in_one_round() -> None:
    shared = variant(("a",), 0, more=("x",))
    other = variant(("b",), 5, more=("x",))
    third = variant(("c",), 5)
    for seed in range(20):
        for one in plan_rounds(CheckPool("t", (shared, other, third)), tuple("abc"), 4, Random(seed)):
            assert len(one.variants) < 2 or {first.ids for first in one.variants} == {("a",), ("c",)}


def test_without_variants_nothing_is_altered() -> None:
    planned = plan_rounds(CheckPool("t", controls=("c",)), ("a", "b"), 4, Random(0))
    assert set(planned) == {Round((), ("a", "b", "c"))}


@pytest.mark.parametrize(
    ("draws", "check_ms", "round_ms", "jobs", "tests", "expected"),
    [
        (Inverted.draws, 1_000, 500, 2, 3, Inverted.draws),
        (Inverted.draws, 1_000, 500, 2, 2, Inverted.draws + 2),
        (Inverted.draws, 1_000, 500, 2, 1, Inverted.draws + 2),
        (Inverted.draws, 1_000, 800, 2, 1, 5),
        (Inverted.draws, 1_000, 0, 2, 3, Inverted.draws),
        (Inverted.draws, 1_000, 0, 2, 1, Inverted.draws + 2),
        (Inverted.draws, 4_999, 1_000, 2, 3, Inverted.draws),
        (Inverted.draws, 4_999, 2_000, 1, 3, 3),
        (Inverted.draws, 5_000, 2_000, 2, 3, 3),
        (Inverted.draws, 5_000, 1_000, 1, 3, 3),
        (Inverted.draws, 5_000, 750, 1, 3, 4),
        (Inverted.draws, 4_999, 750, 1, 3, 3),
        (Inverted.draws, 20_000, 3_000, 1, 3, Inverted.draws),
        (Inverted.draws, 100_000, 100_000, 1, 3, 3),
        (3, 1_000, 100, 2, 1, 3),
        (2, 1_000, 100, 2, 1, 2),
        (1, 1_000, 100, 2, 3, 2),
        (9, 1_000, 10_000, 1, 3, 9),
    ],
)
def test_rounds_fit_into_the_time_that_is_allowed(
    draws: int, check_ms: int, round_ms: int, jobs: int, tests: int, expected: int
) -> None:
    pool = CheckPool("t", check_ms=check_ms, round_ms=round_ms)
    assert affordable(draws, pool, TESTS[:tests], jobs) == expected


A, B = variant(("a",)), variant(("b", "c"), 5)


@pytest.mark.parametrize(
    ("outcomes", "passed", "failed", "is_disturbed"),
    [
        ({"a": "failed", "b": "failed", "c": "failed", "x": "passed"}, (), (), False),
        ({"a": "error", "b": "error", "c": "failed", "x": "passed"}, (), (), False),
        ({"a": "passed", "b": "failed", "c": "failed", "x": "passed"}, ((A, "a"),), (), False),
        ({"a": "failed", "b": "failed", "c": "passed", "x": "passed"}, ((B, "c"),), (), False),
        ({"x": "failed", "a": "failed", "b": "failed", "c": "failed"}, (), ("x",), False),
        ({"a": "failed", "b": "failed", "c": "failed", "x": "failed"}, (), (), True),
        ({"a": "failed", "x": "error", "b": "failed", "c": "failed"}, (), (), True),
        ({"a": "failed", "b": "failed", "c": "failed", "x": "skipped"}, (), ("x",), False),
        ({"a": "failed", "b": "failed", "c": "failed"}, (), ("x",), False),
        ({"b": "failed", "x": "passed"}, (), ("a", "c"), False),
        ({}, (), ("x", "a", "b"), False),
    ],
)
def test_what_a_round_shows(outcomes: dict[str, str], passed: Any, failed: Any, is_disturbed: bool) -> None:
    assert evaluate(Round((A, B), ("x",)), outcomes) == RoundFindings(passed, failed, is_disturbed)


def test_a_round_is_divided_into_two_with_every_alteration_in_one_of_them() -> None:
    pool = CheckPool("t", (A, B), controls=("x",))
    parts = divide(Round((A, B), ("x",)), pool, ("a", "b", "c"), Random(1))
    assert sorted(parts, key=str) == [Round((A,), ("b", "c", "x")), Round((B,), ("a", "x"))]
    assert divide(parts[0], pool, ("a", "b", "c"), Random(1)) == ()
    orders = {divide(Round((A, B), ("x",)), pool, ("a", "b", "c"), Random(seed)) for seed in range(20)}
    assert len(orders) == 2, "chance decides which half comes first"


def test_suspicious_tests_are_sorted_and_bounded() -> None:
    assert RoundFindings((), ()).suspicious == ()
    assert RoundFindings(((B, "c"), (A, "a")), ("x", "a")).suspicious == ("a", "c", "x")
    many = tuple(f"{number:03}" for number in reversed(range(300)))
    assert RoundFindings((), many).suspicious == tuple(f"{number:03}" for number in range(200))


@pytest.mark.parametrize(
    ("sets", "forged"),
    [
        ([], ()),
        ([("a", "b")], ()),
        ([("a",), ()], ()),
        ([("a",), ("b",)], ()),
        ([("a",), ("b",), ("c",)], ()),
        ([("a", "b"), ("b", "a")], ("a", "b")),
        ([("a",), (), ("a",)], ("a",)),
        ([("a", "a"), ()], ()),
    ],
)
def test_a_test_that_is_suspicious_in_two_sets_is_forged(sets: list[tuple[str, ...]], forged: tuple[str, ...]) -> None:
    assert forged_tests(sets) == forged
