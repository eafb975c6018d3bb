"""Drawn rounds: one alters nothing, the others alter each covered test, and what they show is compared."""

from __future__ import annotations

from collections import Counter
from random import Random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from proctor.judge.inverted.draw import Round, Seen, affordable, evaluate, plan_rounds, shows_forgery
from proctor.judge.inverted.edit import ASSERTION, EXCEPTION, EXPECTATION, NEGATION, Edit
from proctor.judge.inverted.pool import CheckPool, Variant


def variant(
    ids: tuple[str, ...], start: int, kind: str = EXPECTATION, more: tuple[str, ...] = (), line: int = 1
) -> Variant:
    return Variant(b"t.py", Edit(start, start + 1, b"", kind, line), ids, (*ids, *more))


TESTS = tuple("abcdef")


@st.composite
def pools(draw: st.DrawFn) -> CheckPool:
    found = []
    for start in range(draw(st.integers(0, 24))):
        ids = tuple(sorted(draw(st.sets(st.sampled_from(TESTS), min_size=1, max_size=2))))
        more = tuple(sorted(draw(st.sets(st.sampled_from((*TESTS, "x")), max_size=1)) - set(ids)))
        kind = draw(st.sampled_from((EXPECTATION, NEGATION, EXCEPTION, ASSERTION)))
        found.append(variant(ids, draw(st.integers(0, start)), kind, more, draw(st.integers(1, 3))))
    return CheckPool("tests", tuple(found), controls=("x", "y"))


@settings(max_examples=50)
@given(pools(), st.integers(2, 8), st.integers())
def test_every_plan_keeps_its_promises(pool: CheckPool, count: int, seed: int) -> None:
    rounds = plan_rounds(pool, TESTS, count, Random(seed))
    assert len(rounds) <= count
    covered = [test for test in TESTS if pool.of(test)]
    unaltered = 2 if len(covered) == 1 and count >= 4 else 1
    assert [one.controls for one in rounds if not one.variants] == [(*TESTS, "x", "y")] * unaltered
    for one in rounds:
        for index, first in enumerate(one.variants):
            assert not any(first.clashes(other) for other in one.variants[index + 1 :])
        affected = {test for first in one.variants for test in first.affects}
        assert one.controls == tuple(test for test in (*TESTS, "x", "y") if test not in affected)
    altered = {test for one in rounds for first in one.variants for test in first.affects}
    for test in TESTS:
        if test not in altered:
            for one in rounds:
                fitting = [first for first in pool.of(test) if not any(first.clashes(other) for other in one.variants)]
                assert not fitting or not one.variants, "it would have fitted into a round"
    assert rounds == plan_rounds(pool, TESTS, count, Random(seed)), "the seed decides"


