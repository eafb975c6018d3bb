"""An estimate is whole or says why it is not, and its record is the same on every machine."""

from __future__ import annotations

import json
import math

import pytest

from proctor.study.statements import Statement, statement
from proctor.study.stats.estimate import Estimate, defined, rounded, undefined


def test_the_record_has_twelve_digits() -> None:
    record = defined(1 / 3, 0.1, 2 / 3, level=0.95, method="m", n=6, clusters=3).record()
    assert record == {
        "value": 0.333333333333,
        "low": 0.1,
        "high": 0.666666666667,
        "level": 0.95,
        "method": "m",
        "n": 6,
        "clusters": 3,
        "undefined": None,
    }
    assert json.loads(json.dumps(record)) == record


def test_what_is_undefined_says_why_and_has_no_number() -> None:
    record = undefined("no-run", level=0.9, method="m").record()
    assert record["undefined"] == {"code": "no-run"}
    assert record["value"] is record["low"] is record["high"] is None


def test_an_end_that_rounding_pushed_past_the_value_is_put_back() -> None:
    found = defined(0.5, 0.5 + 1e-17, 0.5 - 1e-12, level=0.95, method="m", n=1, clusters=1)
    assert (found.low, found.high) == (0.5, 0.5)


@pytest.mark.parametrize(
    "broken",
    [
        (0.5, None, 0.6, 0.95, "m", 1, 1, None),
        (0.5, 0.4, 0.6, 0.95, "m", 1, 1, statement("no-run")),
        (math.nan, 0.4, 0.6, 0.95, "m", 1, 1, None),
        (0.5, 0.4, 0.6, 1.0, "m", 1, 1, None),
    ],
)
def test_a_half_estimate_cannot_be_made(
    broken: tuple[float, float, float, float, str, int, int, Statement | None],
) -> None:
    with pytest.raises(ValueError):
        Estimate(*broken)


def test_what_is_not_finite_is_not_recorded() -> None:
    assert rounded(math.inf) is None
    assert rounded(None) is None
    assert rounded(1e-30 / 3) == 3.33333333333e-31
