"""A pilot goes on in a home that was copied, and no run is spent on layers that are not what was made."""

from __future__ import annotations

import json
import os
import subprocess
from pathlib import Path
from typing import Any

import pytest

from proctor.cli.progress import Progress
from proctor.cli.wiring import machine
from proctor.conduct.batch.batch_record import Place, new_batch
from proctor.contract.load import load_contract
from proctor.execute.workspace.layer_store import DamagedLayer, hold
from proctor.study.pilot.plan.frozen_plan import freeze, plan_folder
from proctor.study.pilot.plan.pilot_draft import draft
from proctor.study.pilot.plan.plan_files import make_artefacts
from proctor.study.pilot.running.conduct_pilot import PilotFiller
from tests.study.pilot.live import Proctor, kill_in, planned, runs_in, write_pilot

SETUP = [{"run": "mkdir /setup/site && echo 'READY = True' > /setup/site/ready.py"}]
STEADY = {"PYTHONPATH": "/setup/site:."}


def contracts(make_contract: Any, count: int) -> list[Path]:
    """Contracts with a setup that the check needs."""
    check = {
        **make_contract.CHECK,
        "run": ["/usr/bin/python3", "-c", "import ready, calc; assert calc.add(2, 2) == 4"],
    }
    environment = {"variables": STEADY}
    names = [f"task-{number}" for number in range(count)]
    return [make_contract(name, setup=SETUP, checks=[check], environment=environment) for name in names]


def test_a_pilot_goes_on_in_a_copy_of_its_home(proctor: Proctor, make_contract: Any, tmp_path: Path) -> None:
    file = write_pilot(tmp_path, contracts(make_contract, 3))
    planned(proctor, file)
    kill_in("one", file, tmp_path / "home")
    subprocess.run(["cp", "-r", tmp_path / "home", tmp_path / "moved"], check=True)
    done = proctor("pilot", "run", file, "--json", PROCTOR_HOME=str(tmp_path / "moved"))
    assert done.returncode == 0, done.stdout + done.stderr
    assert {one["report"]["status"] for one in runs_in(tmp_path / "moved")} == {"success", "failure"}
    told = json.loads(proctor("pilot", "status", file, "--json", PROCTOR_HOME=str(tmp_path / "moved")).stdout)
    assert told["complete"] and not any("spoilt" in words for words in told["deviations"])


def test_a_damaged_layer_is_made_again(make_contract: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PROCTOR_HOME", str(tmp_path / "home"))
    (path,) = contracts(make_contract, 1)
    here = machine()
    contract = load_contract(path)
    first = here.prepare(contract)
    for layer in first.layers:
        for file in layer.path.rglob("*.py"):
            file.write_text("raise SystemExit(0)\n")
    again = here.prepare(contract)
    assert [layer.entries_digest for layer in again.layers] == [layer.entries_digest for layer in first.layers]
    assert not again.setup_cached
    for layer in again.layers:
        here.store.check(layer, full=True)


def test_a_damaged_layer_that_is_in_use_holds_everything_up(
    make_contract: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PROCTOR_HOME", str(tmp_path / "home"))
    (path,) = contracts(make_contract, 1)
    here = machine()
    contract = load_contract(path)
    top = here.prepare(contract).layers[0]
    (top.path / "setup" / "site" / "ready.py").write_text("READY = False\n")
    held = hold(top)
    try:
        with pytest.raises(DamagedLayer, match="have been changed"):
            here.prepare(contract)
    finally:
        os.close(held)
    assert here.prepare(contract).layers[0].entries_digest == top.entries_digest


def test_a_layer_that_changes_under_way_pauses_the_pilot_before_a_run_is_spent(
    make_contract: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PROCTOR_HOME", str(tmp_path / "home"))
    here = machine()
    made = draft(here, write_pilot(tmp_path, contracts(make_contract, 1)))
    place = Place(str(made.suite[0].path), made.suite[0].contract, 1, "noop", "", "noop")
    batch = new_batch(here.clock, here.entropy, {}, "", [], 1)
    plan = freeze(plan_folder(made.pilot), made.protocol, lambda: make_artefacts(made.protocol, made.prices))
    with Progress(2, 0, quiet=True, resume="") as progress, PilotFiller(here, made, plan, 1, progress) as filler:
        ((_, outcome),) = filler.fill(batch, [place]).outcomes
        assert outcome.status == "failure"
        (ready,) = here.home.layers.glob("*/content/setup/site/ready.py")
        ready.write_text("READY = False\n")
        result = filler.fill(batch, [place])
    assert not result.outcomes and not result.stopped
    ((_, error),) = result.errors
    assert isinstance(error, DamagedLayer) and error.hint
    assert len(list(here.home.runs.iterdir())) == 1, "no run was spent"
