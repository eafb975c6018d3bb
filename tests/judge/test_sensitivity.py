"""How much rankings owe to weights: moved weights, Kendall's tau-b by hand, conditioning on success."""

from __future__ import annotations

from decimal import Decimal

import pytest
from hypothesis import given
from hypothesis import strategies as st

from proctor.judge.scoring_rubric import kendall, mean_parts, moved, sensitivity
from proctor.record.report_model import AgentName, Report
from tests.sample_reports import DIGEST, sample_report, sample_score

D = Decimal
WEIGHTS = {"a": D("0.5"), "b": D("0.5"), "c": D("0")}


@pytest.mark.parametrize(
    ("name", "by", "wanted"),
    [
        ("a", "0.1", ("0.6", "0.4", "0")),
        ("a", "-0.2", ("0.3", "0.7", "0")),
        ("c", "0.2", ("0.4", "0.4", "0.2")),
        ("c", "-0.1", ("0.5", "0.5", "0")),
    ],
)
def test_weights_that_were_moved_by_hand(name: str, by: str, wanted: tuple[str, ...]) -> None:
    assert list(moved(WEIGHTS, name, D(by)).values()) == [D(text) for text in wanted]


def test_a_weight_that_is_all_gives_evenly_to_the_others() -> None:
    assert moved({"a": D(1), "b": D(0), "c": D(0)}, "a", D("-0.2")) == {"a": D("0.8"), "b": D("0.1"), "c": D("0.1")}


@given(st.lists(st.integers(0, 100), min_size=3, max_size=3).filter(any), st.integers(-30, 30))
def test_moved_weights_stay_weights(parts: list[int], by: int) -> None:
    whole = {name: D(part) / D(sum(parts)) for name, part in zip("abc", parts, strict=True)}
    now = moved(whole, "a", D(by) / 100)
    assert abs(sum(now.values(), D(-1))) < D("1e-20")
    assert all(value >= 0 for value in now.values())


def test_tau_b_by_hand() -> None:
    """Without ties 5 pairs of 6 agree and 1 does not: 4 / 6. With one tie in the second: 5 / sqrt(6 * 5)."""
    first = [D(1), D(2), D(3), D(4)]
    assert kendall(first, first) == 1
    assert round(kendall(first, [D(1), D(2), D(4), D(3)]) or D(0), 6) == D("0.666667")
    assert round(kendall(first, [D(1), D(2), D(3), D(3)]) or D(0), 6) == D("0.912871")
    assert kendall(first, first[::-1]) == -1
    assert kendall(first, [D(1)] * 4) is None


def test_a_ranking_that_hangs_on_one_weight_is_told() -> None:
    means = {"small": {"a": D("0.9"), "b": D("0.5"), "c": D(0)}, "whole": {"a": D("0.55"), "b": D("0.8"), "c": D(0)}}
    rows = {(row.weight, row.by): row for row in sensitivity(means, WEIGHTS)}
    assert rows[("a", "+0.05")].same_first
    assert not rows[("a", "-0.05")].same_first
    assert rows[("a", "-0.05")].tau == -1
    assert ("c", "-0.1") not in rows


def test_only_runs_that_passed_every_gate_count() -> None:
    def report(agent: str, minimality: str | None) -> Report:
        who = AgentName(name=agent, kind="command", digest=DIGEST)
        return sample_report(agent=who, score=sample_score(minimality) if minimality else None)

    found = mean_parts([report("x", "0.2"), report("x", None), report("x", "0.4"), report("y", None)])
    assert found == {"x": ({"minimality": D("0.3"), "trace": D(1), "maintainability": D(0)}, 2)}
