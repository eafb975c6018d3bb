"""Every command as a user calls it: help, JSON, exit codes, and one message for bad input."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from proctor.cli.main import run_command

Proctor = Callable[..., subprocess.CompletedProcess[str]]


def test_an_unknown_command_gets_a_suggestion(capsys: pytest.CaptureFixture[str]) -> None:
    assert run_command(["verfy"]) == 2
    assert "did you mean verify?" in capsys.readouterr().err


def test_init_lint_and_show(proctor: Proctor, tmp_path: Path) -> None:
    assert proctor("init", tmp_path / "mine").returncode == 0
    again = proctor("init", tmp_path / "mine")
    assert again.returncode == 2, "an existing contract is not overwritten"
    assert "Traceback" not in again.stderr


def test_lint_tells_every_mistake_with_its_place(proctor: Proctor, make_contract: Any) -> None:
    contract = make_contract(budget={"wall_seconds": "soon", "walls": 3})
    done = proctor("lint", contract)
    assert done.returncode == 2
    assert done.stderr.count("contract.yaml:") >= 2
    rows = json.loads(proctor("lint", contract, "--json").stdout)
    assert {row["line"] > 0 for row in rows["mistakes"]} == {True}


def test_show_a_contract_and_a_run(proctor: Proctor, make_contract: Any) -> None:
    contract = make_contract()
    shown = proctor("show", contract)
    assert shown.returncode == 0
    assert "sha256:" in shown.stdout
    row = json.loads(proctor("run", contract, "--agent", "reference", "--json").stdout)["runs"][0]
    text = proctor("show", row["run"]).stdout
    assert "status       success" in text
    events = proctor("trace", row["run"]).stdout
    assert "check.finished" in events
    lines = proctor("trace", row["run"], "--json", "--type", "run.started").stdout.splitlines()
    assert [json.loads(line)["type"] for line in lines] == ["run.started"]


def test_validate_says_whether_a_contract_can_be_used(proctor: Proctor, make_contract: Any) -> None:
    good = proctor("validate", make_contract("good"), "--times", "1", "--json")
    assert good.returncode == 0, good.stderr
    assert json.loads(good.stdout)["valid"] is True
    check = {**make_contract.CHECK, "run": ["/bin/true"]}
    empty = proctor("validate", make_contract("empty", checks=[check]), "--times", "1")
    assert empty.returncode == 1
    assert "not valid" in empty.stdout


def test_validate_gives_the_whole_reason_and_the_run_of_what_came_out_wrong(
    proctor: Proctor, make_contract: Any
) -> None:
    names = [f"test_calc.CalcTest.test_that_has_a_long_name_and_is_not_there_{number}" for number in range(3)]
    script = "printf 'TAP version 13\\n1..1\\nok 1 - here\\n' > $PROCTOR_RESULTS/out.tap"
    check = {"id": "tests", "gate": "acceptance", "run": script, "results": "tap", "results_file": "out.tap"}
    done = proctor("validate", make_contract("absent", checks=[{**check, "must_pass": names}]), "--times", "2")
    assert done.returncode == 1, done.stderr
    told = [line for line in done.stdout.splitlines() if line.startswith("absent: reference must be a success")]
    assert len(told) == 1, done.stdout
    assert names[0] in told[0]
    assert proctor("show", told[0].rpartition(" ")[2]).returncode == 0


def test_a_changed_byte_is_named_and_exits_with_four(proctor: Proctor, make_contract: Any) -> None:
    row = json.loads(proctor("run", make_contract(), "--agent", "noop", "--json").stdout)["runs"][0]
    report = Path(row["evidence"]) / "report.json"
    report.write_bytes(report.read_bytes().replace(b"failure", b"success", 1))
    done = proctor("verify", row["run"])
    assert done.returncode == 4
    assert "report.json" in done.stdout
    assert proctor("rescore", row["run"]).returncode == 4


def test_schema_agents_doctor_clean_and_demo(proctor: Proctor) -> None:
    assert json.loads(proctor("schema").stdout)["$schema"]
    assert "noop" in proctor("agents").stdout
    doctor = proctor("doctor", "--json")
    assert doctor.returncode == 0, doctor.stdout
    assert proctor("clean").stdout.strip().endswith("clean")
    demo = proctor("demo")
    assert demo.returncode == 0, demo.stdout + demo.stderr
    assert "forged" in demo.stdout


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (["run"], "give contracts and --agent"),
        (["run", "nowhere", "--agent", "noop"], "nowhere"),
        (["run", "nowhere"], "no agent was given"),
        (["run", "--agent", "noop"], "no contract was given"),
        (["runs", "--status", "nonsense"], "nonsense"),
        (["run", "--resume"], "no batch to resume"),
        (["verify", "20990101T000000-0000000000"], "no run"),
        (["show", "nothing-like-it"], "no run"),
        (["lint", "/dev/null"], "contract"),
        (["runs", "--last", "0"], "--last"),
    ],
)
def test_bad_usage_gets_one_message(proctor: Proctor, arguments: list[str], says: str) -> None:
    done = proctor(*arguments)
    assert done.returncode == 2
    assert says in done.stderr
    assert "Traceback" not in done.stderr


@pytest.mark.parametrize(
    ("agent", "says"),
    [
        ("unheard-of", "there is no agent 'unheard-of'\n"),
        ("claude", "there is no agent 'claude'; did you mean claude-code?\n"),
        ("patch", "needs a file"),
        ("patch:/nowhere.patch", "cannot be read"),
        ("command:", "needs a command line"),
        ("command:'", "cannot be read"),
        ("noop:x", "takes neither"),
    ],
)
def test_a_bad_agent_gets_one_message(proctor: Proctor, make_contract: Any, agent: str, says: str) -> None:
    done = proctor("run", make_contract(), "--agent", agent)
    assert done.returncode == 2
    assert says in done.stderr
    assert "Traceback" not in done.stderr


@pytest.mark.parametrize("option", ["--agent", "--model"])
def test_an_agent_or_model_that_is_given_twice_is_refused(proctor: Proctor, make_contract: Any, option: str) -> None:
    agents = ["--agent", "noop", *(("--agent", "noop") if option == "--agent" else ("--model", "a/b") * 2)]
    done = proctor("run", make_contract(), *agents)
    assert done.returncode == 2
    assert f"{option} {agents[-1]}: given more than once\n" in done.stderr
    assert not json.loads(proctor("runs", "--json").stdout)["runs"]


def test_a_patch_comes_without_other_files(proctor: Proctor, make_contract: Any, tmp_path: Path) -> None:
    (tmp_path / "files").mkdir()
    patch = ["--agent", "patch:/fix.patch", "--agent-files", tmp_path / "files"]
    done = proctor("run", make_contract(), *patch)
    assert done.returncode == 2
    assert done.stderr == "proctor: --agent-files: cannot be used by patch:/fix.patch\n  leave out --agent-files\n"


def test_agents_that_take_no_files_are_named_among_those_that_do(
    proctor: Proctor, make_contract: Any, tmp_path: Path
) -> None:
    (tmp_path / "files").mkdir()
    agents = ["--agent", "noop", "--agent", "command:true", "--agent", "codex"]
    done = proctor("run", make_contract(), *agents, "--agent-files", tmp_path / "files")
    assert done.returncode == 2
    assert done.stderr.startswith("proctor: --agent-files: cannot be used by noop, codex\n  run these agents without")


def test_an_agent_is_not_handed_the_home_or_the_contract(proctor: Proctor, make_contract: Any, tmp_path: Path) -> None:
    contract = make_contract()
    for files in (tmp_path / "home", tmp_path, contract):
        done = proctor("run", contract, "--agent", "command:true", "--agent-files", files)
        assert done.returncode == 2
        assert " overlap" in done.stderr


def test_a_full_disk_is_no_defect() -> None:
    with open("/dev/full", "w") as full:
        done = subprocess.run(
            [sys.executable, "-m", "proctor", "schema"], stdout=full, stderr=subprocess.PIPE, text=True
        )
    assert done.returncode == 3
    assert (
        done.stderr.startswith("proctor: out of space: No space left on device\n  free some space")
        and "defect" not in done.stderr
    )


@pytest.mark.parametrize("group", ["agents", "image", "keys", "pilot", "vault"])
def test_the_help_of_a_group_says_the_whole_of_what_each_command_is_for(proctor: Proctor, group: str) -> None:
    shown = proctor(group, "--help").stdout.partition("Commands:\n")[2]
    assert shown and [line for line in shown.splitlines() if line.endswith("...")] == []
