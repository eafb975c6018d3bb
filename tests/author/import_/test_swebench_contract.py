"""Contracts from records of SWE-bench: what they have, what is listed as lost, and what is refused."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from proctor.author.import_.import_record import ImportedTask
from proctor.author.import_.swebench_contract import Repositories, import_instance
from proctor.author.import_.task_environment import Environments
from proctor.base.errors import UsageFault
from proctor.contract.load import load_contract
from proctor.contract.model import GitRepository
from tests.author.import_ import swebench_samples as sample

LAYER = "sha256:" + "ab" * 32


@pytest.fixture
def clones(tmp_path: Path) -> Path:
    folder = tmp_path / "clones"
    folder.mkdir()
    return folder


@pytest.fixture
def importing(tmp_path: Path, clones: Path) -> Any:
    """Imports a record into the folder ``out``."""
    commit = sample.repository(clones)
    file = tmp_path / "environments.yaml"
    file.write_text(sample.DECLARED)

    def importing(environments: Environments | None = None, address: str = "", **more: Any) -> ImportedTask:
        record = sample.record(commit, **more)
        (tmp_path / "out").mkdir(exist_ok=True)
        known = environments or Environments(file)
        return import_instance(record, "tasks.jsonl:1", tmp_path / "out", Repositories(clones, address), known)

    return importing


def test_a_record_becomes_a_contract_that_loads(importing: Any, tmp_path: Path) -> None:
    task = importing(eval_script=sample.SCRIPT, hints_text="look there", difficulty="easy", new_field=1)
    assert (task.status, task.task) == ("written", "acme__greeter-7")
    contract = load_contract(Path(task.contract))
    assert contract.name == "acme__greeter-7"
    assert contract.title == "Nobody is greeted with nothing"
    assert contract.task.issue_text.startswith("Nobody is greeted with nothing\n\n`greet('')`")
    assert dict(contract.strata) == {"benchmark": "swe-bench", "repository": "acme/greeter", "difficulty": "easy"}
    assert isinstance(contract.repository, GitRepository)
    assert contract.repository.git == "../../clones/acme/greeter"
    check = contract.checks[-1]
    assert check.run[1:] == ("-m", "pytest", "-p", "no:cacheprovider", "tests/test_greeting.py")
    assert check.must_pass == ("tests/test_greeting.py::test_nobody",)
    assert check.keep_passing == ("tests/test_greeting.py::test_name",)
    assert dict(check.variables) == {"LANG": "en_US.UTF-8"}
    hidden = tmp_path / "out" / "acme__greeter-7" / "hidden" / "tests" / "test_greeting.py"
    assert "def test_nobody" in hidden.read_text()
    assert [loss.code for loss in task.losses] == [
        *("hints", "field", "build", "preamble", "test-option", "network"),
    ]
    assert not list((tmp_path / "out").glob(".*"))


def test_an_address_takes_the_place_of_the_clone(importing: Any) -> None:
    contract = load_contract(Path(importing(address="https://example.org/{repo}.git").contract))
    assert isinstance(contract.repository, GitRepository)
    assert contract.repository.git == "https://example.org/acme/greeter.git"


def test_an_image_of_the_engine_is_pinned_by_its_layers(importing: Any) -> None:
    asked: list[str] = []

    def inspect(name: str) -> tuple[str, ...]:
        asked.append(name)
        return (LAYER,)

    name = "swebench/sweb.eval.x86_64.acme_1776_greeter-7:latest"
    task = importing(Environments(None, inspect), image=name)
    contract = load_contract(Path(task.contract))
    assert asked == [name]
    assert contract.environment.image == (LAYER,)
    assert contract.environment.hide == ("/testbed",)
    assert contract.checks[-1].run[0] == "/opt/miniconda3/envs/testbed/bin/python"
    assert {"image-tag", "build-products"} <= {loss.code for loss in task.losses}


@pytest.mark.parametrize(
    ("more", "reason"),
    [
        ({"instance_id": "../../etc"}, "bad-record"),
        ({"instance_id": 5}, "bad-record"),
        ({"instance_id": "x" * 101}, "bad-record"),
        ({"repo": "acme/../etc"}, "bad-record"),
        ({"repo": "acme"}, "bad-record"),
        ({"repo": "acme/other"}, "no-environment"),
        ({"base_commit": "HEAD"}, "bad-record"),
        ({"base_commit": "0" * 40}, "no-commit"),
        ({"problem_statement": " "}, "bad-record"),
        ({"problem_statement": "a\0b"}, "bad-record"),
        ({"problem_statement": "\ud800"}, "bad-record"),
        ({"FAIL_TO_PASS": ["tests/test_greeting.py::\ud800"]}, "bad-record"),
        ({"patch": "no patch"}, "bad-patch"),
        ({"patch": ...}, "bad-record"),
        ({"test_patch": sample.TEST_PATCH.replace("'A'", "'B'")}, "bad-patch"),
        ({"test_patch": sample.TEST_PATCH.replace("tests/test_greeting.py", "../out.py")}, "bad-patch"),
        ({"test_patch": ...}, "bad-record"),
        ({"test_patch": "", "image_name": "smith"}, "reversed"),
        ({"FAIL_TO_PASS": "[]"}, "no-tests-that-fail"),
        ({"FAIL_TO_PASS": "not JSON"}, "bad-record"),
        ({"FAIL_TO_PASS": [1]}, "bad-record"),
        ({"FAIL_TO_PASS": {"a": 1}}, "bad-record"),
        ({"FAIL_TO_PASS": float("nan")}, "bad-record"),
        ({"FAIL_TO_PASS": ["a.py::x\ny"]}, "bad-record"),
        ({"FAIL_TO_PASS": ["tests/other.py::test_a"]}, "no-tests"),
        ({"FAIL_TO_PASS": ["tests/test_greeting.py::test_a[cut"]}, "cut-id"),
        ({"FAIL_TO_PASS": ["test_absent"]}, "unknown-id"),
        ({"language": "rust"}, "language"),
        ({"version": "2.0"}, "no-environment"),
        ({"version": "2.0", "image": "some/image:1"}, "no-image"),
        ({"eval_script": ": '>>>>> Start Test Output'\ncargo test\n"}, "runner"),
    ],
)
def test_records_that_cannot_be_judged_here_are_refused_and_nothing_is_written(
    importing: Any, tmp_path: Path, more: dict[str, Any], reason: str
) -> None:
    task = importing(**more)
    assert (task.status, task.reason, task.contract) == ("refused", reason, "")
    assert list((tmp_path / "out").iterdir()) == []
    assert task.line()


def test_a_repository_without_a_clone_and_a_contract_that_exists_are_refused(importing: Any, tmp_path: Path) -> None:
    file = tmp_path / "other.yaml"
    file.write_text("environments: [{environment: {variables: {A: b}}}]")
    assert importing(Environments(file), repo="acme/other").reason == "no-repository"
    assert importing().status == "written"
    assert importing().reason == "exists"


def test_a_declared_environment_that_no_contract_may_have_is_refused(importing: Any, tmp_path: Path) -> None:
    file = tmp_path / "odd.yaml"
    file.write_text(
        "environments: [{repo: acme/greeter, environment: {sandbox: moon}, setup: [{run: x, network: open}]}]"
    )
    task = importing(Environments(file))
    assert task.reason == "bad-contract"
    assert "moon" in task.detail
    assert list((tmp_path / "out").iterdir()) == []


@pytest.mark.parametrize(
    "text", ["a: 1\n", "environments: []\n", "environments: [{repos: x}]\n", "environments: [{python: 3}]\n"]
)
def test_files_of_environments_are_read_strictly(tmp_path: Path, text: str) -> None:
    file = tmp_path / "environments.yaml"
    file.write_text(text)
    with pytest.raises(UsageFault):
        Environments(file)


def test_a_log_parser_is_never_run(importing: Any, tmp_path: Path) -> None:
    mark = tmp_path / "mark"
    parser = f"def parser(log):\n    pass\nopen({str(mark)!r}, 'w')\n"
    task = importing(log_parser=parser, eval_script=f"touch {mark}\n{sample.SCRIPT}")
    assert task.status == "written"
    assert "log-parser" in {loss.code for loss in task.losses}
    assert not mark.exists()


def test_gold_patches_that_change_steering_files_are_allowed_and_listed(importing: Any) -> None:
    patch = (
        sample.PATCH
        + "diff --git a/conftest.py b/conftest.py\nnew file mode 100644\n--- /dev/null\n+++ b/conftest.py\n"
    )
    task = importing(patch=patch + "@@ -0,0 +1 @@\n+import greeting\n")
    assert load_contract(Path(task.contract)).policy.free_steering == ("conftest.py",)
    assert ("free-steering", "conftest.py") in [(loss.code, loss.detail) for loss in task.losses]


def test_requirements_and_interface_belong_to_the_text(importing: Any) -> None:
    task = importing(requirements="Must be fast", interface="greet(name)")
    text = load_contract(Path(task.contract)).task.issue_text
    assert "## Requirements\n\nMust be fast\n\n## Interface\n\ngreet(name)" in text
