"""Good pilot files come out whole; every mistake is told at once, each with its line and column."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import jsonschema
import pytest
import yaml

from proctor.base.errors import ContractError
from proctor.study.pilot.plan.pilot_fields import json_schema
from proctor.study.pilot.plan.pilot_file import load_pilot
from proctor.study.pilot.plan.pilot_model import (
    Baselines,
    Comparison,
    Method,
    Usage,
    agent_files,
    agent_words,
    model_settings,
)
from tests.conftest import ContractMaker
from tests.study.pilot.planning import WHOLE, write_pilot

FULL = """\
schema: 1
pilot: {name: full, title: Everything, question: "Should we adopt x?"}
methods:
  - {name: x, agent: "command:python3 /agent/run.py", files: agent, configuration: {temperature: "0.2"}}
  - name: y
    agent: builtin
    model: scripted/slow
    script: turns.yaml
    endpoint: http://127.0.0.1:8000
    key_env: SOME_KEY
    dialect: chat
    output_tokens: 1000
  - {name: z, agent: "patch:fix.patch"}
comparison: {candidate: x, against: y}
baselines: {noop: true, reference: false, human: true, human_minutes: 12.50}
tasks:
  - {contract: contracts/one, strata: {language: c}, human_patch: fix.patch}
  - {contract: contracts/two, human_patch: fix.patch}
