"""Repeats that differ as the pilot declares: in the agent's seed and in the text before its task, for all methods."""

from __future__ import annotations

import json
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from proctor.base.errors import ContractError
from proctor.conduct.briefing import setting_of, variables_of, variation_of
from proctor.study.pilot.plan.pilot_file import load_pilot
from proctor.study.pilot.plan.randomisation import Slot
from proctor.study.pilot.report.pilot_findings import variations_of
from tests.english import english
from tests.present.html.linked import check_numbers
from tests.study.pilot.live import FIXER, Proctor, planned, run, runs_in, write_pilot
from tests.study.pilot.report.test_status import stands

TERSE = "Answer in as few words as you can."
SAYS = "command:sh -c 'echo seed=$PROCTOR_SEED hash=$PYTHONHASHSEED; head -1 $PROCTOR_BRIEFING'"
DECLARED = [{"name": "plain"}, {"name": "terse", "seed": 7, "preface": "terse.md"}]


def test_repeats_take_turns() -> None:
    kept = setting_of([{"name": "a", "seed": None, "preface": ""}, {"name": "b", "seed": 7, "preface": "x"}])
    names = [(variation_of(kept, repeat) or {})["name"] for repeat in range(1, 6)]
    assert names == ["a", "b", "a", "b", "a"]
    assert setting_of(()) == {} and variation_of({}, 1) is None
    assert variables_of(variation_of(kept, 1) or {}) == {}
    assert variables_of(variation_of(kept, 2) or {}) == {"PROCTOR_SEED": "7", "PYTHONHASHSEED": "7"}


@pytest.mark.parametrize(
    ("declared", "words"),
    [
        ([{"name": "a"}, {"name": "a", "seed": 1}], "a second variation called 'a'"),
        ([{"name": "a", "seed": 1}, {"name": "b", "seed": 1}], "'b' is the same as 'a'"),
        ([{"name": "a", "seed": -1}], "-1"),
        ([{"name": "a", "preface": "nowhere.md"}], "there is no file 'nowhere.md'"),
        ([{"name": "a", "preface": "noise.md"}], "'noise.md' is not a text"),
        ([{"name": "a", "seed": 1}, {"name": "b", "seed": 2}, {"name": "c", "seed": 3}], "3 variations, and 2 runs"),
    ],
)
def test_mistakes_in_variations_are_told(
    declared: list[dict[str, Any]], words: str, make_contract: Any, tmp_path: Path
) -> None:
    (tmp_path / "noise.md").write_bytes(b"\xff\xfe")
    file = write_pilot(tmp_path, [make_contract("one")], variations=declared)
    with pytest.raises(ContractError) as raised:
        load_pilot(file)
    assert words in str(raised.value)


def test_every_method_has_as_many_runs_of_each_variation() -> None:
    declared = [{"name": "plain", "seed": None, "preface": ""}, {"name": "seven", "seed": 7, "preface": ""}]

    def says(slot: Slot) -> dict[str, Any]:
        return {"variation": ("plain", "seven")[(slot.repeat - 1) % 2]}

    found = {(one["variation"], one["method"]): one for one in variations_of(stands(None, says, variations=declared))}
    assert {key: one["runs"] for key, one in found.items() if key[1] in "xy"} == {
        ("plain", "x"): 8,
        ("plain", "y"): 8,
        ("seven", "x"): 4,
        ("seven", "y"): 4,
    }
    assert (found["seven", "x"]["scorable"], found["seven", "x"]["successes"]) == (4, 4)
    assert found["seven", "y"]["successes"] == 0


def test_a_run_counts_for_the_variation_that_it_was_made_under() -> None:
    """The first repeat was made before there were variations, the second under one that was amended away."""
    declared = [{"name": "new", "seed": 1, "preface": ""}, {"name": "newer", "seed": 2, "preface": ""}]

    def says(slot: Slot) -> dict[str, Any]:
        return {"variation": {1: "", 2: "old", 3: "new"}[slot.repeat]}

    counted = Counter[str]()
    for one in variations_of(stands(None, says, variations=declared)):
        counted[one["variation"]] += one["runs"]
    assert counted == {"new": 16, "newer": 0, "(none)": 16, "old": 16}


@pytest.mark.soak
def test_a_pilot_varies_seed_and_words_over_its_repeats(proctor: Proctor, make_contract: Any, tmp_path: Path) -> None:
    (tmp_path / "terse.md").write_text(TERSE + "\n")
    contracts = [make_contract(name) for name in ("one", "two", "three")]
    file = write_pilot(tmp_path, contracts, methods=[{"name": "sayer", "agent": SAYS}, FIXER], variations=DECLARED)
    plan = planned(proctor, file)
    assert [one["name"] for one in json.loads((plan / "protocol.json").read_bytes())["variations"]] == [
        "plain",
        "terse",
    ]
    code, answer = run(proctor, file)
    assert code == 0, answer
    made = [one for one in runs_in(tmp_path / "home") if one["stage"] != "checks"]
    for one in made:
        varied = one["variation"]
        assert (varied["name"], varied["seed"]) == (("plain", None), ("terse", 7))[one["repeat"] - 1]
        told = proctor("show", one["path"], "--output").stdout if one["method"] == "sayer" else ""
        if one["method"] == "sayer":
            assert ("seed=7 hash=7" in told) == (varied["name"] == "terse")
            assert (TERSE in told) == (varied["name"] == "terse")
    classes = {(one["contract"], one["report"]["comparability"]["class"]) for one in made}
    assert len(classes) == len(contracts), "a declared variation keeps runs comparable"
    assert not any("variation" in one for one in runs_in(tmp_path / "home") if one["stage"] == "checks")
    again = next(one for one in made if one["method"] == "sayer" and one["repeat"] == 2)
    repeated = proctor("replay", again["path"], "--tools")
    assert repeated.returncode == 0, repeated.stdout + repeated.stderr
    findings = json.loads(proctor("pilot", "report", file, "--json").stdout)
    assert not any(one["code"] == "preface-changed" for one in findings["deviations"])
    factor = {(one["variation"], one["method"]): one["successes"] for one in findings["variations"]}
    assert (factor["terse", "fixer"], factor["terse", "sayer"]) == (3, 0)
    held = check_numbers(file.with_suffix(".report"))
    assert [where for where in held if "by variation" in where], "each number selects its runs"
    assert any("plain (repeats 1), terse (repeats 2)" in note for note in english(findings["source"]["notes"]))
    (tmp_path / "terse.md").write_text("Something else.\n")
    changed = proctor("pilot", "run", file)
    assert changed.returncode == 2 and "variations[terse].preface" in changed.stderr
