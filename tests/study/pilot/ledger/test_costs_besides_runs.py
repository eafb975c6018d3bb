"""Screens and people's time are paid from the envelopes, like the runs."""

from __future__ import annotations

import json
from dataclasses import replace
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest

from proctor.base.errors import BudgetExceeded
from proctor.conduct.batch.spending_limits import Envelopes
from proctor.execute.monitor.price_table import load_prices
from proctor.present.sentences.pilot_caveats import charges
from proctor.study.pilot.ledger.costs_besides_runs import Charge, Rates, charged_by_task, paid_besides, rates_of, totals
from proctor.study.pilot.ledger.journal import add_screen, read_journal
from proctor.study.pilot.plan.frozen_plan import Plan, journal_log, load_plan
from proctor.study.pilot.report.pilot_status import bill_of, status_of
from proctor.study.pilot.running import pilot_runner
from proctor.study.pilot.running.pilot_state import PilotState, record_of, stage_of
from proctor.study.pilot.running.stopping_rules import BUDGET, what_next
from tests.english import english
from tests.study.pilot.live import Proctor, planned, run, runs_in, write_pilot
from tests.study.pilot.pilot_cases import ARMS, review
from tests.study.pilot.planning import method
from tests.study.pilot.report.test_status import stands
from tests.study.pilot.test_going_on import Stage

PRICES = b"action_type,unit,unit_price\nexecution,second,0.10\nhuman_review,minute,2\nrun,run,0.01\n"
RATES = Rates(load_prices(PRICES), Decimal(1))
HUMAN = {"noop": True, "reference": True, "human": True, "human_minutes": "3"}


def screen(task: str, usd: str) -> Charge:
    return Charge("screen", task, f"sha256:{task}", "checks", "10", Decimal(usd), "journal.jsonl#0")


def with_people(filled: int | None, **parts: Any) -> PilotState:
    """A pilot with a person's patch, which took three minutes, among its arms."""
    arms = [*ARMS, method("human", baseline=True)]
    here = stands(filled, lambda slot: {"status": "success"} if slot.method == "human" else {}, methods=arms, **parts)
    protocol = {**here.plan.protocol, "baselines": HUMAN}
    return replace(here, plan=replace(here.plan, protocol=protocol), rates=RATES)


def test_a_screen_is_charged_to_its_task_and_to_the_pilot() -> None:
    here = stands(8)
    charged = replace(here, journal=replace(here.journal, charges=(screen("a", "1.5"), screen("a", "0.5"))))
    assert charged.account().total() - here.account().total() == 2
    assert charged.account().spent["sha256:a"] - here.account().spent["sha256:a"] == 2
    now = status_of(charged, busy=False)
    assert Decimal(now["spent_usd"]) == Decimal("6.00")
    assert now["charges"] == [{"kind": "screen", "count": "2", "seconds": "20.00", "usd": "2.00"}]
    told = record_of(charged, stage_of(charged, "one"))
    assert [one["usd"] for one in told["charges"]] == ["1.50", "0.50"]
    assert record_of(charged, stage_of(charged, "two"))["charges"] == [], "each stands in one stage"


def test_a_screen_can_use_up_the_envelope() -> None:
    here = stands(8)
    charged = replace(here, journal=replace(here.journal, charges=(screen("a", "90"),)))
    assert what_next(here.through("two"), here.plan.protocol, "two", here.account("two")).stop is None
    stop = what_next(charged.through("two"), here.plan.protocol, "two", charged.account("two")).stop
    assert stop is not None and stop.rule == BUDGET


def test_a_persons_patch_is_charged_once_for_each_task() -> None:
    here = with_people(None)
    paid = [one for one in here.charges() if one.kind == "patch"]
    assert sorted(one.task for one in paid) == ["a", "b", "d", "e"]
    assert {one.usd for one in paid} == {Decimal(6)}
    assert here.account().people == {}


