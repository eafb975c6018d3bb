"""Whole pilots: through all stages, killed in each of them, refused where a criterion does not hold, and gone on."""

from __future__ import annotations

import json
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from proctor.author.demo.build import HERE, materialise
from proctor.record.run_directory import RunDirectory
from proctor.record.verify import verify
from tests.english import english
from tests.study.pilot.live import Proctor, check_places, kill_in, planned, run, runs_in, write_pilot

STAGES = ("one", "two", "three")


def demo_contracts(folder: Path, count: int) -> list[Path]:
    """The bundled contract, under other names."""
    found = []
    for number in range(count):
        path = materialise(folder / f"carry-{number}")
        text = (path / "contract.yaml").read_text().replace("name: durations-carry", f"name: carry-{number}")
        (path / "contract.yaml").write_text(text)
        found.append(path)
    return found


@pytest.mark.soak
def test_a_pilot_that_is_killed_in_every_stage_is_completed(proctor: Proctor, tmp_path: Path) -> None:
    files = tmp_path / "agent"
    files.mkdir()
    (files / "fix.patch").write_bytes((HERE / "contract" / "reference.patch").read_bytes())
    methods = [
        {"name": "fixer", "agent": "command:sh -c 'patch -s -p1 < /agent/fix.patch'", "files": "agent"},
        {"name": "idler", "agent": "command:true"},
    ]
    file = write_pilot(tmp_path, demo_contracts(tmp_path, 3), methods=methods)
    plan, home = planned(proctor, file), tmp_path / "home"
    for stage in STAGES:
        kill_in(stage, file, home)
    code, answer = run(proctor, file)
    assert code == 0, answer
    assert [stage["verdict"] for stage in answer["stages"]] == ["over"] * 3
    check_places(home, plan)
    runs = runs_in(home)
    assert {one["pilot"] for one in runs} == {answer["pilot"]}
    assert all(verify(RunDirectory(one["path"])).status == "intact" for one in runs)
    by_method = {(one["method"], one["report"]["status"]) for one in runs}
    assert by_method == {("fixer", "success"), ("idler", "failure"), ("noop", "failure"), ("reference", "success")}
    for contract in {one["contract"] for one in runs}:
        mine = [one["report"] for one in runs if one["contract"] == contract]
        assert len({report["comparability"]["class"] for report in mine}) == 1
    before = [(plan / f"stage-{stage}.json").read_bytes() for stage in STAGES]
    again, same = run(proctor, file)
    assert (again, same) == (code, answer)
    assert [(plan / f"stage-{stage}.json").read_bytes() for stage in STAGES] == before, "made again, byte by byte"
    assert len(runs_in(home)) == len(runs), "nothing was run again"


@pytest.mark.soak
def test_a_stage_without_power_is_refused_and_an_amendment_lets_it_run(
    proctor: Proctor, make_contract: Any, tmp_path: Path
) -> None:
    contracts = [make_contract(name) for name in ("one", "two", "three")]
    file = write_pilot(tmp_path, contracts, power="0.99")
    plan = planned(proctor, file)
    told = proctor("pilot", "run", file)
    assert told.returncode == 1
    assert "three  refused" in told.stdout
    assert "proctor pilot power" in told.stdout
    assert "proctor pilot amend PILOT --why" in told.stdout and "plan anew" not in told.stdout
    assert not [one for one in runs_in(tmp_path / "home") if one["stage"] == "three"]
    write_pilot(tmp_path, contracts, power="0.05")
    changed = proctor("pilot", "run", file)
    assert changed.returncode == 2
    assert "power: 0.99 -> 0.05" in changed.stderr
    assert proctor("pilot", "amend", file, "--why", "a small difference is enough").returncode == 0
    code, answer = run(proctor, file)
    assert code == 0
    assert answer["stages"][-1]["amendments"] == 1
    check_places(tmp_path / "home", plan)
    status = json.loads(proctor("pilot", "status", file, "--json").stdout)
    assert status["complete"] is True
    assert any("a small difference is enough" in words for words in english(status["deviations"]))


