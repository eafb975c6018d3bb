"""``proctor pilot run``, ``status`` and ``remove`` as a user calls them."""

from __future__ import annotations

import json
import shutil
import signal
import subprocess
from pathlib import Path
from typing import Any

import pytest

from tests.beside import started, stopped, wait_until
from tests.english import english
from tests.study.pilot.live import Proctor, planned, run, runs_in, write_pilot

EMPTY = {"id": "adds", "gate": "acceptance", "run": ["/bin/true"], "timeout_seconds": 60}
COIN = {
    "id": "adds",
    "gate": "acceptance",
    "run": ["/bin/sh", "-c", "test $PROCTOR_SEED = 20260307 && python3 -c 'import calc; assert calc.add(2, 2) == 4'"],
    "timeout_seconds": 60,
}
"""A check that holds under the declared seed only."""


def removal(proctor: Proctor, file: Path, task: str, reason: str, *runs: str) -> subprocess.CompletedProcess[str]:
    evidence = [word for name in runs for word in ("--evidence", name)]
    return proctor("pilot", "remove", file, task, "--reason", reason, *evidence, "--why", "It says nothing.", "--json")


def test_a_broken_oracle_holds_the_pilot_up_until_it_is_removed_with_evidence(
    proctor: Proctor, make_contract: Any, tmp_path: Path
) -> None:
    contracts = [make_contract("good"), make_contract("fine"), make_contract("broken", checks=[EMPTY])]
    file = write_pilot(tmp_path, contracts, runs_per_task=1, stages={"one": {"tasks": 3}})
    planned(proctor, file)
    told = proctor("pilot", "run", file)
    assert told.returncode == 1
    assert "noop-fails" in told.stdout
    assert "not broken (" in told.stdout
    assert "proctor pilot remove" in told.stdout
    home = tmp_path / "home"
    checks = {(one["report"]["contract"]["name"], one["method"]): one["run"] for one in runs_in(home)}
    assert len(checks) == 6, "a stage that is refused runs nothing"
    assert "  broken  reference  success" in told.stderr, "a line tells whose run it was"
    assert "\npilot        noop, stage checks, repeat 1 of sha256:" in proctor("show", checks["good", "noop"]).stdout
    noop, solved = checks["broken", "noop"], checks["broken", "reference"]
    for words, reason, shown in (
        ("a run that shows nothing wrong", "broken-oracle", solved),
        ("another reason", "flaky", noop),
        ("a run of another task", "broken-oracle", checks["good", "noop"]),
    ):
        done = removal(proctor, file, "broken", reason, shown)
        assert done.returncode == 2, words
        assert json.loads(done.stderr)["exit_code"] == 2, words
    copy = tmp_path / "copied" / "runs" / noop
    shutil.copytree(home / "runs" / noop, copy)
    own = proctor("run", contracts[2], "--agent", "noop")
    stray = next(path for path in (home / "runs").iterdir() if path.name not in checks.values())
    assert own.returncode == 0, own.stderr
    for words, shown in (("a copy in another home", str(copy)), ("a run that is not the pilot's", stray.name)):
        done = removal(proctor, file, "broken", "broken-oracle", shown)
        assert done.returncode == 2 and "not a run of this pilot in this home" in done.stderr, (words, done.stderr)
    removed = removal(proctor, file, "broken", "broken-oracle", noop)
    assert removed.returncode == 0, removed.stderr
    record = json.loads(removed.stdout)
    assert record["found"] == {"code": "no-op-succeeded", "run": noop}
    assert record["after_runs"] == 6
    assert [one["run"] for one in record["evidence"]] == [noop]
    code, answer = run(proctor, file)
    assert code == 0, answer
    assert {place["task"] for stage in answer["stages"] for place in stage["places"]} == {"good", "fine"}
    status = json.loads(proctor("pilot", "status", file, "--json").stdout)
    assert any("broken was removed after 6 runs and not replaced" in text for text in english(status["deviations"]))


@pytest.mark.soak
def test_a_flaky_task_is_screened_and_removed_by_its_screen(
    proctor: Proctor, make_contract: Any, tmp_path: Path
) -> None:
    contracts = [make_contract("good"), make_contract("fine"), make_contract("coin", checks=[COIN])]
    file = write_pilot(tmp_path, contracts, runs_per_task=1, flakes={"runs": 3})
    plan = planned(proctor, file)
    told = proctor("pilot", "run", file)
    assert told.returncode == 1
    assert "flakes" in told.stdout and "coin (1 of 3 attempts at adds deviate)" in told.stdout
    removed = removal(proctor, file, "coin", "flaky")
    assert removed.returncode == 0, removed.stderr
    assert json.loads(removed.stdout)["found"]["code"] == "screen-deviates"
    journal = plan / "journal.jsonl"
    lines = journal.read_bytes().splitlines(keepends=True)
    journal.write_bytes(b"".join(lines[:-2] + lines[-1:]))
    assert proctor("pilot", "status", file).returncode == 4, "a record that was left out shows"
    journal.write_bytes(b"".join(lines))
    assert run(proctor, file)[0] == 0


