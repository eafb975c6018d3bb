"""``proctor import`` as a user calls it, up to verdicts in a real sandbox."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Callable
from pathlib import Path

from tests.author.import_ import swebench_samples as sample
from tests.author.import_.test_harbor_contract import ENVIRONMENTS, written

Proctor = Callable[..., subprocess.CompletedProcess[str]]


def test_records_become_contracts_and_a_report(proctor: Proctor, tmp_path: Path) -> None:
    commit = sample.repository(tmp_path / "clones")
    records = [sample.record(commit), sample.record(commit, instance_id="acme__greeter-8", language="go")]
    (tmp_path / "tasks.jsonl").write_text("".join(f"{json.dumps(one)}\n" for one in records))
    (tmp_path / "env.yaml").write_text(sample.DECLARED)
    command = ("import", "swebench", "tasks.jsonl", "--repositories", "clones", "--environments", "env.yaml")
    done = proctor(*command, "--out", "new")
    assert done.returncode == 1, done.stderr
    assert "wrote new/acme__greeter-7" in done.stdout
    assert "refused acme__greeter-8: tests in this language cannot be read here (go)" in done.stdout
    assert "1 contract written, 1 refused" in done.stdout
    lines = [json.loads(line) for line in (tmp_path / "new" / "import.jsonl").read_text().splitlines()]
    assert [(line["kind"], line["status"]) for line in lines] == [
        ("proctor.import", "written"),
        ("proctor.import", "refused"),
    ]
    assert proctor("lint", "new/acme__greeter-7").returncode == 0
    one = proctor(*command, "--out", "other", "--instance", "acme__greeter-7", "--json")
    assert one.returncode == 0
    assert [json.loads(line)["contract"] for line in one.stdout.splitlines()] == ["other/acme__greeter-7"]
    limited = proctor(*command, "--out", "third", "--limit", "1")
    assert limited.returncode == 0


def test_bad_files_are_one_message_and_leave_no_report(proctor: Proctor, tmp_path: Path) -> None:
    (tmp_path / "clones").mkdir()
    (tmp_path / "bad.jsonl").write_text('{"instance_id": "a"}\n{"broken\n')
    command = ("import", "swebench", "bad.jsonl", "--repositories", "clones", "--out", "new")
    done = proctor(*command)
    assert done.returncode == 2
    assert "bad.jsonl:2: this is not JSON" in done.stderr
    assert "Traceback" not in done.stderr
    assert list((tmp_path / "new").iterdir()) == []
    none = proctor(*command, "--instance", "nobody")
    assert none.returncode == 2
    (tmp_path / "plain").write_text("x")
    assert proctor("import", "harbor", "plain", "--out", "new").returncode == 2
    assert proctor("import", "harbor", tmp_path / "clones", "--out", "plain").returncode == 2


def test_a_task_of_harbor_is_judged_and_its_solution_becomes_the_reference(proctor: Proctor, tmp_path: Path) -> None:
    written(tmp_path / "tasks" / "hello", {})
    (tmp_path / "env.yaml").write_text(ENVIRONMENTS)
    done = proctor("import", "harbor", "tasks", "--environments", "env.yaml", "--out", "new")
    assert done.returncode == 0, done.stdout + done.stderr
    contract = tmp_path / "new" / "org__hello"
    row = json.loads(proctor("run", contract, "--agent", "noop", "--json").stdout)["runs"][0]
    assert row["status"] == "failure"
    agent = ("--agent", "command:/bin/bash /agent/solve.sh", "--agent-files", tmp_path / "new" / "org__hello.solution")
    solved = proctor("run", contract, *agent, "--json")
    row = json.loads(solved.stdout)["runs"][0]
    assert row["status"] == "success", solved.stderr
    patch = proctor("show", row["run"], "--patch").stdout
    (contract / "reference.patch").write_text(patch)
    text = (contract / "contract.yaml").read_text()
    (contract / "contract.yaml").write_text(f"{text}reference:\n  patch: reference.patch\n")
    assert proctor("validate", contract, "--times", "1").returncode == 0


def test_a_reward_that_no_script_wrote_is_no_success(proctor: Proctor, tmp_path: Path) -> None:
    for number, line in enumerate(
        ("true", "echo nan > /logs/verifier/reward.txt", 'echo "{}" > /logs/verifier/reward.json')
    ):
        folder = tmp_path / f"tasks{number}" / "hello"
        written(folder, {"tests/test.sh": f"{line}\n"})
        (tmp_path / "env.yaml").write_text(ENVIRONMENTS)
        out = tmp_path / f"new{number}"
        assert proctor("import", "harbor", folder, "--environments", "env.yaml", "--out", out).returncode == 0
        done = proctor("run", out / "org__hello", "--agent", "noop", "--json")
        assert json.loads(done.stdout)["runs"][0]["status"] == "acceptance-error"


def test_a_contract_that_is_not_proven_is_removed(proctor: Proctor, tmp_path: Path) -> None:
    commit = sample.repository(tmp_path / "clones")
    (tmp_path / "task.json").write_text(json.dumps(sample.record(commit)))
    (tmp_path / "env.yaml").write_text(f"{sample.DECLARED}    python: /usr/bin/false\n")
    places = ("--repositories", "clones", "--environments", "env.yaml", "--out", "new")
    done = proctor("import", "swebench", "task.json", *places, "--prove")
    assert done.returncode == 1, done.stderr
    assert "refused acme__greeter-7: its checks do not hold in this environment" in done.stdout
    assert [path.name for path in (tmp_path / "new").iterdir()] == ["import.jsonl"]
