"""Caps that let nothing begin: told by the plan, the right way round, and refused before anything is run."""

from __future__ import annotations

import json
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest

from proctor.present.sentences.pilot_criteria import found as found_in
from proctor.present.sentences.pilot_criteria import required, todo
from proctor.study.analysis.plain_data import plain_data
from proctor.study.pilot.ledger.costs_besides_runs import Rates
from proctor.study.pilot.running.cap_criteria import Criterion, caps
from tests.english import english
from tests.study.pilot.live import Proctor, planned, run, runs_in, write_pilot
from tests.study.pilot.pilot_cases import arms
from tests.study.pilot.planning import task


def found(start: str = "0.001", **budgets: str | None) -> dict[str, Criterion]:
    """What is said of four arms on four tasks that cost 5.00 a run at most, under these budgets."""
    wanted = arms(budgets={"pilot_usd": "100.00", "task_usd": None, "run_usd": None, **budgets})
    return {one.id: one for one in caps(wanted, wanted["tasks"], Decimal(start))}


@pytest.mark.parametrize("name", ["pilot", "task"])
def test_an_envelope_is_what_is_found_and_a_block_what_is_asked_for(name: str) -> None:
    one = found(**{f"{name}_usd": "19.99"})[f"caps-{name}"]
    said = plain_data(one.found)
    assert (one.met, found_in(said), required(said)) == (False, "19.99 USD", "20.00 USD (a, 4 runs)")
    assert f"budgets.{name}_usd" in todo(said) and "proctor pilot amend" in todo(said)
    assert found(**{f"{name}_usd": "20.00"})[f"caps-{name}"].met


def test_the_largest_cap_of_a_run_decides_of_a_block_and_the_smallest_of_a_start() -> None:
    wanted = arms(tasks=[task("a"), task("b", usd="7.00"), task("c", usd="0.01")])
    told = {one.id: one for one in caps(wanted, wanted["tasks"], Decimal("0.009"))}
    assert required(plain_data(told["caps-pilot"].found)) == "28.00 USD (b, 4 runs)"
    said = found_in(plain_data(told["caps-run"].found))
    assert (told["caps-run"].met, said) == (False, "0.009 USD for the agent, of 0.01 (c)")


@pytest.mark.parametrize(("start", "met"), [("0", True), ("0.89", True), ("0.90", False), ("2", False)])
def test_a_cap_of_which_the_start_leaves_nothing_is_told(start: str, met: bool) -> None:
    one = found(start, run_usd="1.00")["caps-run"]
    assert one.met is met and found_in(plain_data(one.found)).startswith("0.90 USD for the agent, of 1.00")


def test_the_start_of_a_run_is_priced_as_runs_are() -> None:
    assert Rates().start == Decimal("0.001")


def test_a_budget_without_a_block_is_refused_before_any_run_and_mended_by_an_amendment(
    proctor: Proctor, make_contract: Any, tmp_path: Path
) -> None:
    contracts = [make_contract(name) for name in ("one", "two")]
    short = {"budgets": {"run_usd": "0.50", "pilot_usd": "1.00"}, "runs_per_task": 1}
    file = write_pilot(tmp_path, contracts, **short)
    plan = json.loads(proctor("pilot", "plan", file, "--json").stdout)
    (concern,) = plan["concerns"]
    assert "found 1.00 USD, required 2.00 USD (one, 4 runs). Advice: " in english(concern)
    told = proctor("pilot", "run", file)
    assert told.returncode == 1 and told.stderr == ""
    assert "\none    refused  0     caps-pilot\n" in told.stdout and "never tried" not in told.stdout
    assert "\nnot met: caps-pilot, which demands that " in told.stdout
    assert ": 1.00 USD, required: 2.00 USD (one, 4 runs)\n" in told.stdout
    assert runs_in(tmp_path / "home") == [], "neither checks nor screens were made"
    status = json.loads(proctor("pilot", "status", file, "--json").stdout)
    assert (status["verdict"], [one["id"] for one in status["unmet"]]) == ("refused", ["caps-pilot"])
    write_pilot(tmp_path, contracts, **{**short, "budgets": {"run_usd": "0.50", "pilot_usd": "9.00"}})
    assert proctor("pilot", "amend", file, "--why", "it holds no block").returncode == 0
    code, answer = run(proctor, file)
    assert code == 0, answer


def test_a_cap_below_the_start_of_a_run_is_told_once(proctor: Proctor, make_contract: Any, tmp_path: Path) -> None:
    contracts = [make_contract(name) for name in ("one", "two")]
    file = write_pilot(tmp_path, contracts, budgets={"run_usd": "0.0002", "pilot_usd": "1.51"})
    planned(proctor, file)
    words = "0.00018 USD for the agent, of 0.0002 (one), required more than 0.001 USD, which the start of a run costs"
    must = "the cap of a run is larger than the cost of its start"
    assert f"concern  Stage one will be refused. Criterion: {must}: found {words}. " in (
        proctor("pilot", "plan", file).stdout
    )
    told = proctor("pilot", "run", file)
    assert told.returncode == 1 and (told.stdout + told.stderr).count(words.replace("required", "required:")) == 1
    assert runs_in(tmp_path / "home") == []
