"""Nobody gets a better answer by asking again with a budget that is raised at each end."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from scipy.special import ndtr

from proctor.study.pilot.report.pilot_findings import unfinished
from proctor.study.pilot.report.significance_level import WATCHED, _apart, cautions, level_of, share_of
from proctor.study.pilot.running.pilot_state import PilotState, take_looks
from proctor.study.statements import statement
from proctor.study.stats.alpha_spending import boundaries
from tests.english import english
from tests.study.pilot.report.test_status import stands
from tests.study.pilot.test_looks_taken import standing_with, x_wins_but_in

POOR = {"pilot_usd": "30.00", "task_usd": None, "run_usd": None}


def test_a_pilot_that_ends_early_spends_no_more_than_its_share() -> None:
    levels = [level_of(stands(filled, budgets=POOR)) for filled in (8, 24, 40, None)]
    assert levels == sorted(levels)
    watched = [boundaries([*(one for one in WATCHED if one < share), share]) for share in (0.5, 10 / 12)]
    assert levels[1:] == [*(one.nominal[-1] for one in watched), 0.05]
    assert levels[0] < 1e-6


def test_who_watches_and_ends_a_pilot_when_it_pleases_gains_nothing() -> None:
    rng, looks = np.random.default_rng(20260307), 60
    shares = np.arange(1, looks + 1) / looks
    path = np.cumsum(rng.standard_normal((20_000, looks)), axis=1) / np.sqrt(np.arange(1, looks + 1))
    p = 2 * ndtr(-np.abs(path))
    for watched, least, most in ((WATCHED, 0.05, 0.065), ((), 0.07, 0.09)):
        levels = [boundaries(_apart([*(one for one in watched if one < share), share])).nominal[-1] for share in shares]
        assert least < (p < np.array([*levels[:-1], 0.05])).any(axis=1).mean() < most


def test_an_early_end_is_told_with_its_level() -> None:
    (told,) = english(list(cautions(stands(40, budgets=POOR))))
    assert told.startswith("The pilot ended with 83.3% of its plan.") and "0.017 of 0.05" in told
    assert list(cautions(stands(None))) == []


def test_looks_and_an_early_end_share_alpha(tmp_path: Path) -> None:
    here = take_looks(standing_with(tmp_path, 4 * 45, x_wins_but_in(9)))
    (look,) = here.journal.looks
    assert not look.crossed
    assert level_of(here) == boundaries([0.5, 0.75]).nominal[1] > float(look.nominal)
    (tmp_path / "whole").mkdir()
    whole = take_looks(standing_with(tmp_path / "whole", None, x_wins_but_in(9)))
    assert level_of(whole) == float(whole.journal.looks[-1].nominal)
    assert list(cautions(whole)) == []


def test_a_look_that_ended_a_pilot_is_its_level_whatever_ran_beside_it(tmp_path: Path) -> None:
    here = take_looks(standing_with(tmp_path, 4 * 33, x_wins_but_in(0)))
    (look,) = here.journal.looks
    assert look.crossed and level_of(here) == float(look.nominal)
    assert list(cautions(here)) == [statement("ended-early-for-efficacy")]


def amended(here: PilotState, at: str, before: int = 2, field: str = "runs_per_task") -> PilotState:
    """The same after an amendment that let it have three runs of each task instead of so many."""
    change = {"field": field, "before": before, "after": 3}
    record: dict[str, Any] = {"number": 1, "after_runs": 40, "at": at, "changed": [change], "why": "to be sure"}
    return replace(here, plan=replace(here.plan, amendments=(record,)))


@pytest.mark.parametrize("looks", [False, True])
def test_an_amendment_after_runs_counts_as_a_look(looks: bool, tmp_path: Path) -> None:
    here = take_looks(standing_with(tmp_path, None, x_wins_but_in(9))) if looks else stands(None)
    half = max(run.begun for run in here.runs) // 2
    made = [replace(run, begun=(30 if run.begun <= half else 90) * 10**9) for run in here.runs]
    late = amended(replace(here, runs=tuple(made)), "1970-01-01T00:01:00Z", field="budgets.pilot_usd")
    assert level_of(late) == pytest.approx(boundaries([0.5, 1.0]).nominal[1])
    told = "Amendments that were made after runs count as looks: the answer uses a level of 0.049 of 0.05."
    assert english(list(cautions(late))) == [told] * (not looks)
    early = replace(late, plan=replace(late.plan, amendments=({**late.plan.amendments[0], "after_runs": 0},)))
    assert level_of(early) == level_of(here)


def test_the_level_of_a_look_that_ended_a_pilot_counts_amendments_before_it(tmp_path: Path) -> None:
    here = take_looks(standing_with(tmp_path, 4 * 33, x_wins_but_in(0)))
    (look,) = here.journal.looks
    blocks = list(here.ledger.blocks())
    early = {slot.order * 10 for block in blocks[: len(blocks) // 4] for slot in block}
    made = [replace(run, begun=(30 if run.begun in early else 90) * 10**9) for run in here.runs]
    late = amended(replace(here, runs=tuple(made)), "1970-01-01T00:01:00Z", field="budgets.pilot_usd")
    wanted = boundaries([0.25, float(look.share)]).nominal[1]
    assert level_of(late) == pytest.approx(wanted)
    assert wanted < float(look.nominal)
    assert next(cautions(late)) == statement("ended-early-for-efficacy")


@pytest.mark.parametrize("after", [0, 40])
def test_where_the_number_of_runs_changed_after_runs_nothing_is_claimed(after: int) -> None:
    here = amended(stands(None), "1970-01-01T00:01:00Z")
    here = replace(here, plan=replace(here.plan, amendments=({**here.plan.amendments[0], "after_runs": after},)))
    told = statement("amendment-changed-runs", number=1)
    assert (level_of(here), list(cautions(here))) == ((0.0, [told]) if after else (0.05, []))
    assert bool(unfinished(here)) == bool(after)


def test_without_a_complete_block_nothing_is_spent() -> None:
    here = stands(1, budgets=POOR)
    assert share_of(here.ledger) == 0
    assert level_of(here) == 0.0


def test_looks_at_the_same_runs_are_one() -> None:
    assert _apart([0.5, 1.0, 0.0, 0.4999]) == [0.5, 1.0]
    assert _apart([1 / 3, 0.333333333, 2 / 3]) == [1 / 3, 2 / 3]
    assert _apart([0.0]) == []
