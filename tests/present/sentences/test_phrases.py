"""Numbers, names and amounts within sentences."""

from __future__ import annotations

import pytest

from proctor.present.sentences.phrases import amount, bill_amount, budget, level, names, number_of, p_value, percent


@pytest.mark.parametrize(
    ("value", "shown"),
    [
        (0.95, "95%"),
        (0.700266, "70%"),
        (0.875, "87.5%"),
        (0.975, "97.5%"),
        (0.9549, "95.5%"),
        (0.9971, "99.71%"),
        (0.99695, "99.69%"),
        (0.99999, "99.999%"),
        (1 - 1e-12, "99.9999999999%"),
        (1.0, "100%"),
    ],
)
def test_a_level_never_looks_like_certainty(value: float, shown: str) -> None:
    assert level(value) == shown


def test_percentages_have_one_decimal() -> None:
    assert [percent(share) for share in (0.0, 0.7123, 1.0, -0.0001)] == ["0", "71.2", "100", "0"]


def test_long_lists_of_names_are_cut() -> None:
    assert names(["a"]) == "a"
    assert names(["a", "b"]) == "a and b"
    assert names(["a", "b", "c", "d", "e"]) == "a, b, c and 2 more"


def test_one_is_one() -> None:
    assert [number_of(many, "patch", "patches") for many in (1, 2, 1200)] == ["1 patch", "2 patches", "1,200 patches"]


def test_amounts_have_their_unit() -> None:
    dollars = [amount(usd, "USD") for usd in (0, 0.0123, 0.5, 12.3456, 1234.5)]
    assert dollars == ["0.00 USD", "0.012 USD", "0.50 USD", "12.35 USD", "1,234.50 USD"]
    units = [amount(usd, "units") for usd in (0, 0.0000123, 0.0123, 12.3456)]
    assert units == ["0 units", "0.0123 units", "12.3 units", "12,346 units"]
    assert (bill_amount(19, "USD"), bill_amount(0.0123, "units")) == ("19.0000 USD", "12.30 units")
    assert (budget(5, "USD"), budget(5, "units")) == ("5.00 USD", "5,000 units, set as 5.00 USD")


def test_small_p_values_are_bounds() -> None:
    assert (p_value(0.0004), p_value(0.0625)) == ("p < 0.001", "p = 0.062")
