"""Whether a plan can see its effect: published sizes, the share of alpha, and what cannot be said."""

from __future__ import annotations

from dataclasses import replace

import pytest

from proctor.base.canonical import canonical
from proctor.study.pilot.plan.power_analysis import Analysis, PowerQuestion, analyse, answer, curve, question_of, record
from proctor.study.stats.confidence_limits import normal_quantile
from tests.english import english
from tests.study.pilot.planning import method, protocol

DRAWS = 400
PLAIN = PowerQuestion(
    tasks=40,
    runs=3,
    effect=0.2,
    rate=0.5,
    iccs=(0.2, 0.6),
    correlations=(0.0, 0.5),
    alpha=0.05,
    target=0.8,
    seed=20260307,
)


def test_the_question_of_a_protocol() -> None:
    asked = question_of(protocol())
    assert (asked.tasks, asked.runs, asked.effect, asked.rate) == (4, 3, 0.3, 0.5)
    assert (asked.iccs, asked.correlations, asked.comparisons) == ((0.2, 0.6), (0.0, 0.5), 1)
    assert asked.level == 0.05


def test_runs_that_will_not_count_are_fewer_tasks() -> None:
    assumed = {**protocol()["assumed"], "invalid": "0.3"}
    assert question_of(protocol(assumed=assumed)).tasks == 2


def test_every_pair_has_its_share_of_alpha() -> None:
    methods = [*(method(name) for name in "abcd"), method("noop", baseline=True)]
    asked = question_of(protocol(comparison=None, methods=methods))
    assert asked.comparisons == 6
    assert asked.level == pytest.approx(0.05 / 6)
    assert question_of(protocol(comparison=None, methods=methods[:1])).comparisons == 1
    assert question_of(protocol(methods=methods)).comparisons == 1, "the question is about two of them"


def test_looks_leave_less_of_alpha_for_the_end() -> None:
    """O'Brien-Fleming spending of 0.05 at two equal looks: the last limit is 1.9686 (Lan and DeMets 1983)."""
    asked = question_of(protocol(stopping={"violations": 3, "looks": ["0.5", "1"]}))
    assert -normal_quantile(asked.level / 2) == pytest.approx(1.9686, abs=5e-5)


def test_tasks_that_are_not_shared_need_the_published_number() -> None:
    """0.3 against 0.5 at 0.05 and 0.8 needs 92.9988 an arm; with m = 10 and ICC 0.05, 1.45 times that: 14 clusters."""
    asked = replace(PLAIN, rate=0.3, runs=10, iccs=(0.05,), correlations=(0.0,))
    row = analyse(asked, DRAWS).rows[0]
    assert row.design_effect == pytest.approx(1.45)
    assert row.apart == 14


def test_formula_and_simulation_answer_alike() -> None:
    for row in analyse(PLAIN, DRAWS).rows:
        assert row.simulated.low <= row.power < row.simulated.power + 0.1, "signs take a little of what t finds"


def why(found: Analysis) -> str:
    return str(english(answer(record(found))))


def test_the_worst_case_decides() -> None:
    found = analyse(PLAIN, DRAWS)
    worst = found.worst
    assert worst is not None
    assert (worst.icc, worst.correlation) == (0.6, 0.0)
    assert not found.supported
    assert found.enough is not None
    assert f"target 0.8; {found.enough} tasks would reach it" in why(found)
    enough = analyse(replace(PLAIN, tasks=found.enough), DRAWS)
    assert enough.supported
    assert why(enough).endswith("target 0.8")
    assert analyse(replace(PLAIN, iccs=(0.2,), correlations=(0.5,), tasks=60), DRAWS).supported


def test_as_many_tasks_are_advised_as_the_row_that_needs_the_most() -> None:
    """With very few tasks the row with the least simulated power need not be the one that needs the most tasks."""
    few = replace(PLAIN, tasks=2, rate=0.4, effect=0.3, iccs=(0.2, 0.4, 0.6), correlations=(0.0, 0.5))
    found = analyse(few, DRAWS)
    assert found.worst is not None and found.enough is not None
    needed = [row.needed for row in found.rows if row.needed is not None]
    assert found.worst.needed != max(needed)
    assert found.enough >= max(needed)
    assert analyse(replace(few, tasks=found.enough), DRAWS).supported
    assert why(found).endswith(f"{found.enough} tasks would reach it in every case")


