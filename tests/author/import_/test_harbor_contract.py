"""Contracts from tasks of Harbor, and tasks that are refused beforehand."""

from __future__ import annotations

import os
import tarfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from proctor.author.import_.harbor_contract import import_task
from proctor.author.import_.harbor_task import absent_tasks, task_folders
from proctor.author.import_.import_record import ImportedTask
from proctor.author.import_.task_environment import Environments
from proctor.base.errors import UsageFault
from proctor.contract.load import load_contract

TOML = """\
schema_version = "1.4"
[task]
name = "org/hello"
[metadata]
difficulty = "easy"
[agent]
timeout_sec = 300
[verifier]
timeout_sec = 60
[environment]
cpus = 1
memory_mb = 1024
network_mode = "no-network"
"""
FILES = {
    "task.toml": TOML,
    "instruction.md": "# Greet\n\nWrite the word world into /app/out/hello.txt, not into /apples.\n",
    "environment/Dockerfile": "FROM debian:12\nENV MODE=fast\nWORKDIR /app\n"
    "COPY src/ ./out/\nCOPY one.txt .\nCOPY one.txt /etc/\nRUN make\n",
    "environment/src/data.txt": "data\n",
    "environment/src/sub/more.txt": "more\n",
    "environment/one.txt": "1\n",
    "tests/test.sh": "cat /app/out/data.txt\ngrep -q world /app/out/hello.txt && n=1 || n=0\n"
    "echo -n $n > /logs/verifier/reward.txt\n",
    "solution/solve.sh": "#!/bin/bash\necho world > /app/out/hello.txt\n",
}
ENVIRONMENTS = "environments: [{task: org/hello, environment: {variables: {A: b}}}]\n"


def written(folder: Path, changes: Mapping[str, str]) -> Path:
    """A task in ``folder``, with changed files."""
    for path, text in {**FILES, **changes}.items():
        (folder / path).parent.mkdir(parents=True, exist_ok=True)
        (folder / path).write_text(text)
    return folder


@pytest.fixture
def importing(tmp_path: Path) -> Any:
    (tmp_path / "out").mkdir()
    (tmp_path / "env.yaml").write_text(ENVIRONMENTS)

    def importing(**changes: str) -> ImportedTask:
        folder = written(tmp_path / "tasks" / "hello", changes)
        return import_task(folder, tmp_path / "out", Environments(tmp_path / "env.yaml"))

    return importing


def test_a_task_becomes_a_contract_with_its_reward(importing: Any) -> None:
    task = importing()
    assert (task.status, task.task) == ("written", "org/hello")
    contract = load_contract(Path(task.contract))
    assert contract.name == "org__hello"
    assert contract.task.issue_text.endswith("Write the word world into /workspace/out/hello.txt, not into /apples.\n")
    check = contract.checks[-1]
    assert (check.results, check.results_file, check.must_pass) == ("reward", "reward", ("reward",))
    assert dict(check.variables) == {"MODE": "fast"}
    assert (contract.budget.wall_seconds, contract.budget.memory_bytes) == (360, 1024 << 20)
    with tarfile.open(Path(task.contract) / "repository.tar") as archive:
        assert archive.getnames() == ["one.txt", "out/data.txt", "out/sub/more.txt"]
    hidden = Path(task.contract) / "hidden" / ".task" / "tests" / "test.sh"
    assert "/workspace/out/hello.txt" in hidden.read_text() and "/tmp/verifier/reward.txt" in hidden.read_text()
    assert [(loss.code, loss.detail) for loss in task.losses] == [
        ("build", "RUN make"),
        ("resources", "environment.cpus"),
        ("build", "COPY one.txt /etc/"),
        ("weak-check", "tests/test.sh"),
        ("no-reference", "solution/solve.sh"),
    ]


TESTS = """\
import pytest


def test_a():
    assert open("/app/x")


class TestB:
    def test_c(self):
        pass
"""


def test_a_script_that_runs_pytest_is_replaced_by_pytest(importing: Any) -> None:
    script = "apt-get update\ncurl -LsSf https://example.org/install.sh | sh\nuvx pytest -rA /tests/test_out.py\n"
    task = importing(**{"tests/test.sh": script, "tests/test_out.py": TESTS})
    check = load_contract(Path(task.contract)).checks[-1]
    assert check.run == ("/usr/bin/python3", "-m", "pytest", ".task/tests/test_out.py")
    assert check.must_pass == (".task/tests/test_out.py::test_a", ".task/tests/test_out.py::TestB::test_c")
    assert check.results == "pytest"


@pytest.mark.parametrize("test", ["@pytest.mark.parametrize('a', [1])\ndef test_a(a): ...\n", "x = 1\n", "def ("])
def test_tests_whose_ids_only_a_run_can_tell_are_refused(importing: Any, test: str) -> None:
    task = importing(**{"tests/test.sh": "pytest /tests/test_out.py\n", "tests/test_out.py": test})
    assert task.reason in ("unknown-id", "no-tests")


