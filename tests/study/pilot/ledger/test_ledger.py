"""Which run fills which place: only evidence does, faults of the machine are repeated, ends for safety never."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from proctor.study.pilot.ledger.pilot_runs import CUT, RUNNING, SEALED, Ledger, Run, in_order, run_that_fills, surplus
from proctor.study.pilot.plan.protocol import design_of
from proctor.study.pilot.plan.randomisation import randomise
from tests.study.pilot.pilot_cases import SPOILT, STOPPED, UNSAFE, arms, ledger, run_of

SLOT = randomise(design_of(arms()))[0]
KINDS: dict[str, dict[str, Any]] = {
    "good": {},
    "spoilt": SPOILT,
    "unsafe": UNSAFE,
    "stopped": STOPPED,
    "cut": {"state": CUT},
    "live": {"state": RUNNING},
}


def attempts(*kinds: str) -> list[Run]:
    return [run_of(SLOT, number, **KINDS[kind]) for number, kind in enumerate(kinds)]


def test_a_place_is_filled_by_the_first_run_that_is_evidence() -> None:
    made = attempts("cut", "stopped", "good", "good")
    assert run_that_fills(made, 1) is made[2]


def test_what_was_cut_off_stopped_or_runs_fills_no_place() -> None:
    assert run_that_fills(attempts("cut", "stopped", "live"), 0) is None


def test_a_spoilt_run_is_repeated_as_often_as_the_protocol_says_and_then_stands() -> None:
    once, twice = attempts("spoilt"), attempts("spoilt", "spoilt")
    assert run_that_fills(once, 1) is None
    assert run_that_fills(once, 0) is once[0]
    assert run_that_fills(twice, 1) is twice[1]
    mended = attempts("spoilt", "good")
    assert run_that_fills(mended, 1) is mended[1]


def test_a_later_good_run_does_not_take_the_place_of_the_last_repeat() -> None:
    made = attempts("spoilt", "spoilt", "good")
    assert run_that_fills(made, 1) is made[1] and surplus(made, 1) == (made[2],)
    assert run_that_fills(made, 0) is made[0] and surplus(made, 0) == (made[1], made[2])
    assert run_that_fills(made, 2) is made[2] and surplus(made, 2) == ()


def test_runs_stand_in_the_order_in_which_they_were_noted_whatever_their_clocks_say() -> None:
    first, second, late = attempts("spoilt", "spoilt", "cut")
    back = replace(second, begun=first.begun - 5)
    assert in_order((back, late, first), (first.run, back.run)) == (first, back, late)
    assert run_that_fills(in_order((back, first), (first.run, back.run)), 1) == back
    assert in_order((first, back), ()) == (back, first)
    cut, good = attempts("cut", "good")
    assert in_order((good, cut), (good.run,)) == (cut, good), "what was cut off stays where it was"


def test_an_end_for_safety_is_never_replaced() -> None:
    made = attempts("unsafe", "good")
    assert run_that_fills(made, 3) is made[0]


@given(st.lists(st.sampled_from(sorted(KINDS)), max_size=6), st.integers(0, 3))
def test_more_attempts_never_take_a_place_from_its_run(kinds: list[str], retries: int) -> None:
    made = attempts(*kinds)
    seen = [run_that_fills(made[:count], retries) for count in range(len(made) + 1)]
    held = [run for run in seen if run is not None]
    assert len({run.run for run in held}) <= 1
    assert all(run is None or run.state == SEALED for run in seen)


def test_blocks_hold_every_method_and_removed_tasks_are_left_out() -> None:
    book = ledger(arms(), 0)
    blocks = list(book.blocks())
    assert len(blocks) == 4 * 3
    assert all(sorted(slot.method for slot in block) == ["noop", "reference", "x", "y"] for block in blocks)
    less = Ledger(book.slots, book.runs, 1, frozenset({"a"}))
    assert {slot.task for slot in less.wanted()} == {"b", "d", "e"}
    assert len(list(less.blocks())) == 3 * 3


def test_a_block_counts_as_complete_only_with_all_its_runs() -> None:
    book = ledger(arms(), 5)
    first, second = list(book.blocks())[:2]
    assert [run.method for run in book.filled(first) or ()] == [slot.method for slot in first]
    assert book.filled(second) is None
    assert sum(book.counts().values()) == 5


def test_checks_fill_no_place() -> None:
    book = ledger(arms(), 0)
    assert book.held() == ()
    assert {run.method for run in book.checks("a")} == {"noop", "reference"}
