"""Envelopes: what the runs of a task and of a batch may spend together."""

from __future__ import annotations

import json
import subprocess
import threading
from collections.abc import Callable
from dataclasses import replace
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest

from proctor.base.errors import BudgetExceeded
from proctor.conduct.batch.spending_limits import Envelopes, spent_before, spent_usd, start_usd
from proctor.contract.lint import AGENTS_SHARE, START_USD
from proctor.execute.monitor.breakers.breaker_settings import Thresholds
from proctor.execute.proctor_home import Home
from proctor.record.report_model import Cost

Proctor = Callable[..., subprocess.CompletedProcess[str]]

PRICES = "action_type,unit,unit_price\nrun,run,1\n"
"""A run costs a dollar, whatever it does."""


def never() -> bool:
    return False


def test_a_share_is_held_until_it_is_settled() -> None:
    envelopes = Envelopes("10.00", None)
    first = envelopes.take("a", "4.00", never)
    second = envelopes.take("a", "4.00", never)
    assert envelopes.settings(second) == {
        "task_usd": "10.00",
        "task_spent_usd": "4.00",
        "batch_usd": None,
        "batch_spent_usd": "4.00",
    }
    envelopes.settle(first, Decimal("0.50"))
    envelopes.settle(second, Decimal("4.00"))
    assert envelopes.settings(envelopes.take("a", "4.00", never))["task_spent_usd"] == "4.50"
    assert envelopes.settings(envelopes.take("b", "4.00", never))["task_spent_usd"] == "0.00"


def test_the_last_run_gets_what_is_left_and_the_next_is_refused() -> None:
    envelopes = Envelopes(None, "5.00", [("a", Decimal("4.00"))])
    share = envelopes.take("b", "5.00", never)
    assert share.usd == Decimal("1.00")
    envelopes.settle(share, Decimal("0.95"))
    with pytest.raises(BudgetExceeded, match=r"the batch has spent 4\.95 of 5\.00 USD \(a policy choice\)"):
        envelopes.take("a", "5.00", never)


def test_a_run_that_does_not_fit_waits_for_one_that_gives_back() -> None:
    envelopes = Envelopes(None, "6.00")
    first = envelopes.take("a", "5.00", never)
    taken: list[Any] = []
    asked = threading.Event()

    def stopped() -> bool:
        asked.set()
        return False

    other = threading.Thread(target=lambda: taken.append(envelopes.take("b", "5.00", stopped)))
    other.start()
    assert asked.wait(30), "the second run did not wait"
    assert taken == []
    envelopes.settle(first, Decimal("0.25"))
    other.join(30)
    assert (taken[0].usd, taken[0].batch_spent) == (Decimal("5.00"), Decimal("0.25"))


def test_units_of_the_schedule_and_a_higher_bill_count() -> None:
    cost = Cost(method="m", usd=None, units="1500.00", observed_usd=None, phases={}, evidence="events.jsonl#1")
    assert spent_usd(cost) == Decimal("1.5")
    assert spent_usd(replace(cost, usd="1.00", units=None, observed_usd="2.00")) == Decimal(2)
    assert spent_usd(None) == 0


def test_a_batch_stops_starting_runs_when_its_envelope_is_used_up(
    proctor: Proctor, make_contract: Any, tmp_path: Path
) -> None:
    (tmp_path / "prices.csv").write_text(PRICES)
    contract = make_contract()
    arguments = ("run", contract, "--agent", "reference", "--prices", "prices.csv", "-n", "4", "--jobs", "2", "--json")
    done = proctor(*arguments, "--batch-usd", "2.5")
    answer = json.loads(done.stdout)
    assert done.returncode == 3, done.stderr
    assert [row["status"] for row in answer["runs"]] == ["success"] * 2
    assert len(answer["refused"]) == 2
    assert "the start of a run costs 1.00 USD" in answer["refused"][0]["why"]
    batch = json.loads((tmp_path / "home" / "batches" / f"{answer['batch']}.json").read_text())
    assert [row[2] for row in batch["refused"]] == [row["repeat"] for row in answer["refused"]]
    again = proctor("run", "--resume", "--json")
    assert again.returncode == 3
    assert json.loads(again.stdout)["runs"] == []
    why = json.loads(again.stdout)["refused"][0]["why"]
    assert "of the 2.50 USD for the batch (a policy choice) an agent may spend 0.25 now" in why
    assert proctor("run", "--resume", "--batch-usd", "9").returncode == 2
    whole = json.loads(proctor("cost", "--batch", answer["batch"], "--json").stdout)
    assert (whole["projected"], len(whole["runs"])) == ("2", 2)
    cut = Path(answer["runs"][0]["evidence"])
    (cut / "seal.json").unlink()
    (cut / "report.json").unlink()
    spent = spent_before(Home(tmp_path / "home"), answer["batch"])
    assert [usd for _, usd in spent] == [Decimal(1)] * 2, "a run that was cut off has spent, too"
    (cut / "events.jsonl").unlink()
    assert len(list(spent_before(Home(tmp_path / "home"), answer["batch"]))) == 1, "but not before its first event"


