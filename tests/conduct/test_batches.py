"""Batches: many runs side by side, taken up again after they were cut off."""

from __future__ import annotations

import json
import signal
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.beside import started, stopped, traces_hold, wait_until

Proctor = Callable[..., subprocess.CompletedProcess[str]]


def stopped_run(home: Path, by: signal.Signals, sign: str, *words: str) -> tuple[int, str]:
    """``proctor run`` with ``words``, which gets a signal once a trace holds ``sign``: its exit code and errors."""
    with started(home, "run", *words) as child:
        wait_until(lambda: traces_hold(home, sign), child)
        return stopped(child, by)


def test_runs_side_by_side_are_all_kept(proctor: Proctor, make_contract: Any) -> None:
    contracts = [make_contract("one"), make_contract("two")]
    done = proctor("run", *contracts, "--agent", "reference", "-n", "3", "--jobs", "3", "--json")
    assert done.returncode == 0, done.stderr
    rows = json.loads(done.stdout)["runs"]
    assert sorted(row["contract"] for row in rows) == ["one"] * 3 + ["two"] * 3
    assert len({row["run"] for row in rows}) == 6
    listed = json.loads(proctor("runs", "--json").stdout)["runs"]
    assert [row["status"] for row in listed] == ["success"] * 6


def test_one_contract_that_cannot_be_prepared_costs_its_own_runs_only(proctor: Proctor, make_contract: Any) -> None:
    bad = make_contract("bad", setup=[{"run": "exit 1"}])
    done = proctor("run", bad, make_contract("good"), "--agent", "reference", "-n", "2", "--json")
    answer = json.loads(done.stdout)
    assert done.returncode == 2
    assert [row["status"] for row in answer["runs"]] == ["success"] * 2
    assert len(answer["errors"]) == 2


def test_a_killed_batch_is_completed_under_new_ids(make_contract: Any, proctor: Proctor, tmp_path: Path) -> None:
    contract = make_contract()
    home = tmp_path / "home"
    runs = home / "runs"
    with started(home, "run", contract, "--agent", "command:sh -c 'sleep 0.2'", "-n", "4") as child:
        wait_until(lambda: bool(list(runs.glob("*/seal.json"))), child)
        stopped(child, signal.SIGKILL)
    sealed = len(list(runs.glob("*/seal.json")))
    done = proctor("run", "--resume", "--json")
    answer = json.loads(done.stdout)
    assert done.returncode == 1, done.stderr
    assert len(answer["runs"]) == 4 - sealed
    assert len(list(runs.glob("*/seal.json"))) == 4
    again = json.loads(proctor("run", "--resume", "--json").stdout)
    assert again["runs"] == []


def test_runs_that_were_made_before_count_in_the_exit_code(proctor: Proctor, make_contract: Any) -> None:
    done = proctor("run", make_contract(), "--agent", "reference", "--agent", "noop", "--json")
    failed = next(row for row in json.loads(done.stdout)["runs"] if row["agent"] == "noop")
    (Path(failed["evidence"]) / "seal.json").unlink()
    taken_up = proctor("run", "--resume", "--json")
    answer = json.loads(taken_up.stdout)
    assert [row["status"] for row in answer["earlier"]] == ["success"]
    assert [row["status"] for row in answer["runs"]] == ["failure"]
    assert taken_up.returncode == 1
    again = proctor("run", "--resume")
    assert again.returncode == 1, "an earlier failure still counts when nothing is left to do"
    assert "run before: 1 failure, 1 success" in again.stdout


def test_a_changed_contract_is_not_taken_up(make_contract: Any, proctor: Proctor, tmp_path: Path) -> None:
    contract = make_contract("moving", setup=[{"run": "exit 1"}])
    assert proctor("run", contract, "--agent", "noop").returncode == 2
    (contract / "issue.md").write_text("Another issue.\n")
    done = proctor("run", "--resume")
    assert done.returncode == 2
    assert "has changed since the batch began" in done.stderr


