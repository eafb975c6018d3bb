"""What is made ahead of its time."""

from __future__ import annotations

import threading

import pytest

from proctor.base.errors import InfrastructureFault
from proctor.judge.ahead import Ahead, beside


def test_things_come_in_order_whether_made_ahead_or_not() -> None:
    with Ahead([lambda: "a", lambda: "b", lambda: "c"], lambda made: None) as ahead:
        first = ahead.take()
        ahead.prepare()
        second = ahead.take()
        third = ahead.take()
        ahead.prepare()
    assert (first, second, third) == ("a", "b", "c")


def test_what_was_never_taken_is_discarded() -> None:
    discarded: list[str] = []
    with Ahead([lambda: "a", lambda: "b"], discarded.append) as ahead:
        ahead.take()
        ahead.prepare()
    assert discarded == ["b"]


def test_time_is_spare_only_when_nothing_is_left_to_make() -> None:
    spare: list[str] = []
    with Ahead([lambda: "a", lambda: "b"], lambda made: None, lambda: spare.append("spare")) as ahead:
        ahead.take()
        ahead.prepare()
        assert spare == []
        ahead.take()
        ahead.prepare()
    assert spare == ["spare"]


def test_a_problem_is_raised_where_the_thing_is_taken() -> None:
    def fail() -> str:
        raise InfrastructureFault("no room")

    with Ahead([lambda: "a", fail], lambda made: None) as ahead:
        assert ahead.take() == "a"
        ahead.prepare()
        with pytest.raises(InfrastructureFault, match="no room"):
            ahead.take()


def test_both_are_done_at_once_and_the_meanwhile_on_this_thread() -> None:
    begun, seen = threading.Event(), []

    def act() -> str:
        begun.wait()
        return "done"

    def meanwhile() -> None:
        seen.append(threading.current_thread())
        begun.set()

    assert beside(act, meanwhile) == "done"
    assert seen == [threading.current_thread()]


def test_a_problem_of_the_act_is_raised_here() -> None:
    def act() -> None:
        raise InfrastructureFault("the sandbox has ended")

    with pytest.raises(InfrastructureFault, match="the sandbox has ended"):
        beside(act, lambda: None)