@settings(max_examples=50)
@given(st.integers(2, 8), st.integers())
def test_where_nothing_clashes_two_thirds_of_the_rounds_alter_each_test(count: int, seed: int) -> None:
    kinds = (NEGATION, EXPECTATION, EXCEPTION, ASSERTION)
    several = tuple(
        variant((test,), 10 * at + place, kinds[place % 4]) for at, test in enumerate(TESTS) for place in range(8)
    )
    rounds = plan_rounds(CheckPool("tests", several), TESTS, count, Random(seed))
    times = -(-2 * (count - 1) // 3)
    for test in TESTS:
        drawn = [first for one in rounds for first in one.variants if test in first.ids]
        assert len(drawn) == times
        assert len(set(drawn)) == len(drawn), "no variant is drawn again before all were"
        found = Counter(first.edit.kind for first in drawn)
        assert found[EXPECTATION] >= 1
        assert max(found.values()) - min(found[kind] for kind in kinds) <= 1, "kinds take turns"


def test_an_expectation_is_drawn_first_and_then_other_lines() -> None:
    several = (
        variant(("a",), 0, NEGATION),
        variant(("a",), 1, EXPECTATION, line=5),
        variant(("a",), 2, EXPECTATION, line=5),
        variant(("a",), 3, EXPECTATION, line=6),
    )
    for seed in range(30):
        (first,) = (one for one in plan_rounds(CheckPool("t", several), ("a",), 2, Random(seed)) if one.variants)
        assert [one.edit.kind for one in first.variants] == [EXPECTATION]
    lines = []
    for seed in range(30):
        rounds = plan_rounds(CheckPool("t", several[1:]), ("a",), 3, Random(seed))
        drawn = [one.edit.line for each in rounds for one in each.variants]
        assert sorted(drawn) == [5, 6], "a line that was drawn waits for the others"
        lines.append(drawn[0])
    assert set(lines) == {5, 6}, "chance decides the order"


def test_all_variants_are_drawn_before_one_is_drawn_again() -> None:
    several = (variant(("a",), 0, NEGATION), variant(("a",), 1, NEGATION), variant(("a",), 2, EXPECTATION))
    for seed in range(20):
        rounds = plan_rounds(CheckPool("t", several), ("a",), 5, Random(seed))
        assert {one for each in rounds for one in each.variants} == set(several)


def test_chance_picks_among_equals_and_orders_the_rounds() -> None:
    several = tuple(variant(("a",), start) for start in range(5))
    seen = {
        next(
            one.variants[0].edit.start
            for one in plan_rounds(CheckPool("t", several), ("a",), 2, Random(seed))
            if one.variants
        )
        for seed in range(60)
    }
    assert seen == set(range(5))
    places = {
        [bool(one.variants) for one in plan_rounds(CheckPool("t", several), ("a",), 3, Random(seed))].index(False)
        for seed in range(60)
    }
    assert places == {0, 1, 2}


def test_a_test_that_fits_into_one_round_only_is_altered_there() -> None:
    shared = variant(("a",), 0, more=("x",))
    other = variant(("b",), 5, more=("x",))
    for seed in range(40):
        rounds = plan_rounds(CheckPool("t", (shared, other)), ("a", "b"), 4, Random(seed))
        drawn = {test for one in rounds for first in one.variants for test in first.ids}
        assert drawn == {"a", "b"}


@pytest.mark.parametrize(("count", "unaltered"), [(2, 1), (3, 1), (4, 2), (6, 2)])
def test_a_single_test_has_two_rounds_that_alter_nothing(count: int, unaltered: int) -> None:
    several = tuple(variant(("a",), start) for start in range(9))
    found = [bool(one.variants) for one in plan_rounds(CheckPool("t", several), ("a", "b"), count, Random(0))]
    assert (found.count(False), found.count(True)) == (unaltered, count - unaltered)


def test_without_variants_there_is_one_round() -> None:
    assert plan_rounds(CheckPool("t", controls=("c",)), ("a",), 4, Random(0)) == (Round((), ("a", "c")),)


@pytest.mark.parametrize(
    ("draws", "check_ms", "round_ms", "side_by_side", "expected"),
    [
        (5, 0, 999_999, 1, 5),
        (40, 0, 999_999, 1, 40),
        (4, 100, 0, 1, 4),
        (4, 100, 500, 1, 4),
        (4, 100, 600, 1, 3),
        (4, 100, 600, 2, 4),
        (4, 100, 9_000, 1, 3),
        (2, 100, 9_000, 1, 2),
        (1, 100, 100, 1, 2),
        (1, 100, 0, 1, 2),
        (4, 4_999, 501, 1, 3),
        (4, 4_999, 500, 1, 4),
        (4, 5_000, 750, 1, 4),
        (4, 5_000, 751, 1, 3),
        (4, 5_000, 1_500, 2, 4),
        (4, 60_000, 9_000, 1, 4),
        (4, 60_000, 9_001, 1, 3),
    ],
)
def test_how_many_rounds_fit(draws: int, check_ms: int, round_ms: int, side_by_side: int, expected: int) -> None:
    pool = CheckPool("t", check_ms=check_ms, round_ms=round_ms)
    assert affordable(draws, pool, side_by_side) == expected


def test_a_round_is_clean_where_altered_tests_fail_and_controls_pass() -> None:
    first, second = variant(("a", "b"), 0), variant(("c",), 1)
    drawn = Round((first, second), ("d", "e"))
    clean = evaluate(drawn, {"a": "failed", "b": "failed", "c": "failed", "d": "passed", "e": "passed"})
    assert clean == Seen((), ())
    assert clean.is_clean
    forged = evaluate(drawn, {"a": "failed", "b": "passed", "c": "passed", "d": "passed", "e": "passed"})
    assert forged == Seen(((first, "b"), (second, "c")), ())
    assert not forged.is_clean
    broken = evaluate(drawn, {"a": "error", "d": "failed"})
    assert broken == Seen((), ("d", "e"))
    assert not broken.is_clean
    both = evaluate(drawn, {"a": "passed", "b": "passed", "d": "passed", "e": "error"})
    assert both == Seen(((first, "a"),), ("e",))


@pytest.mark.parametrize(
    ("passed", "failed", "expected"),
    [
        ([], [], (False, ())),
        ([False] * 9, [()] * 9, (False, ())),
        ([True, False], [()] * 2, (False, ())),
        ([True, False, True], [()] * 3, (True, ())),
        ([False] * 3, [("a",), ("a", "b"), ("b",)], (False, ())),
        ([False] * 4, [("b", "a"), ("a", "b"), ("a", "c"), ("b",)], (False, ("a", "b"))),
        ([True] * 3, [("a",)] * 3, (True, ("a",))),
    ],
)
def test_two_rounds_with_passing_variants_or_three_with_a_failing_control_show_a_forgery(
    passed: list[bool], failed: list[tuple[str, ...]], expected: tuple[bool, tuple[str, ...]]
) -> None:
    assert shows_forgery(passed, failed) == expected