strata: [language, kind]
runs_per_task: 5
seed: 7
budgets: {run_usd: "1.5", task_usd: "20", pilot_usd: "100"}
prices: prices.csv
endpoints: {primary: success, secondary: [seconds, score]}
minimum_effect: 0.10
alpha: "0.010"
power: 0.9
assumed: {rate: 0.4, icc: [0, "0.50"], correlation: [0.25], invalid: 0.1, usage: {tokens_in: 1000}, low: 0.25, high: 3}
flakes: {tolerance: 0.01, runs: 10}
adjudication: {rule: majority, reruns: 3}
stages: {one: {tasks: 2, runs: 1}, two: {runs: 2}, three: {runs: 5}}
stopping: {safety: {violations: 1}, efficacy: {looks: [0.5, 1.0]}}
retries: 0
"""


@pytest.fixture
def folder(tmp_path: Path, make_contract: ContractMaker) -> Path:
    """A folder with two contracts and the files that pilots name."""
    make_contract("one")
    make_contract("two")
    (tmp_path / "agent").mkdir()
    for name in ("turns.yaml", "fix.patch", "prices.csv"):
        (tmp_path / name).write_text("a line\n")
    return tmp_path


def test_every_field_arrives(folder: Path) -> None:
    file = folder / "pilot.yaml"
    file.write_text(FULL)
    pilot = load_pilot(file)
    assert (pilot.name, pilot.title, pilot.question) == ("full", "Everything", "Should we adopt x?")
    agent = "command:python3 /agent/run.py"
    assert pilot.methods[0] == Method(
        "x", agent, files="agent", configuration={"temperature": "0.2"}, line=4, column=22
    )
    assert FULL.splitlines()[3][21:].startswith(f'"{agent}"'), "a mistake in an agent is told where its words begin"
    assert pilot.comparison == Comparison("x", "y")
    assert pilot.baselines == Baselines(noop=True, reference=False, human=True, human_minutes="12.5")
    assert [arm.name for arm in pilot.arms] == ["x", "y", "z", "noop", "human"]
    assert [(one.contract, dict(one.strata), one.line) for one in pilot.tasks] == [
        ("contracts/one", {"language": "c"}, 17),
        ("contracts/two", {}, 18),
    ]
    assert (pilot.strata, pilot.runs_per_task, pilot.seed) == (("language", "kind"), 5, 7)
    assert (pilot.budgets.run_usd, pilot.budgets.task_usd, pilot.budgets.pilot_usd) == ("1.50", "20.00", "100.00")
    assert (pilot.minimum_effect, pilot.alpha, pilot.power) == ("0.1", "0.01", "0.9")
    assert pilot.endpoints.secondary == ("seconds", "score")
    assumed = pilot.assumed
    assert (assumed.rate, assumed.icc, assumed.correlation, assumed.invalid) == ("0.4", ("0", "0.5"), ("0.25",), "0.1")
    assert (assumed.usage, assumed.low, assumed.high) == (Usage(tokens_in=1000), "0.25", "3")
    assert (pilot.flakes.tolerance, pilot.flakes.runs) == ("0.01", 10)
    assert (pilot.adjudication.rule, pilot.adjudication.reruns) == ("majority", 3)
    assert (pilot.stages.one_tasks, pilot.stages.one_runs, pilot.stages.two_runs) == (2, 1, 2)
    assert (pilot.stopping.violations, pilot.stopping.looks) == (1, ("0.5", "1"))
    assert (pilot.prices, pilot.retries) == ("prices.csv", 0)


def test_paths_begin_at_the_pilot_file(folder: Path) -> None:
    file = folder / "pilot.yaml"
    file.write_text(FULL)
    pilot = load_pilot(file)
    x, y, z = pilot.methods
    first = pilot.tasks[0]
    assert agent_files(pilot, x) == str(folder / "agent")
    assert agent_words(pilot, x, first) == "command:python3 /agent/run.py"
    assert agent_words(pilot, z, first) == f"patch:{folder / 'fix.patch'}"
    assert agent_words(pilot, pilot.method("human"), first) == f"patch:{folder / 'fix.patch'}"
    assert model_settings(pilot, x) == {}
    assert model_settings(pilot, y) == {
        "endpoint": "http://127.0.0.1:8000",
        "key_env": "SOME_KEY",
        "dialect": "chat",
        "provider_tools": "strip",
        "unknown_fields": "strip",
        "script": str(folder / "turns.yaml"),
        "output_tokens": "1000",
    }


def test_what_is_left_out_has_its_default(folder: Path) -> None:
    pilot = load_pilot(write_pilot(folder))
    assert (pilot.seed, pilot.runs_per_task, pilot.alpha, pilot.power) == (20260307, 3, "0.05", "0.8")
    assert [arm.name for arm in pilot.arms] == ["x", "y", "noop", "reference"]
    assert (pilot.stages.one_tasks, pilot.stopping.looks, pilot.comparison) == (0, (), None)


MISTAKES: list[tuple[dict[str, Any], str]] = [
    ({"schema": 2}, "expected 1, not 2"),
    ({"colour": "red"}, "unknown key 'colour' in pilot file"),
    ({"methods": []}, "the list must not be empty"),
    ({"methods": [{"name": "x"}]}, "method: the key 'agent' is missing"),
    ({"methods": [{"name": "X y", "agent": "noop"}]}, "expected a name of lower-case letters"),
    ({"methods": [{"name": "noop", "agent": "noop"}]}, "'noop' is the name of a baseline"),
    ({"methods": [{"name": "x", "agent": "a"}, {"name": "x", "agent": "b"}]}, "a second method called 'x'"),
    ({"methods": [{"name": "x", "agent": "a"}, {"name": "y", "agent": "a"}]}, "'y' is the same as 'x'"),
    ({"methods": [{"name": "x", "agent": "builtin", "model": "large"}]}, "expected PROVIDER/NAME"),
    ({"methods": [{"name": "x", "agent": "command:a", "key_env": "KEY"}]}, "'key_env' makes no sense without a model"),
    ({"methods": [{"name": "x", "agent": "a", "model": "o/m", "key_env": "s-1/"}]}, "expected the name of a variable"),
    ({"methods": [{"name": "x", "agent": "a", "files": "nowhere"}]}, "there is no directory 'nowhere'"),
    ({"methods": [{"name": "x", "agent": "patch:nowhere.patch"}]}, "there is no file 'nowhere.patch'"),
    ({"methods": [{"name": "x", "agent": "a", "model": "o/m", "dialect": "morse"}]}, "'morse' is not one of chat"),
    ({"comparison": {"candidate": "x", "against": "yy"}}, "no method is called 'yy'"),
    ({"comparison": {"candidate": "x", "against": "human"}}, "no method is called 'human'"),
    ({"comparison": {"candidate": "x", "against": "x"}}, "a method is compared with another one"),
    ({"baselines": {"human": True}}, "the key 'human_patch' is missing"),
    ({"baselines": {"noop": "yes"}}, "expected true or false, not text"),
    ({"tasks": [{"contract": "contracts/three"}]}, "there is no directory 'contracts/three'"),
    ({"tasks": [{"contract": "agent"}]}, "there is no contract.yaml in 'agent'"),
    ({"tasks": [{"contract": "contracts/one"}, {"contract": "contracts/../contracts/one"}]}, "is a task already"),
    ({"tasks": [{"contract": "contracts/one", "strata": {"a b": "c"}}]}, "expected a key of letters"),
    ({"strata": ["language", "language"]}, "'language' is given twice"),
    ({"runs_per_task": 0}, "0 is too small"),
    ({"seed": "often"}, "expected a whole number, not 'often'"),
    ({"budgets": {"pilot_usd": 10}}, "expected an amount in quotes"),
    ({"budgets": {}}, "budgets: the key 'pilot_usd' is missing"),
    ({"budgets": {"pilot_usd": "10", "run_usd": "11"}}, "run_usd is more than pilot_usd"),
    ({"budgets": {"pilot_usd": "10", "run_usd": "3", "task_usd": "2"}}, "run_usd is more than task_usd"),
    ({"prices": "nowhere.csv"}, "there is no file 'nowhere.csv'"),
    ({"endpoints": {"primary": "elegance"}}, "'elegance' is not one of success"),
    ({"minimum_effect": 0}, "0 is not a share"),
    ({"minimum_effect": 1.5}, "1.5 is not a share"),
    ({"minimum_effect": "-0.1"}, "is negative"),
    ({"minimum_effect": 0.6}, "make 1.1, and a rate ends at 1"),
    ({"alpha": "small"}, "is not a decimal number"),
    ({"alpha": 0.5}, "0.5 is not below 0.5"),
    ({"alpha": "0.93"}, "is not below 0.5"),
    ({"power": 1}, "1 is not a share"),
    ({"assumed": {"icc": []}}, "the list must not be empty"),
    ({"assumed": {"icc": [1.2]}}, "1.2 is not a share"),
    ({"assumed": {"low": 2}}, "low is above the expected usage"),
    ({"assumed": {"high": "0.5"}}, "high is below the expected usage"),
    ({"flakes": {"tolerance": 2}}, "2 is not a share"),
    ({"adjudication": {"rule": "loudest"}}, "'loudest' is not one of majority, all"),
    ({"stages": {"one": {"tasks": 3}}}, "stage one has 3 tasks and the pilot 2"),
    ({"stages": {"one": {"runs": 2}}}, "stage one ends with 2 runs of a task and stage two with 1"),
    ({"stages": {"two": {"runs": 4}}}, "stage two ends with 4 runs of a task and the pilot with 3"),
    ({"stages": {"three": {"runs": 4}}}, "stage three ends with 4 runs of a task and the pilot with 3"),
    ({"stopping": {"efficacy": "sometimes"}}, "'sometimes' is not one of none"),
    ({"stopping": {"efficacy": {"looks": [1.0, 0.5]}}}, "looks must rise"),
    ({"stopping": {"efficacy": {"looks": [0, 1]}}}, "looks must rise, from above 0"),
    ({"stopping": {"efficacy": {"looks": [0.5]}}}, "the last look is at 0.5"),
    ({"stopping": {"safety": {"violations": 0}}}, "0 is too small"),
    ({"retries": 100}, "100 is too large"),
]


@pytest.mark.parametrize(("parts", "words"), MISTAKES, ids=[words for _, words in MISTAKES])
def test_a_mistake_is_told_where_it_stands(parts: dict[str, Any], words: str, folder: Path) -> None:
    file = write_pilot(folder, **parts)
    with pytest.raises(ContractError) as error:
        load_pilot(file)
    assert words in str(error.value)
    assert error.value.exit_code == 2
    for mistake in error.value.mistakes:
        assert mistake.file == str(file)
        line = file.read_text().splitlines()[mistake.line - 1]
        assert 0 < mistake.column <= len(line)


def test_all_mistakes_are_told_at_once(folder: Path) -> None:
    file = write_pilot(folder, alpha=2, power=3, retries=-1, methods=[{"name": "x"}], colour="red", budgets=None)
    with pytest.raises(ContractError) as error:
        load_pilot(file)
    assert len(error.value.mistakes) == 6
    assert [one.line for one in error.value.mistakes] == sorted(one.line for one in error.value.mistakes)


@pytest.mark.parametrize(
    ("data", "words"),
    [
        (b"", "the file is empty"),
        (b"\n \n", "the file is empty"),
        (b"a: [1", "not valid YAML"),
        (b"schema: 1\nschema: 1\n", "duplicate key 'schema'"),
        (b"\xff\xfe", "not UTF-8 text"),
        (b"- 1\n", "expected a map of pilot file's fields"),
        (b"a: &x 1\nb: *x\n", "aliases are not allowed"),
    ],
)
def test_what_is_no_pilot_at_all(data: bytes, words: str, tmp_path: Path) -> None:
    (tmp_path / "pilot.yaml").write_bytes(data)
    with pytest.raises(ContractError, match=words):
        load_pilot(tmp_path / "pilot.yaml")


def test_a_file_that_is_not_there(tmp_path: Path) -> None:
    with pytest.raises(ContractError, match=r"nowhere\.yaml: does not exist"):
        load_pilot(tmp_path / "nowhere.yaml")
    with pytest.raises(ContractError, match="so it is not a pilot file"):
        load_pilot(tmp_path)


def test_the_schema_takes_what_the_loader_takes(folder: Path) -> None:
    schema = json_schema()
    jsonschema.Draft202012Validator.check_schema(schema)
    jsonschema.validate(yaml.safe_load(FULL), schema)
    jsonschema.validate(json.loads(json.dumps(WHOLE)), schema)


BY_SHAPE = {"unknown key", "is missing", "is not one of", "no share", "expected a", "too small", "too large", "empty"}


@pytest.mark.parametrize(
    "parts",
    [parts for parts, words in MISTAKES if any(sign in words for sign in BY_SHAPE) and "human_patch" not in words],
)
def test_the_schema_refuses_what_shape_alone_tells(parts: dict[str, Any]) -> None:
    whole = {**WHOLE, **parts}
    with pytest.raises(jsonschema.ValidationError):
        jsonschema.validate(whole, json_schema())