@pytest.mark.parametrize(
    ("changes", "reason"),
    [
        ({"task.toml": "[task"}, "bad-record"),
        ({"task.toml": "a = " + "[" * 5000}, "bad-record"),
        ({"task.toml": 'schema_version = "9"\n'}, "bad-record"),
        ({"task.toml": "task = 1\n"}, "bad-record"),
        ({"task.toml": "[agent]\ntimeout_sec = nan\n"}, "bad-record"),
        ({"task.toml": "[agent]\ntimeout_sec = true\n"}, "bad-record"),
        ({"task.toml": "[environment]\nmemory_mb = -1\n"}, "bad-record"),
        ({"task.toml": '[environment]\nos = "windows"\n'}, "language"),
        ({"task.toml": '[environment.env]\n"a b" = "c"\n'}, "bad-record"),
        ({"task.toml": '[[steps]]\nname = "a"\n'}, "steps"),
        ({"task.toml": '[task]\nname = "org/other"\n'}, "no-image"),
        ({"environment/docker-compose.yaml": "services: {}\n"}, "sidecars"),
        ({"environment/Dockerfile": "FROM debian:12\n"}, "outside-the-tree"),
        ({"environment/Dockerfile": "FROM x\nWORKDIR /app\nCOPY ../../secret /app/\n"}, "bad-record"),
        ({"environment/Dockerfile": "FROM x\nWORKDIR /app\nCOPY none.txt /app/\n"}, "bad-record"),
        ({"instruction.md": " \n"}, "bad-record"),
        ({"tests/test.sh": "pip install x\necho 1 > /logs/verifier/reward.txt\n"}, "needs-network"),
    ],
)
def test_tasks_that_cannot_be_judged_here_are_refused(
    importing: Any, tmp_path: Path, changes: dict[str, str], reason: str
) -> None:
    task = importing(**changes)
    assert (task.status, task.reason) == ("refused", reason)
    assert list((tmp_path / "out").iterdir()) == []


def test_links_and_pipes_in_a_task_are_refused(importing: Any, tmp_path: Path) -> None:
    folder = written(tmp_path / "tasks" / "hello", {})
    (folder / "tests" / "passwd").symlink_to("/etc/passwd")
    assert importing().reason == "bad-record"
    (folder / "tests" / "passwd").unlink()
    os.mkfifo(folder / "tests" / "pipe")
    assert importing().reason == "bad-record"


def test_folders_of_tasks_and_data_sets_are_read(tmp_path: Path) -> None:
    folder = written(tmp_path / "set" / "hello", {})
    assert task_folders(folder) == [folder]
    assert task_folders(tmp_path / "set") == [folder]
    (tmp_path / "set" / "dataset.toml").write_text('[[tasks]]\nname = "org/hello"\n[[tasks]]\nname = "org/gone"\n')
    assert absent_tasks(tmp_path / "set") == ["org/gone"]
    (tmp_path / "set" / "dataset.toml").write_text("tasks = [1]\n")
    with pytest.raises(UsageFault, match="no manifest"):
        absent_tasks(tmp_path / "set")
    (tmp_path / "empty").mkdir()
    for path in (tmp_path / "empty", tmp_path / "none"):
        with pytest.raises(UsageFault):
            task_folders(path)


def test_links_out_of_a_task_are_not_followed(importing: Any, tmp_path: Path) -> None:
    """A folder that is a link, and a link in the middle of a path, would bring files of this machine."""
    outside = tmp_path / "outside"
    outside.mkdir()
    (outside / "secret").write_text("secret\n")
    folder = written(tmp_path / "tasks" / "hello", {})
    (folder / "environment" / "link").symlink_to(outside)
    for source in ("link/secret", "link", "./link/./secret"):
        refused = importing(**{"environment/Dockerfile": f"FROM x\nWORKDIR /app\nCOPY {source} /app/\n"})
        assert refused.reason == "bad-record" and "which is not there" in refused.detail
    (folder / "environment" / "link").unlink()
    for name in ("solution", "tests", "environment"):
        (folder / name).rename(tmp_path / name)
        (folder / name).symlink_to(tmp_path / name)
        assert importing().detail == f"{name} is a link"
        (folder / name).unlink()
        (tmp_path / name).rename(folder / name)


def test_a_task_cannot_take_the_place_of_a_solution(importing: Any, tmp_path: Path) -> None:
    """The solution of one task would be written into the contract of the other."""
    named = FILES["task.toml"].replace("org/hello", "org/hello.solution")
    assert importing(**{"task.toml": named}).reason == "exists"
    (tmp_path / "out" / "org__hello.solution").mkdir()
    assert importing().reason == "exists"


def test_a_decorator_that_nests_deeply_is_no_fault(importing: Any) -> None:
    test = f"@mark({' + '.join(['1'] * 1200)})\ndef test_a():\n    pass\n"
    found = importing(**{"tests/test.sh": "pytest /tests/t.py\n", "tests/t.py": test})
    assert found.status == "written"
