"""Minimality as decimals, against numbers worked out elsewhere."""

from __future__ import annotations

from decimal import Decimal

import pytest
from hypothesis import given
from hypothesis import strategies as st

from proctor.judge.scores import minimality


@pytest.mark.parametrize(
    ("rate", "distance", "expected"),
    [
        # R: format(exp(-0.01 * c(0, 1, 2, 100)), digits = 15)
        ("0.01", 0, "1"),
        ("0.01", 1, "0.990049833749168"),
        ("0.01", 2, "0.980198673306755"),
        ("0.01", 100, "0.367879441171442"),
        ("0", 5000, "1"),
    ],
)
def test_known_values(rate: str, distance: int, expected: str) -> None:
    assert abs(minimality(Decimal(rate), distance) - Decimal(expected)) < Decimal("1e-14")


def test_a_huge_patch_is_next_to_nothing_and_no_error() -> None:
    assert minimality(Decimal("10"), 10**9) < Decimal("1e-100")


@given(st.decimals("0", "10", places=4), st.integers(0, 10**6), st.integers(0, 10**6))
def test_more_lines_never_score_more(rate: Decimal, one: int, other: int) -> None:
    small, large = sorted((one, other))
    assert 0 <= minimality(rate, large) <= minimality(rate, small) <= 1
