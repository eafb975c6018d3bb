"""The report of a whole pilot: what it says, that it says it again byte by byte, and what it refuses."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any

import pytest

from proctor.present.sentences import joined
from tests.present.html.linked import check_numbers
from tests.study.pilot.live import Proctor, planned, run, runs_in, write_pilot


@pytest.fixture
def pilot(proctor: Proctor, make_contract: Any, tmp_path: Path) -> Path:
    """A pilot of a fixer against an idler on three tasks, run to its end."""
    comparison = {"candidate": "fixer", "against": "idler"}
    contracts = [make_contract(name) for name in ("one", "two", "three")]
    file = write_pilot(tmp_path, contracts, comparison=comparison)
    planned(proctor, file)
    code, answer = run(proctor, file)
    assert code == 0, answer
    return file


def report(proctor: Proctor, file: Path, *more: Any) -> dict[str, Any]:
    done = proctor("pilot", "report", file, "--json", *more)
    assert done.returncode == 0, done.stderr
    found: dict[str, Any] = json.loads(done.stdout)
    return found


def content(folder: Path) -> dict[str, bytes]:
    paths = (path for path in folder.rglob("*") if path.is_file())
    return {str(path.relative_to(folder)): path.read_bytes() for path in paths if path.suffix != ".parquet"}


def test_a_pilot_is_reported_again_byte_by_byte_held_against_another_and_refused_when_touched(
    proctor: Proctor, pilot: Path, tmp_path: Path
) -> None:
    found = report(proctor, pilot)
    first = content(pilot.with_suffix(".report"))
    assert {"report.html", "report.md", "findings.json", "csv/agents.csv", "csv/pairs.csv"} <= first.keys()
    rates = {agent["agent"]: agent["success"]["value"] for agent in found["agents"]}
    assert rates == {"fixer": 1.0, "idler": 0.0}, "baselines are not among those that are compared"
    assert [(one["method"], one["success"]["value"], one["held"]) for one in found["baselines"]] == [
        ("noop", 0.0, True),
        ("reference", 1.0, True),
    ]
    assert (found["headline"]["best"], found["headline"]["against"]) == ("fixer", "idler")
    counted = [one for one in runs_in(tmp_path / "home") if one["method"] in ("fixer", "idler")]
    assert {one["run"] for one in found["runs"]} == {one["run"] for one in counted if one["stage"] != "checks"}
    assert found["question"]["pilot"] == counted[0]["pilot"]
    assert found["question"]["text"] == "Does it work?"
    for page, verdict in (("report.html", 'class="verdict'), ("report.md", "**adopt")):
        above, _, below = first[page].decode().partition(verdict)
        assert below and "Does it work?" in above, f"{page}: the question stands above the verdict"
    assert [one["stage"] for one in found["appendix"]["stages"]] == ["one", "two", "three"]
    spent = json.loads(proctor("pilot", "status", pilot, "--json").stdout)["spent_usd"]
    assert found["bill"]["total_usd"] == pytest.approx(float(spent), rel=1e-11)
    again = proctor("analyse", pilot.with_suffix(".report") / "csv" / "runs.csv", "--against", "idler").stdout
    assert f"cost: {joined(found['headline']['cost'])}\n" in again and "units per run" in again, "units stay units"
    assert found["plan"]["power"]["curves"]
    assert found["plan"]["projection"]["points"][-1][0] == 24
    assert check_numbers(pilot.with_suffix(".report"))["the head of the page"] == 12
    assert str(tmp_path) not in first["report.html"].decode() + first["findings.json"].decode()
    report(proctor, pilot, "--out", tmp_path / "again")
    assert content(tmp_path / "again") == first

    found = report(proctor, pilot, "--against", tmp_path / "again")
    rows = {row["agent"]: row["difference"]["value"] for row in found["versus"]["rows"]}
    assert rows == {"fixer": 0.0, "idler": 0.0, "noop": 0.0, "reference": 0.0}
    assert found["versus"]["notes"][0] == {"code": "shared-tasks", "tasks": 3}
    many = int(found["plan"]["projection"]["points"][-1][0])
    assert found["versus"]["notes"][1] == {"code": "same-runs", "runs": many}
    assert found["versus"]["name"] == "A trial"
    counts = {"planned": many, "counted": many, "planned_for_removed": 0}
    assert found["progress"] == {**counts, "complete": True, "removed": [], "held_up": None}
    over = proctor("pilot", "report", pilot, "--against", pilot.with_suffix(".report"))
    assert (over.returncode, "would be overwritten" in over.stderr) == (2, True)
    told = proctor("pilot", "report", pilot, "--against", tmp_path / "again").stdout
    assert f"against A trial (earlier report, {many} runs):\n  fixer: 100.0% (" in told
    assert told.count(" after, +0.0 (") == 4, "a line for each agent and baseline"
    assert f"\n  Both reports are about the same {many} runs.\n" in told
    assert "not complete" not in told
    assert told.startswith("Does it work?\n")
    for text in (told, first["report.md"].decode(), first["report.html"].decode()):
        assert "Smallest difference worth a change: 80 points." in text
    assert "A trial" in (pilot.with_suffix(".report") / "report.html").read_text()

    for foreign in (b"[]", b'{"appendix": 1}', b"no JSON"):
        (tmp_path / "again" / "findings.json").write_bytes(foreign)
        done = proctor("pilot", "report", pilot, "--against", tmp_path / "again")
        assert (done.returncode, "holds no findings of a report" in done.stderr) == (2, True), done.stderr

    shutil.rmtree(tmp_path / "contracts" / "three")
    pilot.write_text(pilot.read_text().replace("Does it work?", "Did it work?"))
    done = proctor("pilot", "report", pilot, "--out", tmp_path / "alone")
    assert done.returncode == 0 and "changed since it was frozen, and not in this report: " in done.stderr
    pilot.unlink()
    done = proctor("pilot", "report", pilot, "--out", tmp_path / "alone")
    assert done.returncode == 0 and "the pilot file is not there" in done.stderr
    assert content(tmp_path / "alone") == first, "the plan and the runs are enough"

    path = next(one["path"] for one in runs_in(tmp_path / "home") if one["method"] == "idler")
    text = (path / "report.json").read_text()
    (path / "report.json").write_text(text.replace('"status":"failure"', '"status":"success"'))
    done = proctor("pilot", "report", pilot)
    assert done.returncode == 4
    assert path.name in done.stderr


def test_a_pilot_that_was_refused_on_the_way_says_so_wherever_it_is_read(
    proctor: Proctor, make_contract: Any, tmp_path: Path
) -> None:
    # So few tasks cannot show so small a difference: stage three, which asks for power, does not begin.
    asked = {"minimum_effect": "0.05", "power": "0.95", "alpha": "0.05"}
    file = write_pilot(tmp_path, [make_contract("one"), make_contract("two")], **asked)
    planned(proctor, file)
    assert run(proctor, file)[0] == 1
    told = proctor("pilot", "report", file).stdout
    words = "8 of 16 planned runs count. Stage three was refused because a criterion is not met: the plan has the power"
    assert told.startswith(f"This pilot is not complete: {words}")
    folder = file.with_suffix(".report")
    progress = json.loads((folder / "findings.json").read_bytes())["progress"]
    assert (progress["planned"], progress["counted"], progress["complete"]) == (16, 8, False)
    assert f"**This pilot is not complete:** {words}" in (folder / "report.md").read_text()
    assert f"<strong>This pilot is not complete: </strong>{words}" in (folder / "report.html").read_text()


def test_what_is_in_the_way_of_a_report_is_said(proctor: Proctor, make_contract: Any, tmp_path: Path) -> None:
    file = write_pilot(tmp_path, [make_contract("one"), make_contract("two")])
    unplanned = proctor("pilot", "report", file)
    assert unplanned.returncode == 2
    assert "proctor pilot plan" in unplanned.stderr
    planned(proctor, file)
    early = proctor("pilot", "report", file)
    assert (early.returncode, "no run of the pilot counts yet" in early.stderr) == (2, True)
    (tmp_path / "pilot.report").mkdir()
    (tmp_path / "pilot.report" / "thesis.txt").write_text("mine")
    occupied = proctor("pilot", "report", file)
    assert (occupied.returncode, "something other than a report" in occupied.stderr) == (2, True)
    astray = proctor("pilot", "report", file, "--out", tmp_path / "new", "--against", tmp_path)
    assert astray.returncode == 2
    assert "there is no report" in astray.stderr, "told before the runs are looked at, of which there are none"
    assert "Traceback" not in astray.stderr
    assert not (tmp_path / "new").exists()
