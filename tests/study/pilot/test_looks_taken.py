"""A look stands as it was taken: what happens to the pilot later does not change what it showed or ended."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from proctor.study.pilot.ledger.interim_analysis import family
from proctor.study.pilot.ledger.journal import Journal, Removal, read_journal
from proctor.study.pilot.plan.frozen_plan import Plan
from proctor.study.pilot.plan.randomisation import Slot
from proctor.study.pilot.running.pilot_state import PilotState, record_of, stages_of, take_looks
from proctor.study.pilot.running.stopping_rules import EFFICACY, rules_so_far
from proctor.study.statements import statement
from tests.study.pilot.pilot_cases import POWERED, SHOWN, ledger, run_of, screens
from tests.study.pilot.planning import method
from tests.study.pilot.running.test_stopping_rules import TASKS, looking

Says = Callable[[Slot], Mapping[str, Any]]


def standing_with(folder: Path, filled: int | None, says: Says, **parts: Any) -> PilotState:
    """A pilot of twenty tasks that looks at the half and at the end, with a journal on disk."""
    wanted = looking(["0.5", "1"], **parts)
    book = ledger(wanted, filled, says)
    plan = Plan(folder, folder, "sha256:" + "0" * 64, wanted, book.slots)
    return PilotState(plan, Journal(screens(wanted), ()), book.runs, POWERED)


def without(here: PilotState, *tasks: str) -> PilotState:
    """The same after tasks were removed."""
    gone = tuple(Removal(task, "", "flaky", (), SHOWN, "", "", "", 0, "") for task in tasks)
    return replace(here, journal=replace(here.journal, removals=gone))


def x_wins_but_in(lost: int) -> Says:
    """x solves all tasks but the last ``lost``, which y solves."""
    names = {task["name"] for task in TASKS[20 - lost :]}
    return lambda slot: {"success": (slot.method == "x") != (slot.task in names)}


def test_a_removal_does_not_change_what_a_look_showed(tmp_path: Path) -> None:
    here = standing_with(tmp_path, 4 * 40, x_wins_but_in(6))
    (before,) = rules_so_far(here.ledger, here.plan.protocol)[1]
    assert not before.crossed
    without_record = rules_so_far(without(here, *before.tasks[14:]).ledger, here.plan.protocol)
    assert without_record[1][0] != before, "computed anew it would show something else"
    taken = take_looks(here)
    assert read_journal(here.plan).looks == (before,)
    assert take_looks(taken) is taken, "it is put down once"
    later = without(replace(taken, journal=replace(taken.journal, looks=read_journal(here.plan).looks)), "t19", "t18")
    stop, looks = rules_so_far(later.ledger, later.plan.protocol)
    assert stop is None and looks == (before,)


def test_what_a_look_ended_stays_ended(tmp_path: Path) -> None:
    here = take_looks(standing_with(tmp_path, 4 * 30, x_wins_but_in(0)))
    stop, (look,) = rules_so_far(here.ledger, here.plan.protocol)
    assert stop is not None and stop.rule == EFFICACY and look.crossed
    gone = without(here, *(f"t{number:02d}" for number in range(16)))
    assert rules_so_far(gone.ledger, gone.plan.protocol) == (stop, (look,))


def test_a_look_that_was_taken_is_not_taken_again_and_the_next_one_is(tmp_path: Path) -> None:
    here = take_looks(standing_with(tmp_path, None, lambda slot: {"success": slot.repeat == 1}))
    looks = read_journal(here.plan).looks
    assert [(look.wanted, look.blocks) for look in looks] == [("0.5", 30), ("1", 60)]
    half = replace(here, journal=replace(here.journal, looks=looks[:1]))
    last = rules_so_far(without(half, "t00").ledger, half.plan.protocol)[1]
    assert [(look.wanted, look.blocks) for look in last] == [("0.5", 30), ("1", 57)]
    assert "t00" in last[0].tasks and "t00" not in last[1].tasks


def test_a_look_names_the_runs_that_it_was_taken_from(tmp_path: Path) -> None:
    here = standing_with(tmp_path, 4 * 30, lambda slot: {"scorable": slot.task != "t03"})
    (look,) = rules_so_far(here.ledger, here.plan.protocol)[1]
    used = [run for run in here.ledger.held() if run.method in ("x", "y") and run.task != "t03"]
    assert sorted(look.runs) == sorted(run.run for run in used)
    assert "t03" not in look.tasks and len(look.tasks) == 19


def test_by_intention_to_treat_a_look_counts_runs_without_a_verdict(tmp_path: Path) -> None:
    """y has no verdict on most tasks, and succeeds on the others: nothing differs but by intention to treat."""
    lost = {task["name"] for task in TASKS[:16]}

    def says(slot: Slot) -> Mapping[str, Any]:
        return {"success": True, "scorable": slot.method != "y" or slot.task not in lost}

    scored = standing_with(tmp_path, 4 * 30, says)
    stop, (look,) = rules_so_far(scored.ledger, scored.plan.protocol)
    assert stop is None and look.pairs[0][2] == "0"
    all_runs = {"primary": "intention-to-treat", "minimum_effect": "0.05"}
    treated = standing_with(tmp_path, 4 * 30, says, endpoints=all_runs)
    stop, (look,) = rules_so_far(treated.ledger, treated.plan.protocol)
    assert stop is not None and stop.rule == EFFICACY and float(look.pairs[0][2]) == pytest.approx(0.8)
    assert len(look.tasks) == 20 and len(look.runs) == 60


def test_earlier_stages_know_nothing_of_looks(tmp_path: Path) -> None:
    rich = {"pilot_usd": "1000.00", "task_usd": None, "run_usd": None}
    here = take_looks(standing_with(tmp_path, 4 * 30, x_wins_but_in(0), budgets=rich))
    one, two, three = stages_of(here)
    assert one.stop is None and two.stop is None and three.stop is not None
    assert record_of(here, two)["looks"] == [] and len(record_of(here, three)["looks"]) == 1


def test_the_report_shows_looks_as_they_were_taken(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from proctor.study.pilot.report import pilot_findings

    monkeypatch.setattr(pilot_findings, "agreement", lambda paths: None)
    monkeypatch.setattr(pilot_findings, "_locks", lambda here: [])
    taken = take_looks(standing_with(tmp_path, 4 * 40, x_wins_but_in(6)))
    here = without(taken, "t19")
    here = replace(here, plan=replace(here.plan, protocol={**here.plan.protocol, "artefacts": {}}))
    (look,) = taken.journal.looks
    told = pilot_findings._extras(_labelled(here))
    assert statement("look-taken", **look.values, removed_later=["t19"]) in told.notes
    (shown,) = told.appendix["stages"][-1]["looks"]
    assert shown["pairs"] == [list(pair) for pair in look.pairs] and "runs" not in shown


def _labelled(here: PilotState) -> PilotState:
    tasks = [{**task, "labels": {}, "kind": "bug-fix"} for task in here.plan.protocol["tasks"]]
    return replace(here, plan=replace(here.plan, protocol={**here.plan.protocol, "tasks": tasks}))


THREE = [method("x"), method("y"), method("z"), method("noop", baseline=True)]
ALL = (("x", "y"), ("x", "z"), ("y", "z"))


def test_pairs_share_the_level_as_in_the_report(tmp_path: Path) -> None:
    """The p value of each pair is that of the report, which adjusts over all pairs together."""
    import numpy as np

    from proctor.study.stats.multiple_comparisons import max_t

    def says(slot: Slot) -> Mapping[str, Any]:
        number = int(slot.task[1:])
        return {"success": {"x": number < 16, "y": number < 9, "z": number < 3}.get(slot.method, False)}

    here = standing_with(tmp_path, 4 * 30, says, methods=THREE, comparison=None)
    (look,) = rules_so_far(here.ledger, here.plan.protocol)[1]
    means = np.array([[number < 16, number < 9, number < 3] for number in range(20)], dtype=float)
    joint = max_t(means, np.random.default_rng(20260307))
    alone = [family(here.ledger.held(), pair, (pair,), here.plan.protocol)[0][1] for pair in ALL]
    for (*_, p), own, adjusted in zip(look.pairs, alone, joint.p_adjusted, strict=True):
        assert own is not None
        assert float(p) == pytest.approx(max(own, adjusted))
    assert any(float(p) > own for (*_, p), own in zip(look.pairs, alone, strict=True) if own is not None)


def test_a_named_comparison_stands_for_itself(tmp_path: Path) -> None:
    here = standing_with(tmp_path, 4 * 30, x_wins_but_in(3), methods=THREE)
    (look,) = rules_so_far(here.ledger, here.plan.protocol)[1]
    ((_, _, _, p),) = look.pairs
    own = family(here.ledger.held(), ("x", "y"), (("x", "y"),), here.plan.protocol)[0][1]
    assert own is not None and float(p) == pytest.approx(own)


def test_a_pair_without_a_task_in_common_has_no_p_value() -> None:
    protocol = looking(["1"], methods=THREE)
    slots = ledger(protocol).slots
    apart = [run_of(slot) for slot in slots if (slot.method == "x") == (slot.task < "t10")]
    found = family(apart, ("x", "y", "z"), ALL, protocol)
    assert [p is None for _, p in found] == [True, True, False]
