"""Numbers are written as people read them, and a missing one is never zero."""

from __future__ import annotations

from math import inf, nan
from typing import Any

import pytest

from proctor.present.readable_numbers import (
    MISSING,
    Form,
    count,
    counted,
    duration,
    finite_number,
    money,
    plain,
    points,
    probability,
    share,
    span,
)
from proctor.present.sentences.estimates import reason, with_span

CASES: list[tuple[Form, float, str]] = [
    (count, 12500, "12,500"),
    (share, 0.6237, "62.4%"),
    (share, 0, "0.0%"),
    (share, 1, "100.0%"),
    (points, 0.1234, "+12.3"),
    (points, -0.05, "\u22125.0"),
    (points, -0.00001, "0.0"),
    (money, 0, "$0.00"),
    (money, 0.0042, "$0.0042"),
    (money, 0.72, "$0.72"),
    (money, 0.999, "$1.00"),
    (money, 12.3, "$12.30"),
    (money, 12345.6, "$12,346"),
    (money, -3, "\u2212$3.00"),
    (duration, 3.21, "3.2 s"),
    (duration, 90, "90 s"),
    (duration, 1800, "30.0 min"),
    (duration, 9000, "2.5 h"),
    (plain, 0.81, "0.81"),
    (plain, 123456, "123,456"),
    (probability, 0.0001, "< 0.001"),
    (probability, 0.0123, "0.012"),
    (probability, 0.125, "0.125"),
]


@pytest.mark.parametrize(("form", "value", "text"), CASES)
def test_a_number_reads(form: Form, value: float, text: str) -> None:
    assert form(value) == text


@pytest.mark.parametrize("form", [count, share, points, money, duration, plain, probability])
@pytest.mark.parametrize("value", [None, nan, inf, -inf])
def test_what_is_missing_is_a_dash(form: Form, value: float | None) -> None:
    assert form(value) == MISSING


def test_true_is_no_number() -> None:
    assert finite_number(True) is None
    assert finite_number("1") is None
    assert finite_number(1) == 1.0


ESTIMATE: dict[str, Any] = {"value": 0.5, "low": 0.4, "high": 0.6, "undefined": None}


def test_an_estimate_stands_with_its_range() -> None:
    assert span(ESTIMATE) == "40.0% to 60.0%"
    assert with_span(ESTIMATE) == "50.0% (40.0% to 60.0%)"
    assert with_span({**ESTIMATE, "low": None}) == "50.0%"


def test_an_undefined_estimate_says_why() -> None:
    nothing = {"value": None, "low": None, "high": None, "undefined": {"code": "one-task", "rate": None, "runs": 3}}
    why = "there is only one task, which gives no information about other tasks"
    assert reason(nothing) == why
    assert with_span(nothing) == f"undefined, because {why}"
    assert span(nothing) == ""
    assert reason(None) == "it was not computed"


def test_one_thing_is_not_called_many() -> None:
    assert [counted(many, "task") for many in (0, 1, 2, 1200)] == ["0 tasks", "1 task", "2 tasks", "1,200 tasks"]
