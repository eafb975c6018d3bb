"""The folder of a plan: written once, found again, refused when the pilot changed, and broken when it was touched."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from proctor.base.canonical import canonical, parse, sha256
from proctor.base.errors import BrokenSeal, UsageFault
from proctor.study.pilot.plan.frozen_plan import (
    Plan,
    amend,
    changed_lines,
    freeze,
    journal_log,
    load_plan,
    note_amendments,
)
from proctor.study.pilot.plan.protocol import design_of
from proctor.study.pilot.plan.randomisation import randomise, to_csv
from tests.english import english
from tests.study.pilot.planning import protocol


def artefacts(wanted: Mapping[str, Any]) -> dict[str, bytes]:
    """The order, and one more file that stands for the rest."""
    return {"randomisation.csv": to_csv(randomise(design_of(wanted))), "power.json": canonical(wanted["power"])}


def frozen(folder: Path, **parts: Any) -> Plan:
    wanted = protocol(**parts)
    return freeze(folder, wanted, lambda: artefacts(wanted))


def amended(plan: Plan, runs: int = 0, why: str = "because", **parts: Any) -> Plan:
    wanted = protocol(**parts)
    return amend(plan, wanted, lambda: artefacts(wanted), why, "2026-03-07T12:00:00Z", runs)


def contents(folder: Path) -> dict[str, bytes]:
    return {str(path.relative_to(folder)): path.read_bytes() for path in sorted(folder.rglob("*")) if path.is_file()}


def test_the_digest_is_that_of_the_protocol(tmp_path: Path) -> None:
    plan = frozen(tmp_path / "plan")
    data = (tmp_path / "plan/protocol.json").read_bytes()
    assert plan.digest == sha256(data)
    assert plan.slots == randomise(design_of(protocol()))
    manifest = parse((tmp_path / "plan/manifest.json").read_bytes())
    assert manifest["protocol"] == plan.digest
    assert manifest["artefacts"]["power.json"] == sha256(canonical("0.8"))
    assert (manifest["seeds"]["planned"], manifest["seeds"]["observed"]) == (20260307, 20260307)


def test_planning_again_changes_nothing(tmp_path: Path) -> None:
    frozen(tmp_path / "plan")
    before = contents(tmp_path / "plan")
    wanted = protocol()
    freeze(tmp_path / "plan", wanted, lambda: pytest.fail("made again"))
    assert contents(tmp_path / "plan") == before
    frozen(tmp_path / "other")
    assert contents(tmp_path / "other") == before


def test_a_change_is_refused_by_its_field_and_leaves_the_plan(tmp_path: Path) -> None:
    frozen(tmp_path / "plan")
    before = contents(tmp_path / "plan")
    with pytest.raises(UsageFault) as error:
        frozen(tmp_path / "plan", alpha="0.01", runs_per_task=4)
    assert "alpha: 0.05 -> 0.01" in str(error.value)
    assert "runs_per_task: 3 -> 4" in str(error.value)
    assert "proctor pilot amend" in error.value.hint
    assert contents(tmp_path / "plan") == before


def test_what_came_or_went_as_a_whole_is_one_line(tmp_path: Path) -> None:
    plan = frozen(tmp_path / "plan")
    tasks, methods = protocol()["tasks"], protocol()["methods"]
    assert changed_lines(plan, protocol()) == []
    assert changed_lines(plan, protocol(tasks=tasks[1:])) == ["tasks[a]: removed"]
    other = {**methods[0], "name": "z"}
    assert changed_lines(plan, protocol(methods=[*methods, other])) == ["methods[z]: added"]
    assert changed_lines(plan, protocol(tasks=tasks[::-1]))[0].startswith("tasks (order): ")
    with pytest.raises(UsageFault) as error:
        frozen(tmp_path / "plan", tasks=tasks[1:])
    assert error.value.hint.endswith("once there are runs, only proctor pilot remove can remove a task")


def test_a_crash_before_the_end_leaves_no_plan(tmp_path: Path) -> None:
    frozen(tmp_path / "plan")
    (tmp_path / "plan/protocol.json").unlink()
    with pytest.raises(UsageFault, match="not planned yet"):
        load_plan(tmp_path / "plan")
    assert frozen(tmp_path / "plan", alpha="0.01").protocol["alpha"] == "0.01"


def test_a_folder_with_other_things_is_left_alone(tmp_path: Path) -> None:
    (tmp_path / "notes.txt").write_text("mine")
    with pytest.raises(UsageFault, match=r"other things, such as notes\.txt"):
        frozen(tmp_path)
    assert list(contents(tmp_path)) == ["notes.txt"]


CHANGED = {
    "protocol.json": (b'"alpha":"0.05"', b'"alpha":"0.06"'),
    "manifest.json": (b'"observed":20260307', b'"observed":20260308'),
    "randomisation.csv": (b",x\n", b",y\n"),
    "power.json": (b"0.8", b"0.9"),
}
TOUCHED = [
    (name, touch)
    for name in CHANGED
    for touch in ("changed", "longer", "emptied", "gone")
    if (name, touch) != ("protocol.json", "gone")
]
"""Without its protocol a folder is none of a plan, which another test shows."""


@pytest.mark.parametrize(("name", "touch"), TOUCHED)
def test_a_file_that_was_touched_breaks_the_seal(name: str, touch: str, tmp_path: Path) -> None:
    frozen(tmp_path)
    file = tmp_path / name
    before = file.read_bytes()
    if touch == "gone":
        file.unlink()
    else:
        changed = before.replace(*CHANGED[name], 1)
        assert changed != before
        file.write_bytes({"changed": changed, "longer": before + b" ", "emptied": b""}[touch])
    with pytest.raises(BrokenSeal) as error:
        load_plan(tmp_path)
    assert error.value.exit_code == 4
    assert error.value.where in (str(file), str(tmp_path / "protocol.json"))


def test_a_protocol_with_a_manifest_to_match_is_no_longer_the_pilot(tmp_path: Path) -> None:
    """Whoever writes both files anew has another pilot: its file says otherwise, and runs carry the old digest."""
    plan = frozen(tmp_path)
    data = (tmp_path / "protocol.json").read_bytes().replace(b'"alpha":"0.05"', b'"alpha":"0.10"')
    manifest = parse((tmp_path / "manifest.json").read_bytes())
    (tmp_path / "protocol.json").write_bytes(data)
    (tmp_path / "manifest.json").write_bytes(canonical({**manifest, "protocol": sha256(data)}))
    assert load_plan(tmp_path).digest != plan.digest
    with pytest.raises(UsageFault, match=r"alpha: 0\.10 -> 0\.05"):
        frozen(tmp_path)


def test_an_amendment_keeps_the_digest_and_is_shown(tmp_path: Path) -> None:
    plan = frozen(tmp_path, budgets={**protocol()["budgets"], "task_usd": "60.00"})
    before = (tmp_path / "protocol.json").read_bytes()
    more = {"budgets": {**protocol()["budgets"], "pilot_usd": "200.00", "task_usd": "70.00"}}
    once = amended(plan, 5, "the budget rose", **more)
    assert (once.digest, once.protocol["budgets"]["pilot_usd"], once.slots) == (plan.digest, "200.00", plan.slots)
    assert (tmp_path / "protocol.json").read_bytes() == before
    assert english(once.deviations) == [
        "Amendment 1 of 2026-03-07T12:00:00Z, after 5 runs, changed budgets.pilot_usd: 100.00 -> 200.00; "
        "budgets.task_usd: 60.00 -> 70.00. Reason: the budget rose"
    ]
    twice = amended(once, 9, "and alpha fell", alpha="0.01", **more)
    assert [one["number"] for one in twice.amendments] == [1, 2]
    assert twice.amendments[0]["previous"] == plan.digest
    assert twice.amendments[1]["previous"] == sha256((tmp_path / "amendments/001.json").read_bytes())
    assert load_plan(tmp_path) == twice
    assert (twice.protocol["alpha"], twice.current) == ("0.01", tmp_path / "amendments/002")


def test_an_amended_pilot_is_found_again(tmp_path: Path) -> None:
    plan = amended(frozen(tmp_path), alpha="0.01")
    assert frozen(tmp_path, alpha="0.01") == plan
    with pytest.raises(UsageFault, match=r"alpha: 0\.01 -> 0\.05"):
        frozen(tmp_path)


def test_a_plan_of_an_earlier_version_with_sentences_is_still_the_same(tmp_path: Path) -> None:
    plan = frozen(tmp_path, deviations=["There is another."])
    assert plan.deviations == frozen(tmp_path / "now").deviations
    assert changed_lines(plan, protocol()) == []
    with pytest.raises(UsageFault, match="nothing has changed"):
        amended(plan)


def test_an_amendment_needs_a_change_and_a_reason(tmp_path: Path) -> None:
    plan = frozen(tmp_path)
    with pytest.raises(UsageFault, match="nothing has changed"):
        amended(plan)
    with pytest.raises(UsageFault, match="needs a reason"):
        amended(plan, why=" ", alpha="0.01")
    assert not (tmp_path / "amendments").exists()


def test_once_there_are_runs_the_suite_stays(tmp_path: Path) -> None:
    plan = frozen(tmp_path)
    fewer = protocol()["tasks"][:3]
    stages = {"one": {"tasks": 2, "runs": 1}, "two": {"tasks": 3, "runs": 2}, "three": {"tasks": 3, "runs": 3}}
    with pytest.raises(UsageFault, match="1 runs were made, and the frozen suite cannot change"):
        amended(plan, 1, tasks=fewer, stages=stages)
    assert len(amended(plan, 0, tasks=fewer, stages=stages).protocol["tasks"]) == 3


ANOTHER_BASELINE = {**protocol()["methods"][2], "name": "reference"}
MORE_RUNS = {"runs_per_task": 4, "stages": {**protocol()["stages"], "three": {"tasks": 4, "runs": 4}}}
FEWER_RUNS = {"runs_per_task": 2, "stages": {**protocol()["stages"], "three": {"tasks": 4, "runs": 2}}}


@pytest.mark.parametrize(
    ("words", "parts"),
    [
        ("the question stays", {"pilot": {**protocol()["pilot"], "question": "Is x as good as anybody?"}}),
        ("the name stays", {"pilot": {**protocol()["pilot"], "name": "other"}}),
        ("the comparison stays", {"comparison": None}),
        ("the comparison stays", {"comparison": {"candidate": "y", "against": "x"}}),
        ("methods and baselines cannot be added or removed", {"methods": protocol()["methods"][1:]}),
        ("methods and baselines cannot be added or removed", {"methods": [*protocol()["methods"], ANOTHER_BASELINE]}),
        ("the number of runs of a task cannot change", MORE_RUNS),
        (
            "methods cannot change",
            {"methods": [{**protocol()["methods"][0], "digest": "e"}, *protocol()["methods"][1:]]},
        ),
        ("the stages stay", {"stages": {**protocol()["stages"], "two": {"tasks": 4, "runs": 3}}}),
        ("the rule for flakes cannot change", {"flakes": {"tolerance": "0.1", "runs": 5}}),
        ("the looks stay", {"stopping": {**protocol()["stopping"], "looks": ["0.25", "1"]}}),
        ("the endpoint stays", {"endpoints": {"primary": "intention-to-treat", "secondary": []}}),
        ("alpha may not rise above 0.05", {"alpha": "0.051"}),
        ("the minimum effect may not fall below 0.2", {"minimum_effect": "0.19"}),
        ("the number of runs of a task cannot change", FEWER_RUNS),
        ("the seed stays", {"seeds": {**protocol()["seeds"], "observed": 7}}),
        ("the number of retries cannot change", {"retries": 0}),
        ("the number of retries cannot change", {"retries": 2}),
        ("violations that end the pilot may not rise above 3", {"stopping": {"violations": 4, "looks": []}}),
        ("the variations stay", {"variations": [{"name": "late", "seed": None, "preface": "sha256:1"}]}),
        ("the cap of a run cannot change", {"budgets": {**protocol()["budgets"], "run_usd": "0.10"}}),
        ("the budget of a task may only rise", {"budgets": {**protocol()["budgets"], "task_usd": "9.00"}}),
        ("the budget of the pilot may only rise", {"budgets": {**protocol()["budgets"], "pilot_usd": "99"}}),
    ],
)
def test_once_there_are_runs_nobody_chooses_what_they_show(words: str, parts: dict[str, Any], tmp_path: Path) -> None:
    plan = frozen(tmp_path, minimum_effect="0.2")
    wanted = {"minimum_effect": "0.2", **parts}
    with pytest.raises(
        UsageFault, match=f"8 runs were made, and the rules of the decision were fixed before them: {words}"
    ):
        amended(plan, 8, **wanted)
    assert not (tmp_path / "amendments").exists()
    assert len(amended(plan, 0, **wanted).amendments) == 1
    stricter = amended(frozen(tmp_path / "other", minimum_effect="0.2"), 8, alpha="0.049", minimum_effect="0.21")
    assert len(stricter.amendments) == 1
    assert (
        len(
            amended(
                stricter, 8, stopping={"violations": 2, "looks": []}, minimum_effect="0.21", alpha="0.01"
            ).amendments
        )
        == 2
    )


@pytest.mark.parametrize("part", ["seeds", "pilot", "artefacts"])
def test_a_protocol_of_another_form_breaks_the_seal(part: str, tmp_path: Path) -> None:
    frozen(tmp_path)
    whole, manifest = (parse((tmp_path / name).read_bytes()) for name in ("protocol.json", "manifest.json"))
    values: tuple[dict[str, Any], ...] = ({part: None}, {part: []}, {})
    for value in values:
        data = canonical({**{name: inner for name, inner in whole.items() if name != part}, **value})
        (tmp_path / "protocol.json").write_bytes(data)
        (tmp_path / "manifest.json").write_bytes(canonical({**manifest, "protocol": sha256(data)}))
        with pytest.raises(BrokenSeal, match=r"not a protocol as Proctor writes it|the manifest is not the one"):
            load_plan(tmp_path)


def _first(folder: Path) -> dict[str, Any]:
    found: dict[str, Any] = parse((folder / "amendments/001.json").read_bytes())
    return found


def _rewrite(folder: Path, **fields: Any) -> None:
    (folder / "amendments/001.json").write_bytes(canonical({**_first(folder), **fields}))


def touched(attack: str, folder: Path) -> None:
    """Break the records of two amendments in one way."""
    place = folder / "amendments"
    if attack == "the reason of the first is rewritten":
        _rewrite(folder, why="something nicer")
    elif attack == "the count of runs is rewritten":
        _rewrite(folder, after_runs=0)
    elif attack == "the first is taken out":
        (place / "001.json").unlink()
    elif attack == "the changes are rewritten":
        _rewrite(folder, changed=[])
        second = parse((place / "002.json").read_bytes())
        link = sha256((place / "001.json").read_bytes())
        (place / "002.json").write_bytes(canonical({**second, "previous": link}))
    elif attack == "an artefact in force is changed":
        (place / "002/randomisation.csv").write_bytes(b"order\n")
    elif attack == "the folder in force is written anew":
        for path in (place / "002").iterdir():
            path.unlink()
        freeze(place / "002", protocol(alpha="0.01"), lambda: {**artefacts(protocol()), "power.json": b"other"})
    elif attack == "the protocol in force is changed":
        (place / "002/protocol.json").write_bytes((folder / "protocol.json").read_bytes())
    else:
        (folder / "protocol.json").unlink()


@pytest.mark.parametrize(
    "attack",
    [
        "the reason of the first is rewritten",
        "the count of runs is rewritten",
        "the first is taken out",
        "the changes are rewritten",
        "an artefact in force is changed",
        "the folder in force is written anew",
        "the protocol in force is changed",
        "the first protocol is taken away",
    ],
)
def test_amendments_that_were_touched_break_the_seal(attack: str, tmp_path: Path) -> None:
    amended(amended(frozen(tmp_path), 3, alpha="0.02"), 5, alpha="0.01")
    touched(attack, tmp_path)
    with pytest.raises(BrokenSeal):
        load_plan(tmp_path)


def test_a_gap_between_amendments_is_named(tmp_path: Path) -> None:
    amended(amended(frozen(tmp_path), 3, alpha="0.02"), 5, alpha="0.01")
    (tmp_path / "amendments/001.json").unlink()
    with pytest.raises(BrokenSeal, match="amendment 1 is missing"):
        load_plan(tmp_path)


def test_a_last_amendment_that_is_taken_away_is_on_record(tmp_path: Path) -> None:
    amended(frozen(tmp_path), alpha="0.01")
    kept = (tmp_path / "amendments").rename(tmp_path / "elsewhere")
    for alpha in ("0.05", "0.01"):
        with pytest.raises(BrokenSeal, match="amendment 1 is recorded, but missing"):
            frozen(tmp_path, alpha=alpha)
    kept.rename(tmp_path / "amendments")
    assert len(load_plan(tmp_path).amendments) == 1


def test_an_amendment_in_the_place_of_another_is_refused(tmp_path: Path) -> None:
    amended(frozen(tmp_path / "plan"), alpha="0.01")
    amended(frozen(tmp_path / "other"), alpha="0.04")
    (tmp_path / "plan/amendments").rename(tmp_path / "gone")
    (tmp_path / "other/amendments").rename(tmp_path / "plan/amendments")
    with pytest.raises(BrokenSeal, match="amendment 1 is recorded, but differs from its record"):
        load_plan(tmp_path / "plan")


def test_an_amendment_that_is_older_than_notes_is_read_and_noted_with_the_next(tmp_path: Path) -> None:
    plan = amended(frozen(tmp_path), alpha="0.01")
    (tmp_path / "journal.jsonl").unlink()
    assert len(load_plan(tmp_path).amendments) == 1
    amended(plan, alpha="0.02")
    assert [entry.record["number"] for entry in journal_log(plan).read()] == [1, 2]
    note_amendments(load_plan(tmp_path))
    assert len(journal_log(plan).read()) == 2, "and each only once"
