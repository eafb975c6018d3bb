"""Whose doing the death of an agent is: the decision, case by case."""

from __future__ import annotations

import pytest

from proctor.conduct.run.kills_from_outside import SENT, OutsideKills
from proctor.execute.sandbox.guard_observations import Observation
from proctor.execute.sandbox.interface import Usage

CALM = Usage(0, 0, 0, 0, 0, 0)
AGENT = Observation("exec", 0, pid=2, parent=1)
CHILD = Observation("exec", 0, pid=3, parent=2)


def sent(target: int, number: int = 9) -> Observation:
    return Observation("signal", 0, pid=3, target=target, signal=number)


def arranged(target: int) -> Observation:
    return Observation("signal", 0, pid=target, syscall="timer_create", target=target, signal=17)


def ended(pid: int, code: int | None) -> Observation:
    return Observation("exit", 0, pid=pid, exit_code=code)


@pytest.mark.parametrize(
    ("seen", "exit_code", "expected"),
    [
        ((), -9, 9),
        ((), -15, 15),
        ((), -1, 1),
        ((), 0, 0),
        ((), 1, 0),
        ((), None, 0),
        ((), -11, 0),
        ((), -6, 0),
        ((), -13, 0),
        ((sent(2),), -9, 0),
        ((sent(0),), -9, 0),
        ((sent(2, 15),), -9, 9),
        ((sent(0, 15),), -9, 9),
        ((sent(3),), -9, 9),
        ((sent(2, 15),), -15, 0),
        ((arranged(2),), -9, 0),
        ((arranged(3),), -9, 9),
        ((Observation("lost", 0, count=1),), -9, 0),
        ((Observation("more", 0, code="signal"),), -9, 0),
        ((Observation("more", 0, code="read-canary"),), -9, 9),
        ((ended(2, -9),), -9, 9),
        ((ended(3, -9),), 137, 9),
        ((ended(3, -9), sent(3)), 137, 0),
        ((ended(3, -9), sent(0)), 137, 0),
        ((ended(3, -15),), 143, 15),
        ((ended(3, -15),), 137, 0),
        ((ended(3, 9),), 137, 0),
        ((ended(3, None),), 137, 0),
        ((), 137, 0),
        ((ended(3, -9), ended(4, -9), sent(3)), 137, 9),
        ((ended(3, -11),), 139, 0),
        ((ended(3, -9),), 128, 0),
    ],
)
def test_j4_a_death_without_a_sender_inside_came_from_outside(
    seen: tuple[Observation, ...], exit_code: int | None, expected: int
) -> None:
    deaths = OutsideKills()
    for observation in (AGENT, CHILD, *seen):
        deaths.see(observation)
    assert deaths.from_outside(exit_code, CALM) == expected


@pytest.mark.parametrize(
    ("usage", "expected"),
    [
        (CALM, 9),
        (Usage(0, 0, 1, 0, 0, 3), 0),
        (Usage(0, 0, 1, 0, 0, None), 0),
        (Usage(0, 0, 1, 0, 0, 0), 9),
        (Usage(0, 0, 0, 0, 0, 3), 9),
        (Usage(None, None, None, None), 9),
    ],
)
def test_j4_the_own_want_of_memory_is_the_agents_and_the_machines_is_not(usage: Usage, expected: int) -> None:
    deaths = OutsideKills()
    deaths.see(AGENT)
    assert deaths.from_outside(-9, usage) == expected


def test_j4_crashes_and_what_the_kernel_sends_for_a_program_are_its_own() -> None:
    assert not {4, 5, 6, 7, 8, 11, 13, 14, 24, 25, 26, 27, 29, 31} & SENT