def test_violations_that_are_systematic_end_the_pilot_with_equal_counts(
    proctor: Proctor, make_contract: Any, tmp_path: Path
) -> None:
    policy = {"forbid_commands": ["rm *"]}
    contracts = [make_contract("one", policy=policy), make_contract("two", policy=policy)]
    rude = {"name": "rude", "agent": "command:rm README.md"}
    file = write_pilot(
        tmp_path,
        contracts,
        methods=[rude, {"name": "idler", "agent": "command:true"}],
        stages={"one": {"tasks": 2}},
        stopping={"safety": {"violations": 1}},
    )
    planned(proctor, file)
    code, answer = run(proctor, file)
    assert code == 1
    (stage,) = answer["stages"]
    assert (stage["verdict"], stage["stop"]["rule"], stage["stop"]["blocks"]) == ("stopped", "safety", 1)
    assert set(stage["counts"].values()) == {1}
    assert len([place for place in stage["places"] if place["run"] is None]) == 4, "the other block was not begun"
    assert len(stage["stop"]["evidence"]) == 1
    again, same = run(proctor, file)
    assert (again, same) == (code, answer), "who looks again comes to the same end"


def test_an_envelope_ends_the_pilot_before_a_block_that_it_could_not_pay(
    proctor: Proctor, make_contract: Any, tmp_path: Path
) -> None:
    contracts = [make_contract(name) for name in ("one", "two", "three")]
    budgets = {"pilot_usd": "0.21", "run_usd": "0.05"}
    file = write_pilot(tmp_path, contracts, budgets=budgets, stages={"one": {"tasks": 2}})
    planned(proctor, file)
    code, answer = run(proctor, file, "--jobs", "2")
    assert code == 1
    stage = answer["stages"][-1]
    assert stage["stop"]["rule"] == "budget"
    held = runs_in(tmp_path / "home")
    assert {one["watch"]["caps"]["usd"] for one in held} == {"0.05"}
    assert {one["watch"]["batch_usd"] for one in held} == {"0.21"}
    counts = Counter(one["method"] for one in held if one["stage"] != "checks")
    assert len(set(counts.values())) == 1
    assert 0 < counts["fixer"] < 6, "some blocks were paid for, and not all"
    assert [place for place in stage["places"] if place["run"] is None], "what was not run is told"


def test_what_was_touched_is_noticed(proctor: Proctor, make_contract: Any, tmp_path: Path) -> None:
    contracts = [make_contract("one"), make_contract("two")]
    file = write_pilot(tmp_path, contracts, power="0.99", runs_per_task=1, baselines={"reference": False})
    plan = planned(proctor, file)
    assert run(proctor, file)[0] == 0, "there is nothing in stage three, and nothing holds it back"
    failed = next(one for one in runs_in(tmp_path / "home") if one["report"]["status"] == "failure")
    touches = (
        (contracts[0] / "issue.md", b"subtracts", b"multiplies", 2),
        (failed["path"] / "report.json", b"failure", b"success", 4),
        (plan / "journal.jsonl", b'"deviating":0', b'"deviating":1', 4),
        (plan / "randomisation.csv", b"noop", b"fixer", 4),
    )
    for path, old, new, wanted in touches:
        before = path.read_bytes()
        path.write_bytes(before.replace(old, new, 1))
        done = proctor("pilot", "run", file)
        assert done.returncode == wanted, (path, done.stdout, done.stderr)
        assert "Traceback" not in done.stderr
        path.write_bytes(before)
    assert run(proctor, file)[0] == 0


def test_a_pilot_is_not_begun_again_in_another_home(proctor: Proctor, make_contract: Any, tmp_path: Path) -> None:
    file = write_pilot(tmp_path, [make_contract("one"), make_contract("two", checks=[EMPTY])])
    planned(proctor, file)
    assert run(proctor, file)[0] == 1, "a no-op passes, and stage one is refused"
    done = proctor("pilot", "run", file, PROCTOR_HOME=str(tmp_path / "elsewhere"))
    assert done.returncode == 2
    assert "none of them is in this home" in done.stderr
    assert not list((tmp_path / "elsewhere" / "runs").iterdir())


EMPTY = {"id": "adds", "gate": "acceptance", "run": ["/bin/true"], "timeout_seconds": 60}
