"""The tasks of a pilot: contracts by content, strata from labels, and mistakes with the line of the task."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from proctor.base.canonical import sha256
from proctor.base.errors import ContractError, UsageFault
from proctor.contract.digest import content_id
from proctor.contract.load import load_contract
from proctor.contract.model import Contract
from proctor.execute.agents.patch_agent import PATCH_BYTES
from proctor.study.pilot.plan.pilot_file import load_pilot
from proctor.study.pilot.plan.task_suite import SuiteTask, load_suite
from tests.conftest import ContractMaker
from tests.study.pilot.planning import write_pilot


def head(name: str, **strata: str) -> dict[str, Any]:
    return {"name": name, "title": "Adding subtracts", "kind": "bug-fix", "strata": strata}


def suite(file: Path, tier: str = "") -> tuple[SuiteTask, ...]:
    return load_suite(load_pilot(file), lambda contract: tier)


def test_tasks_have_content_ids_and_strata(tmp_path: Path, make_contract: ContractMaker) -> None:
    make_contract("one", contract=head("one", language="c"))
    make_contract("two", contract=head("two", language="python"))
    rows = [{"contract": "contracts/one"}, {"contract": "contracts/two", "strata": {"language": "rust"}}]
    found = suite(write_pilot(tmp_path, tasks=rows, strata=["language", "kind", "complexity"]), "medium")
    assert [task.name for task in found] == ["one", "two"]
    assert [task.stratum for task in found] == ["c / bug-fix / medium", "rust / bug-fix / medium"]
    assert found[0].contract == content_id(load_contract(tmp_path / "contracts/one"))
    assert found[0].path == tmp_path / "contracts/one"


def test_without_labels_there_is_one_stratum(tmp_path: Path, make_contract: ContractMaker) -> None:
    make_contract("one")
    make_contract("two")
    assert {task.stratum for task in suite(write_pilot(tmp_path))} == {"all"}


def test_a_written_tier_is_not_measured(tmp_path: Path, make_contract: ContractMaker) -> None:
    make_contract("one")

    def measure(contract: Contract) -> str:
        raise AssertionError(contract.name)

    rows = [{"contract": "contracts/one", "strata": {"complexity": "large"}}]
    pilot = load_pilot(write_pilot(tmp_path, tasks=rows, strata=["complexity"]))
    assert load_suite(pilot, measure)[0].stratum == "large"


def test_a_patch_of_a_person_is_pinned_by_what_is_in_it(tmp_path: Path, make_contract: ContractMaker) -> None:
    make_contract("one")
    (tmp_path / "by-hand.patch").write_bytes(b"a patch")
    (tmp_path / "link.patch").symlink_to("by-hand.patch")
    for name in ("by-hand.patch", "link.patch"):
        rows = [{"contract": "contracts/one", "human_patch": name}]
        assert suite(write_pilot(tmp_path, tasks=rows))[0].human_patch == sha256(b"a patch")


def test_a_patch_that_is_too_large_is_told(tmp_path: Path, make_contract: ContractMaker) -> None:
    make_contract("one")
    with (tmp_path / "huge.patch").open("wb") as file:
        file.truncate(PATCH_BYTES + 1)
    rows = [{"contract": "contracts/one", "human_patch": "huge.patch"}]
    with pytest.raises(UsageFault, match=r"huge\.patch is larger than"):
        suite(write_pilot(tmp_path, tasks=rows))


def test_every_mistake_names_its_task(tmp_path: Path, make_contract: ContractMaker) -> None:
    make_contract("one", reference=None)
    make_contract("two", budget={"walls": 1})
    make_contract("three", contract=head("one", language="c"))
    rows = [{"contract": f"contracts/{name}"} for name in ("one", "two", "three")]
    file = write_pilot(tmp_path, tasks=rows, strata=["language", "complexity"])
    with pytest.raises(ContractError) as error:
        suite(file)
    lines = {line: number for number, line in enumerate(file.read_text().splitlines(), 1)}
    first, third = (lines[f'   "contract": "contracts/{name}"'] for name in ("one", "three"))
    said = [(one.file, one.line, one.message) for one in error.value.mistakes]
    assert said == [
        (str(file), first, "one has no label 'language', which strata asks for"),
        (str(file), first, "one has no label 'complexity', which strata asks for"),
        (str(file), first, "one has no reference, and baselines.reference asks for one"),
        (str(tmp_path / "contracts/two/contract.yaml"), said[3][1], "unknown key 'walls' in budget"),
        (str(file), third, "one has no label 'complexity', which strata asks for"),
        (str(file), third, f"one is another contract of the name of the task in line {first}"),
    ]
    assert "proctor validate fetches it" in error.value.mistakes[1].hint


def test_one_contract_counts_once(tmp_path: Path, make_contract: ContractMaker) -> None:
    make_contract("one")
    (tmp_path / "copy").symlink_to(tmp_path / "contracts")
    (tmp_path / "again").mkdir()
    for path in (tmp_path / "contracts/one").iterdir():
        (tmp_path / "again" / path.name).write_bytes(path.read_bytes())
    with pytest.raises(ContractError, match="one is the same contract as the task in line"):
        suite(write_pilot(tmp_path, tasks=[{"contract": "contracts/one"}, {"contract": "again"}]))


def test_a_contract_has_to_be_locked(tmp_path: Path, make_contract: ContractMaker) -> None:
    make_contract("one", inputs=[{"pypi": "parse==1.20.2"}])
    with pytest.raises(ContractError, match="proctor lock"):
        suite(write_pilot(tmp_path, tasks=[{"contract": "contracts/one"}]))


def test_stage_one_needs_a_task_of_every_stratum(tmp_path: Path, make_contract: ContractMaker) -> None:
    make_contract("one", contract=head("one", language="c"))
    make_contract("two", contract=head("two", language="python"))
    file = write_pilot(tmp_path, strata=["language"], stages={"one": {"tasks": 1}})
    with pytest.raises(ContractError, match="stage one has 1 tasks and there are 2 strata"):
        suite(file)


def test_a_measure_that_cannot_be_taken_says_why(tmp_path: Path, make_contract: ContractMaker) -> None:
    make_contract("one")

    def measure(contract: Contract) -> str:
        raise UsageFault("the store is broken")

    pilot = load_pilot(write_pilot(tmp_path, tasks=[{"contract": "contracts/one"}], strata=["complexity"]))
    with pytest.raises(ContractError, match="the store is broken"):
        load_suite(pilot, measure)
