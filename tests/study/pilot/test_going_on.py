"""How a pilot goes on block by block: in the order of the plan, faults repeated and errors told; no run is real."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest

from proctor.base.canonical import canonical
from proctor.base.errors import BudgetExceeded, InfrastructureFault, UsageFault
from proctor.cli.wiring import machine
from proctor.conduct.batch.batch_record import Batch, Place, batches_of
from proctor.conduct.batch.batch_runs import BatchResult
from proctor.conduct.run.lifecycle import RunOutcome
from proctor.execute import requirements
from proctor.execute.proctor_home import Home
from proctor.study.pilot.ledger.journal import add_screen
from proctor.study.pilot.ledger.pilot_runs import Run
from proctor.study.pilot.plan.frozen_plan import Plan, freeze
from proctor.study.pilot.plan.pilot_file import load_pilot
from proctor.study.pilot.plan.protocol import design_of, protocol_of
from proctor.study.pilot.plan.randomisation import Slot, randomise, to_csv
from proctor.study.pilot.plan.task_suite import SuiteTask, load_suite
from proctor.study.pilot.running import pilot_runner, pilot_state
from proctor.study.pilot.running.pilot_runner import Paused, PilotContext, alone, is_busy, run_pilot
from proctor.study.pilot.running.pilot_state import PilotState, deviations, read_pilot_state
from tests.sample_reports import sample_report
from tests.study.pilot.live import write_pilot
from tests.study.pilot.pilot_cases import SPOILT, UNSAFE, run_of

Says = Callable[[Place, int], Mapping[str, Any]]

POWER = {
    "supported": True,
    "question": {"tasks": 6, "level": "0.05", "effect": "0.3", "power": "0.8"},
    "rows": [
        {"power": "0.9", "icc": "0.1", "correlation": "0", "simulated": {"power": "0.9", "low": "0.8", "high": "1"}}
    ],
    "tasks_that_would_do": 6,
}


class Stage:
    """A pilot whose runs are made up: ``says`` tells how the attempt of that number at a place comes out."""

    def __init__(self, folder: Path, contracts: Sequence[Path], patch: pytest.MonkeyPatch, **parts: Any) -> None:
        patch.setenv("PROCTOR_HOME", str(folder / "home"))
        self.machine = machine()
        self.pilot = load_pilot(write_pilot(folder, contracts, **parts))
        self.suite = load_suite(self.pilot, lambda contract: "")
        protocol = protocol_of(self.pilot, self.suite, lambda method: "" if method.baseline else "d", None)
        power = canonical(POWER)
        order = to_csv(randomise(design_of(protocol)))
        self.plan = freeze(folder / "plan", protocol, lambda: {"randomisation.csv": order, "power.json": power})
        self.says: Says = lambda place, number: {}
        self.made: dict[Path, Run] = {}
        self.asked: list[Place] = []
        self.answers: list[BatchResult] = []
        self.charge: Callable[[Mapping[str, Decimal]], None] = lambda charged: None
        patch.setattr(pilot_runner, "read_run", lambda path: self.made[path])
        patch.setattr(pilot_runner, "read_pilot_state", self.read_pilot_state)
        patch.setattr(pilot_runner, "_screen", self.screen)

    def read_pilot_state(self, plan: Plan, home: Home) -> PilotState:
        """What lies there: the runs that were made up so far."""
        found = read_pilot_state(plan, home)
        return PilotState(found.plan, found.journal, tuple(self.made.values()), found.power)

    def screen(self, scene: PilotContext, task: SuiteTask, times: int) -> None:
        add_screen(self.plan, task.name, task.contract, times, ())

    def fill(self, batch: Batch, places: Sequence[Place]) -> BatchResult:
        """Make up a run for each place."""
        if self.answers:
            return self.answers.pop(0)
        outcomes = []
        for place in places:
            self.asked.append(place)
            task = next(one.name for one in self.suite if one.contract == place.content_id)
            number = self.asked.count(place)
            where = (batch.settings["stage"], len(self.made), "all", task, place.content_id, place.repeat)
            slot = Slot(len(self.made), *where, 1, place.method)
            status = {"status": "success" if place.method in ("fixer", "reference") else "failure"}
            run = run_of(slot, number, **{**status, **self.says(place, number)})
            self.made[run.path] = run
            outcomes.append((place, RunOutcome(run.run, run.path, run.status, sample_report(status=run.status))))
        return BatchResult(tuple(outcomes), (), False)

    def run(self, jobs: int = 1) -> tuple[PilotState, tuple[pilot_state.Stage, ...]]:
        told: list[str] = []
        parts = (self.machine, self.pilot, self.suite, self.plan, self.fill, "", jobs, told.append, lambda: False)
        return run_pilot(PilotContext(*parts, self.charge))


@pytest.fixture
def stage(tmp_path: Path, make_contract: Any, monkeypatch: pytest.MonkeyPatch) -> Stage:
    return Stage(tmp_path, [make_contract("one"), make_contract("two")], monkeypatch)


def tried(stage: Stage) -> list[tuple[str, int, str]]:
    """The places that were asked for, checks left out."""
    return [(place.content_id, place.repeat, place.method) for place in stage.asked[4:]]


def test_places_are_filled_in_the_order_of_the_plan(stage: Stage) -> None:
    _, stages = stage.run()
    assert [one.verdict for one in stages] == ["over"] * 3
    assert all(one.good for one in stages)
    assert tried(stage) == [(slot.contract, slot.repeat, slot.method) for slot in stage.plan.slots]
    assert [place.method for place in stage.asked[:4]] == ["noop", "reference"] * 2


def test_each_stage_is_a_batch_that_names_the_pilot(stage: Stage) -> None:
    stage.run()
    batches = {one.settings["stage"]: one for one in batches_of(stage.machine.home, stage.plan.digest)}
    assert sorted(batches) == ["checks", "one", "three", "two"]
    assert {one.settings["command"] for one in batches.values()} == {"pilot"}
    assert {one.settings["batch_usd"] for one in batches.values()} == {"100.00"}
    assert [one.settings.get("rehearse") for one in batches.values()].count("yes") == 1


def test_a_preface_that_changes_while_the_pilot_runs_is_refused(
    tmp_path: Path, make_contract: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    preface = tmp_path / "terse.md"
    preface.write_text("Few words.\n")
    varied = [{"name": "plain"}, {"name": "terse", "preface": preface.name}]
    stage = Stage(tmp_path, [make_contract("one"), make_contract("two")], monkeypatch, variations=varied)

    def meddled(place: Place, number: int) -> Mapping[str, Any]:
        preface.write_text("Other words.\n")
        return {}

    stage.says = meddled
    with pytest.raises(UsageFault, match="the preface of the variation terse has changed since it was frozen"):
        stage.run()
    assert len(stage.asked) == 4, "the checks, which vary in nothing"
    assert [one.settings["stage"] for one in batches_of(stage.machine.home, stage.plan.digest)] == ["checks"]
    preface.write_text("Few words.\n")
    stage.says = lambda place, number: {}
    assert all(one.good for one in stage.run()[1])


def test_a_fault_of_the_machine_is_repeated_once_and_then_stands(stage: Stage) -> None:
    slot = stage.plan.slots[5]
    stage.says = lambda place, number: (
        SPOILT if (place.content_id, place.repeat, place.method) == (slot.contract, slot.repeat, slot.method) else {}
    )
    here, stages = stage.run()
    assert tried(stage).count((slot.contract, slot.repeat, slot.method)) == 2
    held = here.ledger.run_that_fills(slot)
    assert held is not None and held.spoilt
    assert stages[1].verdict == "open", "there is a task without a verdict, and the pilot says so"
    assert [one.id for one in stages[1].unmet] == ["endpoints"]


def test_a_fault_that_does_not_come_again_leaves_no_trace_but_a_deviation(stage: Stage) -> None:
    slot = next(one for one in stage.plan.slots if one.method == "fixer")

    def says(place: Place, number: int) -> Mapping[str, Any]:
        same = (place.content_id, place.repeat, place.method) == (slot.contract, slot.repeat, slot.method)
        return SPOILT if same and number == 1 else {}

    stage.says = says
    here, stages = stage.run()
    assert all(one.good for one in stages)
    assert len(set(here.ledger.counts().values())) == 1
    (words,) = deviations(here)
    assert words.code == "run-spoilt"
    record = pilot_state.record_of(here, next(one for one in stages if one.name == slot.stage))
    (place,) = record["attempts"]
    assert (place["task"], place["repeat"], place["method"]) == (slot.task, slot.repeat, slot.method)
    assert [(one["status"], one["why"]) for one in place["runs"]] == [("invalid", "no disk"), ("success", "finished")]
    assert place["counts"] == place["runs"][1]["run"]


def test_an_end_for_safety_is_not_run_again(stage: Stage) -> None:
    stage.says = lambda place, number: UNSAFE if place.method == "idler" else {}
    _, stages = stage.run()
    assert [one.verdict for one in stages] == ["over", "refused"]
    assert [one.id for one in stages[-1].unmet] == ["boundary"]
    assert len(tried(stage)) == len(set(tried(stage)))


def test_what_is_done_is_not_done_again(stage: Stage) -> None:
    stage.answers = []
    stage.run()
    asked = len(stage.asked)
    again, stages = stage.run()
    assert len(stage.asked) == asked
    assert all(one.good for one in stages)
    assert len(again.runs) == len(stage.made)


def test_a_run_that_was_cut_off_is_made_again(stage: Stage) -> None:
    stage.run()
    lost = list(stage.made)[-1]
    key = stage.made.pop(lost).key
    assert all(one.good for one in stage.run()[1])
    assert list(stage.made.values())[-1].key == key
    assert len(tried(stage)) == len(stage.plan.slots) + 1


def test_an_error_before_a_run_could_begin_is_told(stage: Stage) -> None:
    place = Place("one", "sha256:1", 1, "noop", "", "noop")
    stage.answers = [BatchResult((), ((place, InfrastructureFault("no registry")),), False)]
    with pytest.raises(InfrastructureFault, match="no registry"):
        stage.run()
    assert all(one.good for one in stage.run()[1]), "and the same command continues"


def test_a_refused_run_ends_the_command(stage: Stage) -> None:
    place = Place("one", "sha256:1", 1, "noop", "", "noop")
    refused = ((place, BudgetExceeded("nothing is left")),)
    stage.answers = [BatchResult((), (), False, refused)]
    with pytest.raises(BudgetExceeded, match="nothing is left"):
        stage.run()


def test_a_machine_that_spoils_everything_is_told_before_the_plan_is_spent(stage: Stage) -> None:
    broken = True
    stage.says = lambda place, number: SPOILT if broken else {}
    with pytest.raises(InfrastructureFault, match="made all of the last 4 runs invalid: no disk") as raised:
        stage.run()
    assert "the same command continues" in raised.value.hint
    assert len(stage.made) == 4, "the checks, and nothing after them"
    broken = False
    assert all(one.good for one in stage.run()[1])


def test_a_full_disk_is_told_before_a_run_is_spent(stage: Stage, monkeypatch: pytest.MonkeyPatch) -> None:
    with monkeypatch.context() as patch:
        patch.setattr(requirements, "LEAST_FREE_BYTES", 1 << 62)
        with pytest.raises(InfrastructureFault, match="MiB are free for runs"):
            stage.run()
    assert not stage.made
    assert all(one.good for one in stage.run()[1])


def test_a_damaged_batch_is_told(stage: Stage) -> None:
    stage.run()
    files = sorted(stage.machine.home.batches.glob("*.json"))
    for file in files:
        file.write_text("{")
    del stage.made[list(stage.made)[-1]]
    with pytest.raises(UsageFault, match="the record of a batch is damaged") as raised:
        stage.run()
    assert raised.value.where == str(files[0])


def test_an_interrupt_pauses_the_pilot(stage: Stage) -> None:
    stage.answers = [BatchResult((), (), True)]
    with pytest.raises(Paused):
        stage.run()


def test_nobody_runs_a_pilot_that_somebody_runs(stage: Stage) -> None:
    home = stage.machine.home
    assert not is_busy(home, stage.plan)
    with alone(home, stage.plan):
        assert is_busy(home, stage.plan)
        with pytest.raises(UsageFault, match="the pilot is still running"):
            stage.run()
    assert not is_busy(home, stage.plan)


def test_more_jobs_ask_for_more_places_at_once(stage: Stage) -> None:
    sizes: list[int] = []
    fill = stage.fill

    def counting(batch: Batch, places: Sequence[Place]) -> BatchResult:
        sizes.append(len(places))
        return fill(batch, places)

    stage.fill = counting  # type: ignore[method-assign]
    stage.run(jobs=6)
    assert sizes == [4, 4, 4, 8]


def test_where_there_is_no_reference_a_persons_patch_shows_that_a_task_can_be_solved(
    tmp_path: Path, make_contract: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    contracts = [make_contract("one", reference=None), make_contract("two", reference=None)]
    tasks = [{"contract": f"contracts/{name}", "human_patch": f"contracts/{name}/fix.patch"} for name in ("one", "two")]
    baselines = {"reference": False, "human": True}
    stage = Stage(tmp_path, contracts, monkeypatch, tasks=tasks, baselines=baselines)
    stage.says = lambda place, number: {"status": "success"} if place.method == "human" else {}
    _, stages = stage.run()
    assert all(one.good for one in stages)
    assert [place.method for place in stage.asked[:4]] == ["noop", "human"] * 2
    assert stage.asked[1].agent == f"patch:{contracts[0] / 'fix.patch'}"
