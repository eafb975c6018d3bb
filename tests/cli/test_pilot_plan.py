"""``proctor pilot plan``, ``amend`` and ``power`` as a user calls them."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from proctor.base.canonical import canonical, sha256
from proctor.cli.main import run_command
from proctor.cli.wiring import home
from proctor.study.pilot.ledger.journal import add_removal
from proctor.study.pilot.plan.frozen_plan import load_plan
from proctor.study.pilot.running.pilot_runner import alone
from tests.conftest import ContractMaker
from tests.english import english
from tests.study.pilot.ledger.test_costs_besides_runs import PRICES
from tests.study.pilot.planning import write_pilot
from tests.study.pilot.running.test_task_removal import removal

Proctor = Callable[..., subprocess.CompletedProcess[str]]


@pytest.fixture
def folder(tmp_path: Path, make_contract: ContractMaker, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder with a home of its own: a home notes journals by the digest of their pilot, and here many are alike."""
    monkeypatch.setenv("PROCTOR_HOME", str(tmp_path / "home"))
    make_contract("one")
    make_contract("two")
    return tmp_path


def call(capsys: pytest.CaptureFixture[str], *words: str | Path) -> tuple[int, str, str]:
    capsys.readouterr()
    code = run_command([str(word) for word in ("pilot", *words)])
    shown = capsys.readouterr()
    assert "Traceback" not in shown.err
    return code, shown.out, shown.err


def contents(folder: Path) -> dict[str, bytes]:
    return {str(path.relative_to(folder)): path.read_bytes() for path in sorted(folder.rglob("*")) if path.is_file()}


