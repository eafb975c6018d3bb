"""Runs that do not fit: what was noted and is gone stops the pilot, and what the plan does not explain is told."""

from __future__ import annotations

import json
import shutil
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from proctor.base.errors import BrokenSeal, UsageFault
from proctor.execute.proctor_home import Home
from proctor.record.chained_log import ChainedLog
from proctor.study.pilot.ledger.journal import read_journal
from proctor.study.pilot.ledger.pilot_runs import CUT, Run, surplus
from proctor.study.pilot.ledger.run_consistency import departures, note, require_noted
from proctor.study.pilot.plan.frozen_plan import Plan, journal_log
from tests.english import english
from tests.study.pilot.live import Proctor, planned, run, runs_in, write_pilot
from tests.study.pilot.pilot_cases import SPOILT, STOPPED, arms, ledger, run_of

BOOK = ledger(arms())
PLAN = Plan(Path("/plan"), Path("/plan"), "sha256:p", arms(), BOOK.slots)
FIRST = next(slot for slot in BOOK.slots if slot.method == "x")
KINDS: dict[str, dict[str, Any]] = {"good": {}, "spoilt": SPOILT, "stopped": STOPPED, "cut": {"state": CUT}}


def told(*more: Run, counted: tuple[Run, ...] | None = None) -> list[str]:
    runs = (*BOOK.runs, *more)
    return list(english(list(departures(PLAN, runs, runs if counted is None else counted))))


def test_a_pilot_as_planned_has_no_departures() -> None:
    assert told() == []


@pytest.mark.parametrize(
    ("kinds", "retries", "unexplained"),
    [
        ("good", 1, 0),
        ("spoilt good", 1, 0),
        ("spoilt spoilt", 1, 0),
        ("cut stopped good", 0, 0),
        ("good cut stopped", 0, 0),
        ("good good", 1, 1),
        ("good spoilt", 3, 1),
        ("spoilt spoilt good", 1, 1),
        ("spoilt good", 0, 1),
        ("", 1, 0),
    ],
)
def test_runs_after_the_one_that_ended_a_place_are_not_explained(kinds: str, retries: int, unexplained: int) -> None:
    made = [run_of(FIRST, number, **KINDS[kind]) for number, kind in enumerate(kinds.split())]
    assert len(surplus(made, retries)) == unexplained


def test_a_second_sealed_run_of_a_place_is_told() -> None:
    (words,) = told(run_of(FIRST, 7))
    assert f"x on {FIRST.task}, repeat {FIRST.repeat}" in words
    assert run_of(FIRST, 7).run in words


def test_a_second_check_is_told() -> None:
    check = next(one for one in BOOK.runs if one.stage == "checks")
    (words,) = told(replace(check, run="again", begun=check.begun + 1))
    assert "the check of noop" in words and "again" in words


def test_a_run_without_a_place_in_the_plan_is_told() -> None:
    stray = replace(run_of(FIRST), run="stray", repeat=99)
    assert told(stray) == ["Runs with the pilot's digest that have no place in its plan: stray."]


def test_an_arm_with_several_agents_or_another_than_was_frozen_is_told() -> None:
    runs = [one for one in BOOK.runs if one.stage != "checks"]
    place = next(number for number, one in enumerate(runs) if one.method == "x")
    runs[place] = replace(runs[place], agent="sha256:other")
    several, another = told(counted=tuple(runs))
    assert several.startswith("The runs of x were made by 2 agents") and "sha256:other" in several
    assert another == f"Runs of x were made by another agent than the frozen one, d: {runs[place].run}."
    every = tuple(replace(one, agent="sha256:other") if one.method == "x" else one for one in runs)
    (another,) = told(counted=every)
    assert "another agent than the frozen one, d" in another


def test_a_persons_patches_differ_from_task_to_task_and_are_those_that_were_frozen() -> None:
    tasks = [{**task, "human_patch": f"sha256:{task['name']}-patch"} for task in arms()["tasks"]]
    human = {**arms()["methods"][2], "name": "human", "digest": ""}
    plan = replace(PLAN, protocol=arms(tasks=tasks, methods=[human]))
    runs = [replace(one, method="human", agent=f"sha256:{one.task}-patch") for one in BOOK.held() if one.method == "x"]
    assert list(departures(plan, (), runs)) == []
    runs[0] = replace(runs[0], agent="sha256:wrong")
    assert f"human on {runs[0].task}" in " ".join(english(list(departures(plan, (), runs))))