def test_an_interrupted_pilot_says_how_it_goes_on(proctor: Proctor, make_contract: Any, tmp_path: Path) -> None:
    contracts = [make_contract("one"), make_contract("two")]
    file = write_pilot(tmp_path, contracts, methods=[{"name": "slow", "agent": "command:sleep 1000"}])
    planned(proctor, file)
    home = tmp_path / "home"
    with started(home, "pilot", "run", file, "--jobs", "2") as child:
        wait_until(lambda: any(one["method"] == "slow" for one in runs_in(home, sealed=False)), child)
        looked = json.loads(proctor("pilot", "status", file, "--json").stdout)
        second = proctor("pilot", "run", file)
        code, errors = stopped(child, signal.SIGINT)
    assert looked["busy"] is True
    assert second.returncode == 2 and "the pilot is still running" in second.stderr
    assert code == 3, errors
    assert f"proctor pilot run {file} --jobs 2\n" in errors
    after = json.loads(proctor("pilot", "status", file, "--json").stdout)
    assert after["busy"] is False and after["running"] == []
    assert after["verdict"] == "open"
    told = proctor("pilot", "status", file).stdout
    assert "\nwaiting   stage one is not running; proctor pilot run PILOT continues\n" in told
    file.rename(tmp_path / "moved.yaml")
    moved = proctor("pilot", "status", file)
    assert moved.returncode == 0 and "\nchanged   the pilot file is not there\n" in moved.stdout, moved.stderr
    moved = proctor("pilot", "status", tmp_path / "moved.yaml", "--plan", file.with_suffix(".plan"))
    assert moved.returncode == 0 and "\nchanged " not in moved.stdout


def test_status_for_people(proctor: Proctor, make_contract: Any, tmp_path: Path) -> None:
    file = write_pilot(tmp_path, [make_contract("one"), make_contract("two")], **FEW)
    unplanned = proctor("pilot", "status", file)
    assert unplanned.returncode == 2 and "proctor pilot plan" in unplanned.stderr
    planned(proctor, file)
    fresh = proctor("pilot", "status", file)
    assert fresh.returncode == 0, fresh.stderr
    assert "stage one not begun" in fresh.stdout and "refused" not in fresh.stdout and "not tried" in fresh.stdout
    assert "changed" not in fresh.stdout
    nowhere = proctor("pilot", "status", file, PROCTOR_HOME=str(tmp_path / "nowhere"))
    assert nowhere.returncode == 0 and not (tmp_path / "nowhere").exists(), "no home is made to look at a pilot"
    write_pilot(tmp_path, [tmp_path / "contracts" / "one"], **FEW)
    other = proctor("pilot", "status", file)
    assert other.returncode == 0 and "\nchanged   tasks[two]: removed\n" in other.stdout, other.stdout
    assert "proctor pilot run refuses the pilot" in other.stdout
    refused = proctor("pilot", "run", file)
    assert refused.returncode == 2 and "\n  tasks[two]: removed\n" in refused.stderr
    assert "only proctor pilot remove can remove a task" in refused.stderr and "caps" not in refused.stderr
    write_pilot(tmp_path, [tmp_path / "contracts" / "one", tmp_path / "contracts" / "two"], **FEW)
    assert run(proctor, file)[0] == 0
    journal = file.with_suffix(".plan") / "journal.jsonl"
    kept = journal.read_bytes()
    journal.unlink()
    cut = proctor("pilot", "plan", file)
    assert cut.returncode == 4 and "the journal was cut" in cut.stderr
    journal.write_bytes(kept)
    assert proctor("pilot", "plan", file).returncode == 0
    mistaken = proctor("pilot", "report", file, "--out", file.with_suffix(".plan"))
    assert mistaken.returncode == 2 and "name the folder of the plan with --plan" in mistaken.stderr
    told = proctor("pilot", "status", file, "--watch").stdout
    for words in ("complete", "fixer", "2     0", "envelope  pilot", "envelope  task", "rule      efficacy", "no more"):
        assert words in told, (words, told)
    assert "UNITS\n" in told and " of 100,000 units, set as 100.00 USD\n" in told
    assert "USD" not in told.replace("set as 100.00 USD", "").replace("set as 50.00 USD", ""), "there are no prices"


FEW: dict[str, Any] = {
    "budgets": {"pilot_usd": "100.00", "task_usd": "50.00"},
    "stopping": {"efficacy": {"looks": ["0.5", "1"]}},
    "runs_per_task": 1,
}


@pytest.mark.parametrize(
    ("words", "code"),
    [
        (["pilot", "run", "nowhere.yaml"], 2),
        (["pilot", "status", "nowhere.yaml"], 2),
        (["pilot", "remove", "nowhere.yaml", "x", "--reason", "flaky", "--why", "so"], 2),
        (["pilot", "remove", "nowhere.yaml", "x", "--reason", "too-hard", "--why", "so"], 2),
        (["pilot", "run"], 2),
    ],
)
def test_bad_input_gets_one_message(words: list[str], code: int, proctor: Proctor) -> None:
    done = proctor(*words)
    assert done.returncode == code
    assert done.stderr.strip() and "Traceback" not in done.stderr
    if "too-hard" not in words and "nowhere.yaml" in words:
        assert "nowhere.yaml: does not exist" in done.stderr and "name the YAML file of a pilot" in done.stderr
