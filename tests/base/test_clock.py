"""Times and durations as records hold them."""

from __future__ import annotations

import pytest

from proctor.base.clock import SystemClock, seconds_text, system_entropy, utc_text


@pytest.mark.parametrize(
    ("wall_ns", "text"),
    [
        (0, "1970-01-01T00:00:00Z"),
        (1772884800 * 10**9 + 999_999_999, "2026-03-07T12:00:00Z"),
        (951782400 * 10**9, "2000-02-29T00:00:00Z"),
    ],
)
def test_times_are_utc(wall_ns: int, text: str) -> None:
    assert utc_text(wall_ns) == text


@pytest.mark.parametrize(
    ("duration_ns", "text"),
    [
        (0, "0.000"),
        (499_999, "0.000"),
        (500_000, "0.001"),
        (999_499_999, "0.999"),
        (999_500_000, "1.000"),
        (61_002_000_000, "61.002"),
        (10**18, "1000000000.000"),
    ],
)
def test_durations_are_rounded_to_milliseconds(duration_ns: int, text: str) -> None:
    assert seconds_text(duration_ns) == text


def test_the_steady_clock_never_goes_back() -> None:
    clock = SystemClock()
    readings = [clock.steady_ns() for _ in range(100)]
    assert readings == sorted(readings)
    assert clock.wall_ns() > 1_700_000_000 * 10**9


def test_entropy_has_the_size_that_was_asked_for() -> None:
    assert [len(system_entropy(size)) for size in (0, 1, 32)] == [0, 1, 32]
    assert system_entropy(16) != system_entropy(16)
