"""An oracle that errs: the corrected rate, its doubt, and where it says nothing."""

from __future__ import annotations

import math

import pytest

from proctor.study.statements import statement
from proctor.study.stats.estimate import defined, undefined
from proctor.study.stats.missing_outcomes import rogan_gladen

RATE = defined(0.5, 0.4, 0.65, level=0.95, method="m", n=100, clusters=20)


def test_the_rate_of_rogan_and_gladen() -> None:
    # (rate + specificity - 1) / (sensitivity + specificity - 1), for the value and both ends.
    found = rogan_gladen(RATE, 0.9, 0.8)
    assert (found.value, found.low, found.high) == pytest.approx((0.3 / 0.7, 0.2 / 0.7, 0.45 / 0.7))
    assert (found.n, found.clusters) == (100, 20)
    assert found.method == "rogan-gladen"


def test_a_faultless_oracle_changes_nothing() -> None:
    found = rogan_gladen(RATE, 1.0, 1.0)
    assert (found.value, found.low, found.high) == pytest.approx((0.5, 0.4, 0.65))


def test_measured_errors_widen_the_interval() -> None:
    # Delta method: the slopes are -value / worth for sensitivity and (1 - value) / worth for specificity.
    value, worth = 0.3 / 0.7, 0.7
    # Lang and Reiczigel (2014): one success and one failure more, 46 of 52 and 33 of 42.
    first, second = 46 / 52 * (6 / 52) / 52, 33 / 42 * (9 / 42) / 42
    doubt = math.sqrt(first * value**2 + second * (1 - value) ** 2) / worth * 1.959963984540054
    found = rogan_gladen(RATE, 0.9, 0.8, 50, 40)
    assert found.value == pytest.approx(value)
    assert found.high == pytest.approx(value + math.hypot(0.15 / 0.7, doubt))
    assert found.low == pytest.approx(value - math.hypot(0.1 / 0.7, doubt))


def test_an_oracle_that_never_erred_in_ten_may_still_err() -> None:
    found, sure = rogan_gladen(RATE, 1.0, 1.0, 10, 10), rogan_gladen(RATE, 1.0, 1.0)
    assert found.low is not None and sure.low is not None and found.low < sure.low
    assert found.high is not None and sure.high is not None and found.high > sure.high


def test_the_corrected_rate_stays_a_rate() -> None:
    found = rogan_gladen(RATE, 0.99, 0.45)
    assert (found.value, found.low) == (0.0, 0.0)
    assert found.high is not None and 0 < found.high <= 1


def test_a_useless_oracle_and_an_unknown_rate() -> None:
    assert rogan_gladen(RATE, 0.5, 0.5).undefined == statement("checks-too-unreliable")
    unknown = undefined("no-run", level=0.95, method="m")
    assert rogan_gladen(unknown, 0.9, 0.9).undefined == statement("no-run")
    with pytest.raises(ValueError, match="a sensitivity is"):
        rogan_gladen(RATE, 1.2, 0.9)
