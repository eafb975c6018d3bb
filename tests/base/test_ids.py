"""Ids of runs sort by time, differ, and are safe as names of directories."""

from __future__ import annotations

import pytest

from proctor.base.clock import RUN_ID, SLUG, SystemClock, new_run_id, system_entropy


class Clock:
    """A clock that stands still."""

    def __init__(self, seconds: int) -> None:
        self.seconds = seconds

    def wall_ns(self) -> int:
        return self.seconds * 10**9 + 999_999_999

    def steady_ns(self) -> int:
        return 0


def test_an_id_is_made_of_time_and_entropy() -> None:
    found = new_run_id(Clock(1772884800), lambda size: bytes(range(size)))
    assert found == "20260307T120000-0001020304"
    assert RUN_ID.match(found)


def test_ids_sort_by_time() -> None:
    ids = [new_run_id(Clock(seconds), system_entropy) for seconds in (0, 59, 60, 86_400, 10**9, 2 * 10**9)]
    assert ids == sorted(ids)


def test_ids_of_one_instant_differ() -> None:
    clock = SystemClock()
    assert len({new_run_id(clock, system_entropy) for _ in range(1000)}) == 1000


@pytest.mark.parametrize(
    "text", ["", "20260307T120000", "20260307T120000-000102030", "20260307T120000-000102030G", "../x", "x" * 26]
)
def test_other_text_is_no_id(text: str) -> None:
    assert not RUN_ID.match(text)
    assert not RUN_ID.match("20260307T120000-0001020304" + "\n")


@pytest.mark.parametrize("text", ["", ".", "..", "-a", "a/b", "A", "a b", "a\n", "é", "a" * 101])
def test_what_is_no_slug(text: str) -> None:
    assert not SLUG.match(text)


@pytest.mark.parametrize("text", ["a", "0", "a.b-c_d", "a" * 100])
def test_what_is_a_slug(text: str) -> None:
    assert SLUG.match(text)