def test_the_envelope_of_a_task_is_its_own_and_ends_a_run_apart_from_failures(
    proctor: Proctor, make_contract: Any, tmp_path: Path
) -> None:
    (tmp_path / "prices.csv").write_text("action_type,unit,unit_price\ntool_call,call,1\n")
    spender = "command:sh -c 'for i in 1 2 3 4 5 6; do /bin/true; done; sed -i s/-/+/ calc.py; sleep 1.5'"
    two = [make_contract("one"), make_contract("two")]
    arguments = ("run", *two, "--agent", spender, "--prices", "prices.csv", "-n", "2", "--task-usd", "3.00", "--json")
    answer = json.loads(proctor(*arguments).stdout)
    assert {row["ended"] for row in answer["runs"]} == {"cost-cap"}
    assert sorted(Path(row["contract"]).name for row in answer["refused"]) == ["one", "two"]
    shown = json.loads(proctor("show", answer["runs"][0]["run"], "--json").stdout)
    assert "resource-termination" in [tag["id"] for tag in shown["tags"]]
    assert "the task has" in shown["termination"]["rationale"]
    whole = json.loads(proctor("cost", *(row["run"] for row in answer["runs"]), "--json").stdout)
    assert {name: set(task) for name, task in whole["tasks"].items()} == {
        "one": {"runs", "amount"},
        "two": {"runs", "amount"},
    }
    assert Decimal(whole["projected"]) == sum(Decimal(task["amount"]) for task in whole["tasks"].values())


@pytest.mark.parametrize(
    ("options", "budget", "hint"),
    [(("--task-usd", "1.05"), "5.00", "a larger limit"), ((), "1.05", "raise budget.usd")],
    ids=["task", "run"],
)
def test_a_run_that_cannot_pay_for_its_start_is_refused_and_fails_nothing(
    proctor: Proctor, make_contract: Any, tmp_path: Path, options: tuple[str, ...], budget: str, hint: str
) -> None:
    (tmp_path / "prices.csv").write_text(PRICES)
    contract = make_contract(budget={"wall_seconds": 60, "usd": budget})
    done = proctor("run", contract, "--agent", "command:true", "--prices", "prices.csv", *options)
    assert done.returncode == 3
    assert "the start of a run costs 1.00 USD" in done.stderr and hint in done.stderr
    assert "not run: the spending limit is too low" in done.stderr
    assert not list((tmp_path / "home").glob("runs/*")), "nothing has begun"


def test_the_fallback_schedule_has_a_start_to_pay_for_too(proctor: Proctor, make_contract: Any) -> None:
    contract = make_contract(budget={"wall_seconds": 60, "usd": "0.001"})
    assert proctor("run", contract, "--agent", "noop").returncode == 3
    assert "the start of a run costs 0.001 USD" in proctor("validate", contract, "--times", "1").stderr
    assert "no run can start: that alone costs 0.001 USD" in proctor("lint", contract).stdout


def test_what_lint_knows_of_costs_is_what_runs_pay() -> None:
    assert start_usd(None) == START_USD
    assert Decimal(Thresholds().headroom_share) == 1 - AGENTS_SHARE


@pytest.mark.parametrize("amount", ["much", "-1", "1e3", "1,50"])
def test_an_envelope_is_an_amount(proctor: Proctor, make_contract: Any, amount: str) -> None:
    done = proctor("run", make_contract(), "--agent", "noop", "--task-usd", amount)
    assert done.returncode == 2
    assert "--task-usd: not an amount in dollars" in done.stderr