def test_a_plan_is_frozen_beside_its_file(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = write_pilot(folder)
    code, out, _ = call(capsys, "plan", file)
    assert code == 0
    plan = folder / "pilot.plan"
    digest = sha256((plan / "protocol.json").read_bytes())
    assert f"pilot    {digest}" in out
    assert "24 runs: 4 methods, 2 tasks, 3 of each" in out
    assert "stages   one 4 runs, two 4 runs, three 16 runs" in out
    assert "power    not supported:" in out and " (stage three will be refused)\n" in out
    assert "deviates" not in out
    before = contents(plan)
    assert {"manifest.json", "randomisation.csv", "sanity.json", "monotonicity.json", "taxonomy.jsonl"} <= set(before)
    assert call(capsys, "plan", file) == (0, out, "")
    assert contents(plan) == before


def test_the_same_file_gives_the_same_bytes_anywhere(folder: Path, proctor: Proctor) -> None:
    """Two processes, two folders, two homes: one plan."""
    file = write_pilot(folder)
    for name in ("first", "second"):
        done = proctor("pilot", "plan", file, "--out", folder / name, PROCTOR_HOME=str(folder / f"home-{name}"))
        assert done.returncode == 0, done.stderr
    assert contents(folder / "first") == contents(folder / "second")


def test_a_plan_as_json(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    code, out, _ = call(capsys, "plan", write_pilot(folder, seed=5), "--json", "--out", folder / "out")
    found = json.loads(out)
    assert (code, found["runs"], found["methods"]) == (0, 24, ["x", "y", "noop", "reference"])
    assert found["folder"] == str(folder / "out")
    assert {"code": "seed-not-planned", "planned": 20260307, "seed": 5} in found["deviations"]
    assert found["supported"] is False
    assert found["budget"]["fits"]["high"] is True


def test_another_seed_is_a_deviation_that_is_shown(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    code, out, _ = call(capsys, "plan", write_pilot(folder, seed=1337))
    assert code == 0
    assert "deviates The order was drawn with seed 1337 instead of the planned 20260307" in out
    protocol = json.loads((folder / "pilot.plan/protocol.json").read_bytes())
    assert protocol["seeds"] == {"planned": 20260307, "observed": 1337, "framework": "numpy.random.PCG64"}


def test_a_budget_that_is_too_small_is_a_concern(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    _, out, _ = call(capsys, "plan", write_pilot(folder, budgets={"pilot_usd": "0.10", "task_usd": "0.05"}))
    assert "concern  The expected cost is above the budget" in out
    assert "concern  Expected to be above budgets.task_usd: one, two." in out


def test_a_projection_without_prices_is_in_units(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    _, out, _ = call(capsys, "plan", write_pilot(folder))
    told = next(line for line in out.splitlines() if line.startswith("cost "))
    assert " units expected, " in told and told.endswith(" units; the budget is 10,000 units, set as 10.00 USD")
    (folder / "prices.csv").write_bytes(PRICES)
    _, out, _ = call(capsys, "plan", write_pilot(folder, prices="prices.csv"), "--out", folder / "priced")
    told = next(line for line in out.splitlines() if line.startswith("cost "))
    assert " USD expected, " in told and told.endswith(" USD; the budget is 10.00 USD")


CHANGES: list[tuple[dict[str, Any], str]] = [
    ({"alpha": "0.01"}, "alpha: 0.05 -> 0.01"),
    ({"runs_per_task": 4}, "runs_per_task: 3 -> 4"),
    ({"methods": [{"name": "x", "agent": "command:true"}]}, "methods[y]: removed"),
    ({"methods": [{"name": "x", "agent": "command:true"}, {"name": "y", "agent": "command:no"}]}, "methods[y].digest"),
    ({"budgets": {"pilot_usd": "99"}}, "budgets.pilot_usd: 10.00 -> 99.00"),
]


@pytest.mark.parametrize(
    ("parts", "words"),
    [
        pytest.param(*change, id=change[1], marks=() if number < 2 else pytest.mark.soak)
        for number, change in enumerate(CHANGES)
    ],
)
def test_a_frozen_pilot_is_not_changed(
    parts: dict[str, Any], words: str, folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    call(capsys, "plan", write_pilot(folder))
    before = contents(folder / "pilot.plan")
    code, _, err = call(capsys, "plan", write_pilot(folder, **parts))
    assert code == 2
    assert words in err
    assert "proctor pilot amend PILOT --why" in err
    assert contents(folder / "pilot.plan") == before


def test_a_contract_that_drifts_is_noticed(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = write_pilot(folder)
    call(capsys, "plan", file)
    (folder / "contracts/one/issue.md").write_text("add() adds too little.\n")
    code, _, err = call(capsys, "plan", file)
    assert (code, "tasks[one].contract: sha256:" in err) == (2, True)


def test_files_of_an_agent_that_drift_are_noticed(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (folder / "agent").mkdir()
    (folder / "agent/run.py").write_text("1\n")
    methods = [{"name": "x", "agent": "command:python3 /agent/run.py", "files": "agent"}]
    file = write_pilot(folder, methods=methods)
    call(capsys, "plan", file)
    (folder / "agent/run.py").write_text("2\n")
    code, _, err = call(capsys, "plan", file)
    assert (code, "methods[x].digest" in err) == (2, True)


@pytest.mark.parametrize("name", ["protocol.json", "randomisation.csv", "power.json", "manifest.json"])
def test_a_plan_that_was_touched_is_refused(name: str, folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = write_pilot(folder)
    call(capsys, "plan", file)
    with (folder / "pilot.plan" / name).open("ab") as touched:
        touched.write(b" ")
    for words in (("plan",), ("amend", "--why", "x")):
        code, _, err = call(capsys, *words, file)
        assert code == 4
        assert "pilot.plan" in err


def test_an_amendment_goes_on_record(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    code, out, _ = call(capsys, "plan", write_pilot(folder), "--json")
    digest = json.loads(out)["pilot"]
    file = write_pilot(folder, alpha="0.01")
    code, out, _ = call(capsys, "amend", file, "--why", "the board asks for more care")
    assert code == 0
    assert f"pilot    {digest}" in out
    assert "after 0 runs, changed alpha: 0.05 -> 0.01. Reason: the board asks for more care\n" in out
    record = json.loads((folder / "pilot.plan/amendments/001.json").read_bytes())
    assert record["changed"] == [{"field": "alpha", "before": "0.05", "after": "0.01"}]
    assert (record["pilot"], record["previous"], record["after_runs"]) == (digest, digest, 0)
    code, out, _ = call(capsys, "plan", file, "--json")
    assert (code, json.loads(out)["amendments"]) == (0, 1)
    code, _, err = call(capsys, "amend", file, "--why", "again")
    assert (code, "nothing has changed" in err) == (2, True)


def test_an_amendment_needs_a_plan_and_a_reason(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = write_pilot(folder)
    code, _, err = call(capsys, "amend", file, "--why", "x")
    assert (code, "not planned yet" in err) == (2, True)
    code, _, err = call(capsys, "amend", file)
    assert (code, "--why" in err) == (2, True)


def test_a_pilot_that_is_being_run_is_not_amended(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    call(capsys, "plan", write_pilot(folder))
    plan = load_plan(folder / "pilot.plan")
    with alone(home(), plan):
        code, _, err = call(capsys, "amend", write_pilot(folder, alpha="0.01"), "--why", "care")
    assert (code, "the pilot is still running" in err) == (2, True)
    assert call(capsys, "amend", folder / "pilot.yaml", "--why", "care")[0] == 0


def test_runs_that_carry_the_digest_are_counted(folder: Path, proctor: Proctor) -> None:
    """An amendment says after how many runs it came, and then the suite stays as it is."""
    file = write_pilot(folder)
    digest = json.loads(proctor("pilot", "plan", file, "--json").stdout)["pilot"]
    for number, carried in enumerate((digest, digest, "sha256:other")):
        run = folder / "home/runs" / f"run-{number}"
        run.mkdir(parents=True)
        manifest = {
            "run": run.name,
            "configuration": {"pilot": carried, "repeat": 1},
            "contract": {"name": "one", "id": "sha256:one"},
            "started": {"wall_ns": number},
            "agent": {"digest": ""},
        }
        (run / "manifest.json").write_bytes(canonical(manifest))
    fewer = write_pilot(folder, tasks=[{"contract": "contracts/one"}])
    done = proctor("pilot", "amend", fewer, "--why", "two is hard")
    assert (done.returncode, "2 runs were made, and the frozen suite cannot change" in done.stderr) == (2, True)
    done = proctor("pilot", "amend", write_pilot(folder, alpha="0.01"), "--why", "care")
    assert "after 2 runs" in done.stdout


def test_power_answers_and_asks_what_if(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = write_pilot(folder)
    code, out, _ = call(capsys, "power", file)
    assert code == 1
    assert "2 tasks, 3 runs of each" in out and "not supported:" in out
    code, out, _ = call(capsys, "power", file, "--tasks", "60", "--icc", "0.2", "--json")
    found = json.loads(out)
    assert (code, found["supported"]) == (0, True)
    assert [row["icc"] for row in found["rows"]] == ["0.2000", "0.2000"]
    fewer = json.loads(call(capsys, "power", file, "--tasks", "60", "--icc", "0.2", "--effect", "0.1", "--json")[1])
    assert float(fewer["rows"][0]["power"]) < float(found["rows"][0]["power"])
    assert not (folder / "pilot.plan").exists()


def test_power_over_tasks(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    code, out, _ = call(capsys, "power", write_pilot(folder), "--curve", "--runs", "5", "--json")
    found = json.loads(out)
    assert (code, found["runs_per_task"]) == (0, 5)
    assert {row["tasks"] for row in found["curve"]} >= {2, 100, 1000}
    assert "LEAST EFFECT" in call(capsys, "power", write_pilot(folder), "--curve")[1]


@pytest.mark.parametrize(
    "words", [["--effect", "0.9"], ["--effect", "0"], ["--tasks", "1"], ["--icc", "2"], ["--runs", "x"]]
)
def test_questions_that_make_no_sense(words: list[str], folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    code, _, err = call(capsys, "power", write_pilot(folder), *words)
    assert (code, words[0] in err) == (2, True)


PRICED = [{"name": "x", "agent": "builtin", "model": "openai/m-2026-01-01"}]
BAD: list[tuple[dict[str, Any], str]] = [
    ({"methods": [{"name": "x", "agent": "nobody"}]}, "method x: there is no agent 'nobody'"),
    ({"methods": [{"name": "x", "agent": "codex", "model": "openai/m"}]}, "proctor agents install codex"),
    ({"methods": [{"name": "x", "agent": "noop", "model": "openai/m"}]}, "the agent noop uses no model"),
    ({"methods": [{"name": "x", "agent": "command:a", "files": "contracts"}]}, " overlap"),
    ({"prices": "pilot.yaml"}, "no column 'action_type'"),
    ({"prices": "others.csv", "methods": PRICED}, "no prices for the model 'm-2026-01-01'"),
    ({"strata": ["language"]}, "one has no label 'language'"),
    ({"strata": ["complexity"]}, "proctor validate fetches it"),
    ({"tasks": [{"contract": "nowhere"}]}, "there is no directory 'nowhere'"),
    ({"colour": 1}, "unknown key 'colour'"),
]


@pytest.mark.parametrize(("parts", "words"), BAD, ids=[words for _, words in BAD])
def test_bad_input_is_one_message(
    parts: dict[str, Any], words: str, folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (folder / "others.csv").write_text("action_type,unit,unit_price,model\nllm_input,token,1,n\n")
    code, out, err = call(capsys, "plan", write_pilot(folder, **parts))
    assert (code, out) == (2, "")
    assert words in err
    assert not (folder / "pilot.plan").exists()


def test_mistakes_of_agents_are_told_with_those_of_contracts_each_with_its_place(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    methods = [
        {"name": "w", "agent": "command:true"},
        {"name": "x", "agent": "codex --fast", "files": "agent"},
        {"name": "y", "agent": "noop", "model": "openai/m"},
        {"name": "z", "agent": "builtin"},
    ]
    (folder / "agent").mkdir()
    (folder / "contracts" / "two" / "contract.yaml").write_text("schema: 1\ncolour: blue\n")
    file = write_pilot(folder, methods=methods)
    code, _, err = call(capsys, "plan", file)
    assert code == 2 and "unknown key 'colour'" in err
    lines = file.read_text().splitlines()
    for method, told in (
        ("codex --fast", "method x: there is no agent 'codex --fast'; did you mean codex?"),
        ("noop", "method y: the agent noop uses no model (run it without model)"),
        ("builtin", "method z: the built-in agent needs a model (write model: PROVIDER/NAME)"),
    ):
        written = f'"agent": "{method}"'
        (line,) = (number for number, text in enumerate(lines, 1) if written in text)
        column = lines[line - 1].index(written) + len('"agent": ') + 1
        assert f"pilot.yaml:{line}:{column}: {told}" in err
    assert "method w" not in err and "--model" not in err and "--agent" not in err


def test_a_task_may_be_named_by_the_file_of_its_contract(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    def planned(*tasks: str) -> tuple[int, str]:
        file = write_pilot(folder, tasks=[{"contract": f"contracts/{task}"} for task in tasks])
        code, out, err = call(capsys, "plan", file, "--json")
        return code, json.loads(out)["pilot"] if out else err

    by_file = planned("one/contract.yaml", "two/contract.yaml")
    assert by_file[0] == 0 and planned("one", "two") == by_file, "it is the same pilot"
    twice, told = planned("one", "one/contract.yaml")
    assert twice == 2 and "is a task already" in told


def test_a_model_needs_no_key_to_be_planned(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    methods = [{"name": "x", "agent": "builtin", "model": "openai/some", "key_env": "NO_SUCH_KEY"}]
    code, _, err = call(capsys, "plan", write_pilot(folder, methods=methods))
    assert (code, err) == (0, "")
    assert b"NO_SUCH_KEY" not in b"".join(contents(folder / "pilot.plan").values())


def test_the_schema_of_pilots_is_printed(capsys: pytest.CaptureFixture[str]) -> None:
    assert run_command(["schema", "pilot", "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["title"] == "A Proctor pilot"
    assert run_command(["schema", "novel"]) == 2


@pytest.mark.parametrize(
    ("budgets", "held_up"), [({}, True), ({"run_usd": "2.40"}, False), ({"run_usd": "2.50"}, True)]
)
def test_a_budget_that_the_caps_of_one_block_use_up_is_a_concern(
    folder: Path, capsys: pytest.CaptureFixture[str], budgets: dict[str, str], held_up: bool
) -> None:
    """Four runs at 5.00 USD each: the pilot would be stopped before its first block, however little it is to cost."""
    file = write_pilot(folder, budgets={"pilot_usd": "20.00" if not budgets else "10.00", **budgets})
    code, out, _ = call(capsys, "plan", file)
    concerns = [line for line in out.splitlines() if line.startswith("concern  A block begins only while")]
    assert (code, len(concerns)) == (0, int(held_up)), out
    _, told, _ = call(capsys, "plan", file, "--json")
    assert english(json.loads(told)["concerns"]) == [line.removeprefix("concern  ") for line in concerns]


def test_a_plan_without_a_stage_three_is_told_that_nothing_will_refuse_it(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = write_pilot(folder, runs_per_task=1, stages={"one": {"tasks": 1}, "two": {"runs": 1}})
    _, out, _ = call(capsys, "plan", file)
    assert "three 0 runs" in out
    assert " (there is no stage three; reports will say so)\n" in out


def test_what_is_said_of_a_plan_counts_the_tasks_that_are_left(
    folder: Path, make_contract: ContractMaker, capsys: pytest.CaptureFixture[str]
) -> None:
    make_contract("three")
    tasks = [{"contract": f"contracts/{name}"} for name in ("one", "two", "three")]
    file = write_pilot(folder, tasks=tasks, minimum_effect="0.8", alpha="0.3", power="0.5", assumed={"rate": "0.1"})
    whole = json.loads(call(capsys, "plan", file, "--json")[1])
    assert (whole["runs"], whole["tasks"], whole["supported"], whole["removed"]) == (36, 3, True, [])
    assert call(capsys, "power", file)[0] == 0
    plan = load_plan(folder / "pilot.plan")
    add_removal(plan, removal("two"))
    left = json.loads(call(capsys, "plan", file, "--json")[1])
    assert (left["runs"], left["tasks"], left["supported"], left["removed"]) == (24, 2, False, ["two"])
    assert left["answer"]["code"] == "power-with-too-few-tasks" and left["answer"]["removed"] is True
    assert float(left["usd"]["expected"]) == pytest.approx(float(whole["usd"]["expected"]) * 2 / 3)
    _, out, _ = call(capsys, "plan", file)
    assert "plan     24 runs: 4 methods, 2 tasks, 3 of each\nremoved  two; 36 runs and 3 tasks were frozen\n" in out
    assert "stages   one 4 runs, two 4 runs, three 16 runs" in out
    code, out, _ = call(capsys, "power", file)
    assert (code, out.splitlines()[0]) == (1, "2 tasks, 3 runs of each by every method, without two")
    assert call(capsys, "power", file, "--tasks", "3")[0] == 0, "who asks what if is asked nothing"
    assert call(capsys, "power", file, "--plan", folder / "elsewhere")[0] == 2
