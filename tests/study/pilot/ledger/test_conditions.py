"""A machine that changes in the middle of a pilot stops it, goes on by name and reason, and is told in every report."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import pytest

from proctor.base.errors import InfrastructureFault
from proctor.conduct.batch.batch_record import Place
from proctor.judge.run_report import comparability
from proctor.study.pilot.ledger.journal import read_journal
from proctor.study.pilot.ledger.machine_identity import Identity, digest_of, identity_of
from proctor.study.pilot.ledger.pilot_runs import Run, conditions_of
from proctor.study.pilot.ledger.run_consistency import alike, changes_since, condition_changes, differs, doubts, mixed
from proctor.study.pilot.plan.randomisation import Slot
from proctor.study.pilot.report.pilot_findings import unfinished
from proctor.study.pilot.running.pilot_runner import PilotContext, run_pilot
from proctor.study.pilot.running.pilot_state import deviations
from tests.english import english
from tests.study.pilot.live import Proctor, planned, run, runs_in, write_pilot
from tests.study.pilot.pilot_cases import arms, ledger
from tests.study.pilot.report.test_status import stands
from tests.study.pilot.test_going_on import Stage
from tests.study.pilot.test_going_on import stage as stage  # a fixture

OLD: Identity = (("harness.version", "1"), ("sandbox.identity.packages", "sha256:old"))
NEW: Identity = (("harness.version", "1"), ("sandbox.identity.packages", "sha256:new"))
FIRST, LATER = {"machine": OLD, "comparability": "sha256:1"}, {"machine": NEW, "comparability": "sha256:2"}


def after(block: int) -> Callable[[Slot], Mapping[str, Any]]:
    """Every task was run on the old machine up to a block, and on the new one since."""
    return lambda slot: FIRST if slot.block <= block else LATER


def blocks_of(says: Callable[[Slot], Mapping[str, Any]]) -> list[tuple[Run, ...]]:
    book = ledger(arms(), None, says)
    return [runs for block in book.blocks() if (runs := book.filled(block)) is not None]


def test_a_pilot_under_the_same_conditions_says_nothing_of_them() -> None:
    blocks = blocks_of(lambda slot: FIRST)
    runs = [run for block in blocks for run in block]
    assert mixed(runs) == {} and list(condition_changes(runs)) == [] and differs(runs) == {}
    assert list(doubts(arms(), blocks)) == []


def test_what_differs_and_how_many_runs_stand_on_each_side_is_told() -> None:
    here = stands(None, after(6))
    apart = mixed(run for run in here.ledger.held())
    assert apart and all(list(classes) == ["sha256:1", "sha256:2"] for classes in apart.values())
    (words,) = [one for one in english(deviations(here)) if "different conditions" in one]
    counts = {
        side: sum(run.method == "x" for classes in apart.values() for run in classes[side])
        for side in ("sha256:1", "sha256:2")
    }
    assert "counted together: sandbox.identity.packages. " in words
    assert f"{counts['sha256:1']} and {counts['sha256:2']} of x" in words
    shown = differs(here.ledger.held())
    assert english(shown["sha256:2"][1:]) == ["sandbox.identity.packages: sha256:old -> sha256:new"]
    assert unfinished(here) is None, "a pilot that is complete is decided"


def test_the_comparison_with_one_condition_of_each_task_stands_beside_the_answer() -> None:
    (words,) = english(list(doubts(arms(), blocks_of(after(6)))))
    assert words.startswith("With only one condition for each task, the one with most of its runs (")
    assert "of 24 runs), the difference would be +100.0 points (p = " in words
    assert list(doubts(arms(comparison=None), blocks_of(after(6)))) == []


def test_a_block_that_the_change_went_through_is_told_by_itself() -> None:
    def torn(slot: Slot) -> Mapping[str, Any]:
        return FIRST if slot.block < 6 or (slot.block == 6 and slot.method == "x") else LATER

    words, _ = english(list(doubts(arms(), blocks_of(torn))))
    assert words.startswith("In 1 of 12 blocks the conditions changed between the runs of the methods")


def manifest(**watch: Any) -> dict[str, Any]:
    """A manifest with the settings that envelopes are part of."""
    usual = {"caps": {"usd": "5.00"}, "task_usd": None, "batch_usd": "20.00", "batch_spent_usd": "0"}
    return {"contract": {"id": "sha256:c"}, "configuration": {"watch": {**usual, **watch}}}


@pytest.mark.parametrize(
    ("watch", "bound"),
    [
        ({}, False),
        ({"batch_usd": "90.00"}, False),
        ({"batch_spent_usd": "15.00"}, False),
        ({"task_usd": "5.00", "task_spent_usd": "0"}, False),
        ({"batch_usd": None}, False),
        ({"batch_spent_usd": "15.01"}, True),
        ({"task_usd": "7.00", "task_spent_usd": "2.50"}, True),
        ({"caps": {"usd": None}}, True),
    ],
)
def test_an_envelope_is_a_condition_only_of_a_run_that_it_bound(watch: dict[str, Any], bound: bool) -> None:
    one = manifest(**watch)
    found = conditions_of(one, comparability(one).group)
    assert found == ("" if bound else conditions_of(manifest(), comparability(manifest()).group))
    assert (found == "") == bound
    assert conditions_of(one, "sha256:another") == "", "a class that was made in another way is left as it is"
    other = manifest(caps={"usd": "4.00"})
    assert conditions_of(other, comparability(other).group) != found


def richer(block: int, bound: str = "") -> Callable[[Slot], Mapping[str, Any]]:
    """Every task had a larger envelope since a block; the envelope bound the first run of a task."""

    def says(slot: Slot) -> Mapping[str, Any]:
        made = {**FIRST, "comparability": f"sha256:{slot.task}-{slot.block > block}"}
        return {**made, "conditions": "" if slot.task == bound and slot.repeat == 1 else f"sha256:{slot.task}"}

    return says


def test_runs_that_differ_in_envelopes_only_are_of_the_class_of_the_first() -> None:
    blocks = blocks_of(richer(6))
    runs = [run for block in blocks for run in block]
    assert len({run.comparability for run in runs}) > 4
    assert {run.comparability for run in alike(runs)} == {
        min((one for one in runs if one.task == task), key=lambda one: one.begun).comparability for task in "abde"
    }
    assert mixed(runs) == {} and list(condition_changes(runs)) == [] and list(doubts(arms(), blocks)) == []
    assert list(mixed(run for block in blocks_of(richer(6, "a")) for run in block)) == ["a"]
    torn = richer(6, "a")
    assert len(list(doubts(arms(), blocks_of(torn)))) == 1


def test_a_change_is_found_against_the_last_run_of_a_contract() -> None:
    runs = ledger(arms(), 8, lambda slot: FIRST).runs
    contract = runs[-1].contract
    assert changes_since(runs, {contract: OLD}) == ()
    assert changes_since(runs, {"sha256:never-run": NEW}) == ()
    (change,) = changes_since(runs, {contract: NEW})
    assert str(change) == "sandbox.identity.packages: sha256:old -> sha256:new"
    assert change.run == runs[-1].run
    assert changes_since(runs, {contract: NEW}, [digest_of(NEW)]) == ()


def test_an_identity_is_made_of_what_the_manifest_says_and_not_of_its_digest() -> None:
    sandbox = {"backend": "host", "identity": {"packages": "p", "digest": "d"}, "isolation": {"memory": "cgroup"}}
    found = identity_of({"sandbox": sandbox, "harness": {"version": "1", "digest": "e"}})
    assert dict(found) == {
        "harness.version": "1",
        "sandbox.backend": "host",
        "sandbox.identity.packages": "p",
        "sandbox.isolation.memory": "cgroup",
    }
    assert dict(identity_of({})) == {"harness.version": "", "sandbox.backend": ""}


def test_a_machine_that_changes_stops_a_pilot_before_the_next_block_until_it_is_accepted(stage: Stage) -> None:
    now = [OLD]

    def says(place: Place, number: int) -> Mapping[str, Any]:
        made = {"machine": now[0]}
        if len(stage.made) == 9:
            now[0] = NEW
        return made

    def conducted(accept: str = "") -> Any:
        parts = (stage.machine, stage.pilot, stage.suite, stage.plan, stage.fill, "", 1, lambda words: None)
        return run_pilot(PilotContext(*parts, lambda: False, stage.charge, accept, "ann", lambda contract: now[0]))

    stage.says = says
    with pytest.raises(InfrastructureFault, match="the machine has changed since") as caught:
        conducted()
    assert "sandbox.identity.packages: sha256:old -> sha256:new" in caught.value.message
    assert "--accept-machine" in caught.value.hint
    assert len(stage.made) == 12, "the block was completed"
    with pytest.raises(InfrastructureFault):
        conducted()
    assert len(stage.made) == 12
    here, stages = conducted("a library was missing")
    assert all(one.good for one in stages)
    assert {run.machine for run in stage.made.values()} == {OLD, NEW}
    told_once = [
        words for words in english(deviations(here)) if words.startswith("The machine was changed after 12 runs (")
    ]
    assert len(told_once) == 1 and told_once[0].endswith("ann accepted the change: a library was missing")
    assert conducted("again")[1] == stages
    assert len(read_journal(stage.plan).machines) == 1, "nothing has changed since"


@pytest.mark.soak
def test_a_pilot_that_was_given_more_money_was_made_under_one_condition(
    proctor: Proctor, make_contract: Any, tmp_path: Path
) -> None:
    contracts = [make_contract(name) for name in ("one", "two", "three")]
    asked: dict[str, Any] = {"comparison": {"candidate": "fixer", "against": "idler"}}
    asked["stages"] = {"one": {"tasks": 1}, "two": {"runs": 1}}
    file = write_pilot(tmp_path, contracts, power="0.99", budgets={"pilot_usd": "100.00", "task_usd": "90.00"}, **asked)
    planned(proctor, file)
    assert run(proctor, file)[0] == 1, "stage three is refused"
    write_pilot(tmp_path, contracts, budgets={"pilot_usd": "200.00", "task_usd": "150.00"}, **asked)
    assert proctor("pilot", "amend", file, "--why", "more money").returncode == 0
    assert run(proctor, file)[0] == 0
    found = json.loads(proctor("pilot", "report", file, "--json").stdout)
    assert not any("condition" in one for one in english([*found["headline"]["caveats"], *found["deviations"]]))
    assert sorted((row["runs"], len(row["differs"])) for row in found["comparability"]) == [(4, 1)] * 3
    recorded = {one["run"]: one["report"]["comparability"]["class"] for one in runs_in(tmp_path / "home")}
    assert {row["class"] for row in found["comparability"]} < set(recorded.values()), "those of the first runs"


@pytest.mark.soak
def test_a_pilot_whose_machine_changed_is_reported_with_both_machines(
    proctor: Proctor, make_contract: Any, tmp_path: Path
) -> None:
    contracts = [make_contract(name) for name in ("one", "two", "three")]
    asked: dict[str, Any] = {"comparison": {"candidate": "fixer", "against": "idler"}}
    file = write_pilot(tmp_path, contracts, power="0.99", stages={"one": {"tasks": 1}, "two": {"runs": 1}}, **asked)
    planned(proctor, file)
    assert run(proctor, file)[0] == 1, "stage three is refused"
    kept = next((tmp_path / "home").rglob("machine.json"))
    facts = json.loads(kept.read_bytes())
    facts["identity"]["found"]["packages"] = "sha256:" + "0" * 64
    kept.write_text(json.dumps(facts))
    asked["budgets"] = {"pilot_usd": "110.00"}
    write_pilot(tmp_path, contracts, stages={"one": {"tasks": 1}, "two": {"runs": 1}}, **asked)
    assert proctor("pilot", "amend", file, "--why", "less is enough").returncode == 0
    stopped = proctor("pilot", "run", file)
    assert stopped.returncode == 3, stopped.stderr
    assert "sandbox.identity.packages: sha256:" in stopped.stderr and "--accept-machine" in stopped.stderr
    assert proctor("pilot", "run", file, "--accept-machine", " ").returncode == 2
    gone_on = proctor("pilot", "run", file, "--accept-machine", "a package was missing")
    assert gone_on.returncode == 0, gone_on.stderr
    done = proctor("pilot", "report", file, "--json")
    assert done.returncode == 0, done.stderr
    found = json.loads(done.stdout)
    assert found["headline"]["verdict"] == "adopt"
    caveats, deviating = english(found["headline"]["caveats"]), english(found["deviations"])
    assert caveats[0].startswith("Mixed conditions: the runs of one, three and two were made")
    assert any(one.startswith("With only one condition for each task") for one in caveats)
    fields = "sandbox.identity.packages. Runs under the first conditions and under later ones"
    assert sum(fields in one for one in deviating) == 1, deviating
    assert sum("accepted the change: a package was missing" in one for one in deviating) == 1
    sides = [(row["counts"], row["agents"], len(row["differs"])) for row in found["comparability"]]
    page = (file.with_suffix(".report") / "report.md").read_text()
    assert "## Conditions" in page and page.count("| 1 of fixer, 1 of idler |") == 6
    assert sorted(sides) == [([1, 1], ["fixer", "idler"], 1)] * 3 + [([1, 1], ["fixer", "idler"], 2)] * 3
