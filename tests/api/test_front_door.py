"""The Python interface: what ``import proctor`` offers is enough to run agents and to read what came of it."""

from __future__ import annotations

import ast
import csv
import inspect
import shutil
import sys
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest

import proctor
from proctor.base.canonical import canonical
from proctor.base.json_records import to_json
from tests.corpus_runs import NAMES, unpack

DOCUMENT = "docs/api.md"
ROWS = 8


@pytest.fixture(scope="module")
def contract(tmp_path_factory: pytest.TempPathFactory) -> Path:
    from proctor.author.demo.build import materialise

    return materialise(tmp_path_factory.mktemp("front") / "contract")


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("home") / "home"


@pytest.fixture(scope="module")
def made(contract: Path, home: Path) -> proctor.BatchRuns:
    return proctor.run_batch([contract], ["noop", "reference"], home=home)


def test_every_name_of_the_interface_exists_and_is_declared_for_type_checkers() -> None:
    for name in proctor.__all__:
        assert getattr(proctor, name) is not None
    tree = ast.parse(inspect.getsource(proctor))
    declared = {alias.name for node in ast.walk(tree) if isinstance(node, ast.ImportFrom) for alias in node.names}
    assert declared - {"annotations", "import_module", "missing_extra", "TYPE_CHECKING", "Any"} == set(proctor.__all__)
    assert set(dir(proctor)) >= set(proctor.__all__)
    with pytest.raises(AttributeError, match="no attribute 'absent'"):
        _ = proctor.absent


def test_every_name_of_the_interface_is_documented(project: Path) -> None:
    text = (project / DOCUMENT).read_text()
    assert [name for name in proctor.__all__ if f"`{name}" not in text] == []
    assert [name for name in proctor.__all__ if not (getattr(proctor, name).__doc__ or "").strip()] == []


def test_a_batch_has_a_run_for_each_agent(made: proctor.BatchRuns, contract: Path) -> None:
    assert [run.report.status for run in made.runs] == ["failure", "success"]
    assert (made.errors, made.skipped, made.repeated, made.stopped) == ((), (), (), False)
    report = made.runs[1].report
    assert report.success
    assert report.agent.name == "reference"
    assert report.contract.name == proctor.load_contract(contract).name
    assert [gate.id for gate in report.gates if gate.passed] == ["G1", "G2", "G3", "G4"]
    assert report.cost_usd is None
    assert isinstance(report.cost_units, Decimal)
    assert report.run == made.runs[1].id
    failed = next(check for check in made.runs[0].report.checks if check.outcome == "fail")
    assert failed.failing


def test_a_run_is_opened_by_id_by_path_and_by_a_short_name(made: proctor.BatchRuns, home: Path) -> None:
    last = made.runs[-1]
    assert {proctor.open_run(name, home).path.resolve() for name in (last.id, "last", last.path)} == {
        last.path.resolve()
    }
    assert last.id in [run.id for run in proctor.runs(home)]
    assert last.state == "finished"
    assert last.patch.startswith(b"diff --git")
    assert last.manifest.agent.name == "reference"
    assert [event.type for event in last.events("run.started", "run.finished")] == ["run.started", "run.finished"]
    with pytest.raises(proctor.ProctorError, match="there is no run"):
        proctor.open_run("20000101", home)


def test_evidence_is_verified_rescored_and_replayed(made: proctor.BatchRuns, home: Path) -> None:
    for run in made.runs:
        assert proctor.verify(run).status == "intact"
        assert proctor.verify(run.id, home).sound
        assert proctor.rescore(run).same
        assert proctor.replay(run).agree


@pytest.mark.parametrize("name", NAMES)
def test_runs_of_earlier_versions_are_read(name: str, tmp_path: Path) -> None:
    run = proctor.open_run(unpack(name, tmp_path))
    assert run.report.status in ("success", "failure") and run.report.run == run.id
    assert len(run.report.gates) == 4 and run.report.checks
    assert run.state == "finished" and next(run.events()).type == "run.started"


def test_a_report_that_is_none_is_a_broken_seal(made: proctor.BatchRuns, tmp_path: Path) -> None:
    copy = tmp_path / made.runs[0].id
    shutil.copytree(made.runs[0].path, copy)
    report = to_json(made.runs[0].report)
    for broken in ({**report, "usage": {"cost": {"usd": "much"}}}, {**report, "gates": 7}):
        (copy / "report.json").write_bytes(canonical(broken))
        with pytest.raises(proctor.BrokenSeal, match="is not a report"):
            _ = proctor.open_run(copy).report


def test_runs_are_compared_and_asked_for_in_sql(made: proctor.BatchRuns, home: Path) -> None:
    found = proctor.compare(made.runs)
    assert [side.status for side in found.sides] == ["failure", "success"]
    rows = proctor.query("select agent, count(*) as runs from runs group by agent order by agent", home)
    assert [row["agent"] for row in rows] == ["noop", "reference"]


def test_a_single_run_takes_options_of_its_agent(contract: Path, home: Path) -> None:
    options = proctor.AgentOptions(name="printer", environment={"WORD": "hello"})
    run = proctor.run(contract, "command:sh -c 'echo $WORD'", agent_options=options, home=home)
    assert run.report.agent.name == "printer"
    assert run.report.status == "failure"