def test_a_block_needs_what_its_person_costs_beyond_the_caps() -> None:
    here = with_people(0, budgets={"pilot_usd": "30.99", "task_usd": None, "run_usd": None})
    block = next(here.ledger.blocks("one"))
    assert here.account().patch(block) == 6
    stop = what_next(here.through("one"), here.plan.protocol, "one", here.account("one")).stop
    assert stop is not None and stop.threshold == "31.00", "five runs at their cap of 5.00, and a person"
    assert here.account().patch([slot for slot in block if slot.method != "human"]) == 0


def test_reviews_are_charged_to_what_is_ahead_and_change_no_stage_that_is_over() -> None:
    here = replace(stands(40), rates=RATES)
    first = here.ledger.held("one")[0]
    reviewed = tuple(replace(run, reviews=(review("2.5"),)) if run == first else run for run in here.runs)
    later = replace(here, runs=reviewed)
    (charge,) = later.charges()
    assert (charge.kind, charge.usd, charge.evidence, charge.seconds) == ("review", Decimal(5), first.run, "150.00")
    assert later.account().total() - here.account().total() == 5
    for name in ("one", "two"):
        assert record_of(later, stage_of(later, name)) == record_of(here, stage_of(here, name))
    assert english(paid_besides(later.charges(), RATES)) == (
        "Besides its runs the pilot paid for 1 review (150 s, 5.00 USD)."
    )
    assert english(paid_besides(later.charges(), Rates())).endswith(" for 1 review (150 s, 5,000 units).")


def test_every_review_of_a_run_is_counted() -> None:
    here = replace(stands(40), rates=RATES)
    first, second = here.ledger.held("one")[:2]
    said = {first: (review("7"), review("2.5", "reject", "bo")), second: (review("0"),)}
    later = replace(here, runs=tuple(replace(run, reviews=said.get(run, ())) for run in here.runs))
    (total,) = totals(later.charges())
    assert total == {"kind": "review", "count": "3", "seconds": "570.00", "usd": "19.00"}
    assert charges(total) == "3 reviews, 570 s in all"
    assert english(paid_besides(later.charges(), RATES)) == (
        "Besides its runs the pilot paid for 3 reviews (570 s, 19.00 USD)."
    )
    assert [line["count"] for line in bill_of(later)["lines"] if line["of"] == "review"] == [3]
    one = {"kind": "screen", "count": "1", "seconds": "9.4", "usd": "0.5"}
    assert charges(one) == "1 screen of checks, 9 s in all"


def test_people_use_up_the_envelope_of_no_task() -> None:
    """Whoever could end a task by a long review would choose which tasks have more runs."""
    budgets = {"pilot_usd": "100.00", "task_usd": "26.00", "run_usd": None}
    here = replace(stands(16, budgets=budgets), rates=RATES)
    held = [run for run in here.ledger.held() if run.method == "x"]
    reviewed = tuple(replace(run, reviews=(review("5"),)) if run in held else run for run in here.runs)
    later = replace(here, runs=reviewed)
    before, after = (one.facts("two", "three").ahead for one in (here, later))
    assert before.blocks and (after.blocks, after.cut) == (before.blocks, before.cut) and not before.cut
    assert later.account().total() - here.account().total() == 10 * len(held)
    assert all(later.account().spent[task] == here.account().spent[task] for task in here.account().spent)
    assert charged_by_task(later.charges()) == {"": Decimal(10 * len(held))}


def test_a_persons_patch_needs_nothing_of_the_envelope_of_its_task() -> None:
    here = with_people(0, budgets={"pilot_usd": "100.00", "task_usd": "25.00", "run_usd": None})
    ahead = here.facts("one", "one").ahead
    assert ahead.blocks and not ahead.cut, "five runs at their cap of 5.00; the person is paid by the pilot"


def test_what_is_charged_to_no_task_comes_out_of_the_whole_alone() -> None:
    shared = Envelopes("2.00", "3.00")
    shared.charge("", Decimal("1.25"))
    assert shared.take("a", "1.50", lambda: False).usd == Decimal("1.50")
    assert shared.take("b", "5.00", lambda: True).usd == Decimal("0.25")