def test_formula_and_simulation_have_a_worst_case_each() -> None:
    """The least by formula and the least that was simulated need not be in the same row."""
    few = analyse(replace(PLAIN, tasks=8, effect=0.15), DRAWS)
    first, *others = few.rows
    low = replace(first, power=0.1, simulated=replace(first.simulated, power=0.09, low=0.05, high=0.15))
    odd = replace(others[-1], power=0.3, simulated=replace(first.simulated, power=0.03, low=0.01, high=0.06))
    cases = [f"(icc {row.icc:g}, correlation {row.correlation:g})" for row in (low, odd)]
    told = why(replace(few, rows=(low, odd)))
    assert f"in the worst cases: formula 0.10 {cases[0]}, simulation 0.03 {cases[1]}; target 0.8" in told
    assert f"in the worst case: formula 0.10 {cases[0]}; target 0.8" in why(replace(few, rows=(low,)))


def test_a_case_is_simulated_alike_whatever_else_is_asked() -> None:
    alone = analyse(replace(PLAIN, iccs=(0.6,), correlations=(0.5,)), DRAWS).rows[0]
    assert alone == analyse(PLAIN, DRAWS).rows[-1]


def test_no_fewer_tasks_are_needed_than_can_show_anything() -> None:
    sure = replace(PLAIN, tasks=5, rate=0.01, effect=0.98, iccs=(0.0,), correlations=(0.0,))
    assert [row.needed for row in analyse(sure, DRAWS).rows] == [sure.least_tasks] == [6]


def test_the_least_effect_is_what_would_be_seen() -> None:
    row = analyse(PLAIN, DRAWS).rows[0]
    assert row.smallest is not None
    again = analyse(replace(PLAIN, effect=row.smallest), DRAWS).rows[0]
    assert again.power == pytest.approx(0.8, abs=1e-6)


@pytest.mark.parametrize(
    ("power", "high", "supported"), [(0.9, 0.9, True), (0.9, 0.7, False), (0.7, 0.9, False), (0.8, 0.8, True)]
)
def test_formula_and_simulation_both_have_a_say(power: float, high: float, supported: bool) -> None:
    row = analyse(PLAIN, DRAWS).rows[0]
    assert replace(row, power=power, simulated=replace(row.simulated, high=high)).supported(0.8) is supported


def test_a_formula_that_the_simulation_contradicts_supports_nothing() -> None:
    """Six tasks whose means are mostly 0 or 1 are too few for the t distribution, and for signs that may not differ."""
    few = replace(PLAIN, tasks=6, rate=0.1, effect=0.8, iccs=(0.5,), correlations=(0.0,))
    found = analyse(few, DRAWS)
    worst = found.worst
    assert worst is not None
    assert worst.power >= 0.8 > worst.simulated.high
    assert not found.supported
    assert "formula 0." in why(found) and "simulation 0." in why(found)
    assert found.enough is not None and found.enough > 6
    assert analyse(replace(few, tasks=found.enough), DRAWS).supported


def test_what_no_number_of_tasks_shows_is_said() -> None:
    found = analyse(replace(PLAIN, tasks=2, effect=0.0001), DRAWS)
    assert found.enough is None
    assert why(found).endswith("no number of tasks would reach it")


@pytest.mark.parametrize(("alpha", "least"), [(0.05, 6), (0.0625, 6), (0.063, 5), (0.4, 3), (0.005, 9)])
def test_too_few_tasks_for_signs_support_nothing(alpha: float, least: int) -> None:
    certain = replace(PLAIN, alpha=alpha, rate=0.01, effect=0.98, iccs=(0.0,), correlations=(0.0,), target=0.001)
    assert certain.least_tasks == least
    few = analyse(replace(certain, tasks=least - 1), DRAWS)
    assert not few.supported
    assert f"the level is {alpha:.3g}: at least {least} tasks are necessary; {least} tasks would" in why(few)
    assert few.enough == least
    assert analyse(replace(certain, tasks=least), DRAWS).supported


def test_one_task_is_no_comparison() -> None:
    found = analyse(replace(PLAIN, tasks=1))
    assert (found.supported, found.rows, found.worst) == (False, (), None)
    assert why(found) == "a comparison needs at least 2 tasks that count, and there are 1"
    assert record(found)["supported"] is False


def test_the_same_seed_simulates_the_same() -> None:
    first, second = (canonical(record(analyse(PLAIN, DRAWS), DRAWS)) for _ in range(2))
    assert first == second
    assert canonical(record(analyse(replace(PLAIN, seed=1), DRAWS), DRAWS)) != first


def test_the_curve_goes_through_the_plan() -> None:
    rows = {(tasks, row.icc, row.correlation): row.power for tasks, row in curve(PLAIN)}
    for row in analyse(PLAIN, DRAWS).rows:
        assert rows[40, row.icc, row.correlation] == row.power
    powers = [rows[tasks, 0.6, 0.0] for tasks in (5, 10, 40, 100, 1000)]
    assert powers == sorted(powers)