def test_an_interrupt_ends_the_agent_and_seals_the_run(make_contract: Any, tmp_path: Path, proctor: Proctor) -> None:
    contract = make_contract()
    agent = ["--agent", "command:sh -c 'echo waiting; sleep 6; true'"]
    code, errors = stopped_run(tmp_path / "home", signal.SIGINT, '"sleep"', str(contract), *agent, "-n", "2")
    assert code == 3, errors
    (batch,) = (tmp_path / "home" / "batches").iterdir()
    assert f"proctor run --resume --batch {batch.stem}" in errors
    (row,) = json.loads(proctor("runs", "--json").stdout)["runs"]
    assert row["status"] == "invalid"
    assert proctor("verify", row["run"]).returncode == 0
    assert "stopped from the keyboard" in proctor("show", row["run"]).stdout
    assert "waiting" in proctor("show", row["run"], "--output").stdout, "what it had printed is kept"
    rest = json.loads(proctor("run", "--resume", "--json").stdout)["runs"]
    assert [run["status"] for run in rest] == ["failure", "failure"], "a run that was stopped is run again"
    assert "nothing is left to do" in proctor("run", "--resume").stdout


def test_sigterm_stops_in_order_too(make_contract: Any, tmp_path: Path, proctor: Proctor) -> None:
    words = (str(make_contract()), "--agent", "command:sleep 1000")
    code, errors = stopped_run(tmp_path / "home", signal.SIGTERM, "guard.exec", *words)
    assert code == 3, errors
    (row,) = json.loads(proctor("runs", "--json").stdout)["runs"]
    assert (row["state"], row["status"]) == ("finished", "invalid")
    assert "stopped by SIGTERM at" in proctor("show", row["run"]).stdout


@pytest.mark.parametrize("agent", ["noop", "reference", "patch:fix.patch"])
def test_a_model_for_an_agent_that_uses_none_is_refused(
    make_contract: Any, tmp_path: Path, proctor: Proctor, agent: str
) -> None:
    contract = make_contract()
    (tmp_path / "fix.patch").write_text(make_contract.FIX)
    (tmp_path / "turns.yaml").write_text("schema: 1\nturns:\n  - {say: hello}\n")
    done = proctor("run", contract, "--agent", agent, "--model", "scripted/m", "--script", "turns.yaml")
    assert done.returncode == 2
    assert f"the agent {agent.partition(':')[0]} uses no model" in done.stderr
    assert not list((tmp_path / "home" / "batches").iterdir())


def test_a_batch_remembers_how_many_went_side_by_side(make_contract: Any, tmp_path: Path, proctor: Proctor) -> None:
    assert proctor("run", make_contract(), "--agent", "noop", "-n", "2", "--jobs", "2").returncode == 1
    (batch,) = (tmp_path / "home" / "batches").iterdir()
    assert json.loads(batch.read_bytes())["settings"] == {"jobs": "2", "prices": ""}


def test_a_mistyped_agent_begins_no_batch(make_contract: Any, tmp_path: Path, proctor: Proctor) -> None:
    assert proctor("run", make_contract(), "--agent", "nobody").returncode == 2
    assert list((tmp_path / "home" / "batches").iterdir()) == []


def test_a_run_that_is_being_judged_when_it_is_stopped_counts(
    proctor: Proctor, make_contract: Any, tmp_path: Path
) -> None:
    slow = {"id": "slow", "gate": "acceptance", "run": ["/bin/sleep", "2"], "timeout_seconds": 60}
    contract = make_contract(checks=[slow])
    words = (str(contract), "--agent", "noop", "-n", "2")
    _, errors = stopped_run(tmp_path / "home", signal.SIGINT, "patch.applied", *words)
    assert "--resume" in errors
    (row,) = json.loads(proctor("runs", "--json").stdout)["runs"]
    assert row["status"] == "success"
    report = json.loads((tmp_path / "home" / "runs" / row["run"] / "report.json").read_bytes())
    assert report["termination"]["code"] is None, "nothing was cut short"
    rest = json.loads(proctor("run", "--resume", "--json").stdout)
    assert [run["status"] for run in rest["runs"]] == ["success"], "only what was not begun is left"
