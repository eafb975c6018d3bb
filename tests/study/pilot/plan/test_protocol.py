"""What is frozen of a pilot: content and not places, and every difference by its field."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from jsonschema import Draft202012Validator

from proctor.base.canonical import canonical, digest, parse, sha256
from proctor.execute.monitor.price_table import load_prices
from proctor.study.pilot.plan.pilot_file import load_pilot
from proctor.study.pilot.plan.protocol import changes, deviations, protocol_of, with_artefacts
from proctor.study.pilot.plan.protocol_model import protocol_schema
from proctor.study.pilot.plan.task_suite import load_suite
from proctor.study.statements import statement
from tests.conftest import ContractMaker
from tests.record_schemas import planted
from tests.study.pilot.planning import method, protocol, task, write_pilot


def made(file: Path, prices: bytes | None = None) -> dict[str, Any]:
    pilot = load_pilot(file)
    suite = load_suite(pilot, lambda contract: "small")
    table = None if prices is None else load_prices(prices)
    return protocol_of(pilot, suite, lambda method: "" if method.baseline else f"digest of {method.name}", table)


@pytest.fixture
def folder(tmp_path: Path, make_contract: ContractMaker) -> Path:
    make_contract("one")
    make_contract("two")
    return tmp_path


def test_a_protocol_has_a_canonical_form_and_no_places(folder: Path) -> None:
    (folder / "turns.yaml").write_text("- say: yes\n")
    talker = {"name": "y", "agent": "builtin", "model": "scripted/m", "script": "turns.yaml", "key_env": "MY_KEY"}
    data = canonical(made(write_pilot(folder, methods=[{"name": "x", "agent": "command:true"}, talker])))
    for secret in (str(folder), "turns.yaml", "MY_KEY", "contracts/one"):
        assert secret.encode() not in data
    assert sha256(b"- say: yes\n").encode() in data


def test_a_pilot_that_is_moved_stays_the_same(folder: Path) -> None:
    before = made(write_pilot(folder))
    elsewhere = folder / "elsewhere"
    elsewhere.mkdir()
    rows = [{"contract": f"../contracts/{name}"} for name in ("one", "two")]
    assert made(write_pilot(elsewhere, tasks=rows)) == before


@pytest.mark.parametrize(
    ("parts", "field"),
    [
        ({"alpha": 0.01}, "alpha"),
        ({"power": 0.9}, "power"),
        ({"minimum_effect": 0.2}, "minimum_effect"),
        ({"runs_per_task": 4}, "runs_per_task"),
        ({"seed": 1}, "seeds.observed"),
        ({"budgets": {"pilot_usd": "11"}}, "budgets.pilot_usd"),
        ({"budgets": {"pilot_usd": "10", "run_usd": "1"}}, "budgets.run_usd"),
        ({"flakes": {"tolerance": 0.1}}, "flakes.tolerance"),
        ({"adjudication": {"reruns": 3}}, "adjudication.reruns"),
        ({"stopping": {"safety": {"violations": 9}}}, "stopping.violations"),
        ({"stopping": {"efficacy": {"looks": [0.5, 1]}}}, "stopping.looks"),
        ({"endpoints": {"secondary": ["score"]}}, "endpoints.secondary"),
        ({"assumed": {"icc": ["0.1"]}}, "assumed.icc"),
        ({"stages": {"two": {"runs": 2}}}, "stages.two.runs"),
        ({"retries": 3}, "retries"),
        ({"comparison": {"candidate": "x", "against": "y"}}, "comparison.candidate"),
        ({"baselines": {"reference": False}}, "baselines.reference"),
        ({"pilot": {"name": "small", "title": "t", "question": "Is x better than y?"}}, "pilot.title"),
        ({"strata": ["kind"]}, "tasks[one].stratum"),
        ({"tasks": [{"contract": "contracts/one"}]}, "tasks[two].contract"),
        (
            {
                "methods": [
                    {"name": "x", "agent": "command:true", "configuration": {"t": "1"}},
                    {"name": "y", "agent": "z"},
                ]
            },
            "methods[x].configuration.t",
        ),
    ],
)
def test_each_field_that_changes_is_named(parts: dict[str, Any], field: str, folder: Path) -> None:
    before, after = made(write_pilot(folder)), made(write_pilot(folder, **parts))
    assert field in [change["field"] for change in changes(before, after)]
    assert digest(before) != digest(after)


def test_a_contract_that_changes_is_named(folder: Path) -> None:
    before = made(write_pilot(folder))
    (folder / "contracts/two/issue.md").write_text("Another text.\n")
    after = made(write_pilot(folder))
    assert [change["field"] for change in changes(before, after)] == ["tasks[two].contract"]


def test_a_task_has_its_caps_and_labels(folder: Path, make_contract: ContractMaker) -> None:
    checks = [
        make_contract.CHECK | {"rerun": {"times": 3}},
        make_contract.CHECK | {"id": "again", "timeout_seconds": 20},
    ]
    head = {"name": "three", "title": "Three", "kind": "feature", "strata": {"language": "c", "team": "one"}}
    make_contract("three", contract=head, checks=checks, budget={"wall_seconds": 70, "usd": "2", "tokens": 9})
    found = made(write_pilot(folder, tasks=[{"contract": "contracts/three", "strata": {"language": "rust"}}]))["tasks"]
    assert found[0]["labels"] == {"language": "rust", "team": "one"}
    assert found[0]["kind"] == "feature"
    caps = found[0]["caps"]
    assert (caps["usd"], caps["wall_seconds"], caps["tokens"]) == ("2.00", 70, 9)
    assert caps["judge_seconds"] == 3 * 60 + 20


def test_a_patch_of_a_person_that_changes_is_named(folder: Path) -> None:
    patch = folder / "by-hand.patch"
    rows = [{"contract": "contracts/one", "human_patch": "by-hand.patch"}]
    patch.write_text("one way")
    before = made(write_pilot(folder, tasks=rows))
    patch.write_text("another way")
    after = made(write_pilot(folder, tasks=rows))
    assert [change["field"] for change in changes(before, after)] == ["tasks[one].human_patch"]


def test_prices_are_pinned(folder: Path) -> None:
    file = write_pilot(folder)
    tables = [b"action_type,unit,unit_price\nrun,run,%d\n" % price for price in (1, 2)]
    first, second = (made(file, table) for table in tables)
    assert [change["field"] for change in changes(first, second)] == ["prices.digest", "prices.id"]
    assert made(file)["prices"]["id"] == "fallback-1"


def test_what_departs_from_the_planned_way_is_said(folder: Path) -> None:
    assert deviations(made(write_pilot(folder))) == []
    said = deviations(made(write_pilot(folder, seed=7, baselines={"noop": False, "reference": False})))
    assert said == [statement("seed-not-planned", seed=7, planned=20260307), statement("no-baseline-with-solution")]
    assert deviations(made(write_pilot(folder, baselines={"noop": False}))) == [], "stage one tries it all the same"


def test_changes_go_by_names_and_not_by_places() -> None:
    before = protocol()
    after = protocol(tasks=[task("new", "c"), *before["tasks"]])
    fields = [change["field"] for change in changes(before, after)]
    assert fields[0] == "tasks (order)"
    assert all(field.startswith("tasks[new].") for field in fields[1:])
    swapped = protocol(methods=list(reversed(before["methods"])))
    assert [change["field"] for change in changes(before, swapped)] == ["methods (order)"]
    assert changes(before, with_artefacts(before, {"a": b"b"})) == []
    gone = protocol(methods=[method("x")])
    assert {"before": "y", "after": None, "field": "methods[y].name"} in changes(before, gone)


@pytest.mark.parametrize("parts", [{}, {"budgets": {"pilot_usd": "10", "run_usd": "1"}}, {"retries": 3}])
def test_x8_a_protocol_has_the_published_form(folder: Path, parts: dict[str, Any]) -> None:
    schema = protocol_schema()
    Draft202012Validator.check_schema(schema)
    validator = Draft202012Validator(schema)
    frozen = parse(canonical(with_artefacts(made(write_pilot(folder, **parts)), {"power.json": b"{}"})))
    assert [*validator.iter_errors(frozen)] == []
    for what, changed in planted(frozen):
        assert not validator.is_valid(changed), what