def test_a_model_is_reached_by_its_options(contract: Path, home: Path, tmp_path: Path) -> None:
    script = tmp_path / "turns.yaml"
    script.write_text("schema: 1\nturns:\n  - {say: done}\n")
    run = proctor.run(
        contract, "builtin", "scripted/demo", model_options=proctor.ModelOptions(script=script), home=home
    )
    assert run.report.model == "scripted/demo"
    assert [event.type for event in run.events("model.request")] == ["model.request"]


def test_a_contract_is_validated(contract: Path, home: Path) -> None:
    seen: list[str] = []

    class Watcher(proctor.BatchWatcher):
        def finished(self, place: Any, outcome: Any) -> None:
            seen.append(outcome.status)

    found = proctor.validate(proctor.load_contract(contract), times=1, home=home, watcher=Watcher())
    assert found.valid is True
    assert seen == ["failure", "success"]
    assert (found.wrong, found.undecided, found.vacuous, dict(found.errors)) == ((), (), (), {})


def test_mistakes_are_errors_with_their_places(contract: Path, tmp_path: Path, home: Path) -> None:
    with pytest.raises(proctor.ContractError, match="does not exist"):
        proctor.load_contract(tmp_path / "absent")
    with pytest.raises(proctor.ProctorError, match="there is no agent"):
        proctor.run(contract, "codx", home=home)


def test_a_run_that_is_stopped_before_it_begins_is_an_error(contract: Path, home: Path) -> None:
    class Stopping(proctor.BatchWatcher):
        def stopped(self) -> bool:
            return True

    with pytest.raises(proctor.ProctorError, match="stopped the run before it began"):
        proctor.run(contract, "noop", home=home, watcher=Stopping())


def results_of_two(directory: Path) -> Path:
    table = directory / "results.csv"
    with table.open("w", newline="") as file:
        writer = csv.writer(file)
        writer.writerow(["agent", "task", "success"])
        writer.writerows([agent, f"t{number}", agent == "a"] for agent in "ab" for number in range(ROWS))
    return table


def test_results_of_others_are_analysed(tmp_path: Path) -> None:
    found = proctor.analyse(results_of_two(tmp_path), proctor.Question(against="b"), out=tmp_path / "report")
    assert {agent["agent"] for agent in found["agents"]} == {"a", "b"}
    assert (tmp_path / "report" / "report.html").is_file()


def test_runs_are_analysed_and_drawn(made: proctor.BatchRuns, tmp_path: Path) -> None:
    found = proctor.analyse(made.runs)
    assert {agent["agent"]: agent["attempted"] for agent in found["agents"]} == {"noop": 1, "reference": 1}
    proctor.plot(found).save(tmp_path / "rates.svg")
    assert "reference" in (tmp_path / "rates.svg").read_text()


@pytest.mark.parametrize(
    ("wrong", "where"),
    [
        ({"repeats": 0}, "repeats"),
        ({"repeats": 10**9}, "repeats"),
        ({"jobs": 0}, "jobs"),
        ({"jobs": None}, "jobs"),
        ({"retry_invalid": "x"}, "retry_invalid"),
        ({"judge_slots": 0}, "judge_slots"),
        ({"batch_usd": Decimal("nan")}, "batch_usd"),
        ({"task_usd": Decimal(-1)}, "task_usd"),
        ({"agents": "noop"}, "agents"),
        ({"agents": []}, "agents"),
        ({"contracts": []}, "contracts"),
        ({"models": "openai/x"}, "models"),
        ({"agent_options": proctor.AgentOptions(effort="most")}, "effort"),
        ({"model_options": proctor.ModelOptions(redact="span")}, "redact"),
        ({"model_options": proctor.ModelOptions(output_tokens=0)}, "output_tokens"),
        ({"model_options": proctor.ModelOptions(provider_wait=0)}, "provider_wait"),
    ],
    ids=str,
)
def test_bad_values_are_refused_before_anything_is_written(
    contract: Path, tmp_path: Path, wrong: dict[str, Any], where: str
) -> None:
    home = tmp_path / "home"
    with pytest.raises(proctor.ProctorError) as refused:
        proctor.run_batch(**{"contracts": [contract], "agents": ["noop"], "home": home, **wrong})
    assert (refused.value.where, refused.value.exit_code) == (where, 2)
    assert not home.exists() or proctor.runs(home) == ()


def test_nothing_is_not_a_valid_contract_or_a_comparison(contract: Path, made: proctor.BatchRuns) -> None:
    with pytest.raises(proctor.ProctorError, match="the list is empty"):
        proctor.validate([])
    with pytest.raises(proctor.ProctorError, match="times"):
        proctor.validate(contract, times=0)
    with pytest.raises(proctor.ProctorError, match="one run cannot be compared"):
        proctor.compare(made.runs[:1])


def test_a_missing_extra_is_an_error(
    made: proctor.BatchRuns, home: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "duckdb", None)
    with pytest.raises(proctor.ProctorError, match="the extra 'study'"):
        proctor.query("select run from runs", home)
    with pytest.raises(proctor.ProctorError, match="the extra 'study'"):
        proctor.analyse(results_of_two(tmp_path), out=tmp_path / "report")


def test_the_extra_of_a_name_is_named_when_it_is_missing(monkeypatch: pytest.MonkeyPatch) -> None:
    def missing(name: str) -> None:
        raise ModuleNotFoundError("No module named 'numpy'", name="numpy")

    monkeypatch.delitem(vars(proctor), "query", raising=False)
    monkeypatch.setattr(proctor, "import_module", missing)
    with pytest.raises(proctor.ProctorError, match="needs the extra 'study'"):
        _ = proctor.query