def test_a_text_before_the_task_that_was_not_frozen_is_told() -> None:
    varied = [{"name": "plain", "seed": None, "preface": ""}, {"name": "terse", "seed": None, "preface": "sha256:a"}]
    plan = replace(PLAN, protocol={**PLAN.protocol, "variations": varied})
    runs = [
        replace(run_of(FIRST), run=digest, variation="terse", preface=digest) for digest in ("sha256:a", "sha256:b")
    ]
    (words,) = english(list(departures(plan, BOOK.runs, runs)))
    assert words == "Runs under the variation terse had another text before their task than the plan: sha256:b."
    change = {"field": "variations[terse].preface", "before": "sha256:b", "after": "sha256:a"}
    assert list(departures(replace(plan, amendments=({"changed": [change]},)), BOOK.runs, runs)) == []
    plain = replace(run_of(FIRST), run="p", variation="plain", preface="sha256:a")
    (words,) = english(list(departures(plan, BOOK.runs, [plain])))
    assert words.startswith("Runs under the variation plain had another text")


def test_what_was_noted_must_be_there_with_its_seal(tmp_path: Path) -> None:
    home, one = Home(tmp_path), replace(run_of(FIRST), run="one", seal="sha256:1")
    require_noted(PLAN, home, {}, ())
    require_noted(PLAN, home, {"one": "sha256:1"}, (one,))
    with pytest.raises(BrokenSeal, match="missing \\(1\\): two"):
        require_noted(PLAN, home, {"one": "sha256:1", "two": "sha256:2"}, (one,))
    with pytest.raises(BrokenSeal, match="does not have the seal"):
        require_noted(PLAN, home, {"one": "sha256:2"}, (one,))
    with pytest.raises(BrokenSeal, match="does not have the seal"):
        require_noted(PLAN, home, {"one": "sha256:1"}, (replace(one, state=CUT, seal=""),))
    with pytest.raises(UsageFault, match="none of them is in this home"):
        require_noted(PLAN, home, {"one": "sha256:1"}, ())


def test_a_run_is_noted_once_as_soon_as_it_is_sealed(tmp_path: Path) -> None:
    sealed = replace(run_of(FIRST), run="one", seal="sha256:1")
    cut = replace(sealed, run="two", state=CUT, seal="")
    plan = replace(PLAN, folder=tmp_path, digest="sha256:" + "0" * 64)
    for one in (sealed, cut, sealed):
        note(plan, [one])
    assert dict(read_journal(plan).runs) == {"one": "sha256:1"}
    assert len(journal_log(plan).read()) == 1


def test_no_run_is_taken_away_or_doubled_and_no_amendment_taken_back(
    proctor: Proctor, make_contract: Any, tmp_path: Path
) -> None:
    contracts = [make_contract("one"), make_contract("two")]
    parts: dict[str, Any] = {"runs_per_task": 1, "baselines": {"reference": False}, "alpha": "0.4"}
    file = write_pilot(tmp_path, contracts, **parts)
    plan, home = planned(proctor, file), tmp_path / "home"
    assert run(proctor, file)[0] == 0

    def refused(*words: str) -> None:
        for command in ("run", "status", "report"):
            done = proctor("pilot", command, file)
            assert done.returncode == 4, (command, done.stdout, done.stderr)
            assert all(word in done.stderr for word in words) and "Traceback" not in done.stderr, done.stderr

    def deviations() -> list[str]:
        found: list[str] = english(json.loads(proctor("pilot", "status", file, "--json").stdout)["deviations"])
        return found

    made = runs_in(home)
    assert not [words for words in deviations() if "agent" in words or "sealed for" in words]
    lost = next(one for one in made if one["method"] == "idler")
    shutil.move(lost["path"], tmp_path / lost["run"])
    refused(lost["run"], "never repeated")
    shutil.move(tmp_path / lost["run"], lost["path"])
    assert run(proctor, file)[0] == 0 and len(runs_in(home)) == len(made)

    double = home / "runs" / (lost["run"][:-1] + ("0" if lost["run"][-1] != "0" else "1"))
    shutil.copytree(lost["path"], double)
    refused(double.name, "has another name")
    shutil.rmtree(double)

    journal = plan / "journal.jsonl"
    old = [json.loads(line)["record"] for line in journal.read_text().splitlines()]
    anchor = json.loads(proctor("pilot", "status", file, "--json").stdout)["pilot"].removeprefix("sha256:")
    journal.unlink()
    refused("the journal was cut", f"it had {len(old)} records and has 0", "restore the journal")
    (home / "pilot-heads.jsonl").unlink()
    for record in old:
        if record["kind"] == "proctor.pilot-screen":
            ChainedLog(journal, anchor=anchor).append(record)
    assert run(proctor, file)[0] == 0, "a journal that is older than notes is read"
    assert len(runs_in(home)) == len(made)
    shutil.move(lost["path"], tmp_path / lost["run"])
    refused(lost["run"])
    shutil.move(tmp_path / lost["run"], lost["path"])

    before = file.read_bytes()
    write_pilot(tmp_path, contracts, **{**parts, "alpha": "0.35"})
    assert proctor("pilot", "amend", file, "--why", "we would like it so").returncode == 0
    assert any("Amendment 1" in words for words in deviations())
    file.write_bytes(before)
    shutil.move(plan / "amendments", tmp_path / "amendments")
    refused("amendment 1 is recorded, but missing", "restore it from a copy")