def test_what_was_charged_is_read_back(tmp_path: Path) -> None:
    plan = Plan(tmp_path, tmp_path, "sha256:" + "0" * 64, {}, ())
    add_screen(plan, "a", "sha256:a", 5, (), "12.5", "0.25")
    add_screen(plan, "a", "sha256:a", 5, (), "1.5", "0.05")
    assert [(one.seconds, one.usd) for one in read_journal(plan).charges] == [
        ("12.5", Decimal("0.25")),
        ("1.5", Decimal("0.05")),
    ]


def test_a_screen_from_before_there_were_charges_is_not_told_as_one_of_nothing(tmp_path: Path) -> None:
    plan = Plan(tmp_path, tmp_path, "sha256:" + "0" * 64, {}, ())
    earlier = {"schema": 1, "kind": "proctor.pilot-screen", "task": "a", "contract": "sha256:a", "attempts": 5}
    journal_log(plan).append({**earlier, "checks": []})
    found = read_journal(plan)
    assert found.screens["a"].attempts == 5 and found.charges == () and paid_besides(found.charges, RATES) is None


def test_charges_come_out_of_what_runs_may_take() -> None:
    shared = Envelopes("2.00", "3.00")
    shared.charge("a", Decimal("1.25"))
    assert shared.take("a", "5.00", lambda: False).usd == Decimal("0.75")
    assert shared.take("b", "5.00", lambda: True).usd == Decimal("1.00")


def test_the_crew_learns_of_every_charge(tmp_path: Path, make_contract: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    stage = Stage(tmp_path, [make_contract("one"), make_contract("two")], monkeypatch)

    def screens(scene: pilot_runner.PilotContext, task: Any, times: int) -> None:
        add_screen(stage.plan, task.name, task.contract, times, (), "10", "0.5")

    monkeypatch.setattr(pilot_runner, "_screen", screens)
    heard: list[Decimal] = []
    stage.charge = lambda charged: heard.append(sum(charged.values(), Decimal(0)))
    stage.run()
    assert heard[0] == 0 and set(heard[1:]) == {Decimal(1)}


def test_nothing_is_screened_without_money(tmp_path: Path, make_contract: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    budgets = {"pilot_usd": "100.00", "task_usd": "1.00", "run_usd": "0.25"}
    stage = Stage(tmp_path, [make_contract("one")], monkeypatch, budgets=budgets)
    stage.says = lambda place, number: {"usd": Decimal("0.50")}
    with pytest.raises(BudgetExceeded, match="the task has spent 1\\.00 of 1\\.00 USD"):
        stage.run()


def test_a_real_screen_costs_what_its_seconds_cost(proctor: Proctor, make_contract: Any, tmp_path: Path) -> None:
    (tmp_path / "prices.csv").write_bytes(PRICES)
    tasks = [{"contract": "contracts/one", "human_patch": "contracts/one/fix.patch"}]
    make_contract("one")
    parts: dict[str, Any] = {"prices": "prices.csv", "runs_per_task": 1, "tasks": tasks}
    file = write_pilot(tmp_path, [], baselines={"human": True, "human_minutes": "1.5"}, **parts)
    plan = load_plan(planned(proctor, file))
    assert rates_of(plan).person(Decimal(1)) == 2
    run(proctor, file)
    (charge,) = read_journal(plan).charges
    assert Decimal(charge.seconds) > 0 and charge.usd == Decimal(charge.seconds) * Decimal("0.10")
    now = json.loads(proctor("pilot", "status", file, "--json").stdout)
    assert {one["kind"]: one["count"] for one in now["charges"]} == {"screen": "1", "patch": "1"}
    made = sum(Decimal(one["report"]["usage"]["cost"]["usd"]) for one in runs_in(tmp_path / "home"))
    assert Decimal(now["spent_usd"]) == made + charge.usd + 3
    shown = proctor("pilot", "status", file).stdout
    assert "charged   1 screen of checks, " in shown
    assert "charged   1 patch by a person, 90 s in all, 3.0000 USD" in shown
