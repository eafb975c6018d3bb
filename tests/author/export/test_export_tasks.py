"""Contracts as tasks of SWE-bench and Harbor: they follow the rules, and judge like the contract."""

from __future__ import annotations

import json
import tomllib
from pathlib import Path
from typing import Any

import jsonschema
import pytest
import yaml

from proctor.author.demo import build
from proctor.author.export.export_record import export_schema
from proctor.author.export.harbor_tasks import toml
from proctor.author.export.swebench_ids import escaped, needs_escapes
from tests.author.export import peer_rules
from tests.author.export.conftest import Command
from tests.author.export.exported_tasks import judge_harbor_task, statuses, swebench_log
from tests.conftest import ContractMaker

IMAGE = "debian:bookworm@sha256:" + "ab" * 32


@pytest.fixture(scope="module")
def contracts(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, ...]:
    """A contract whose tests write TAP, and one whose checks have an exit code only."""
    place = tmp_path_factory.mktemp("contracts")
    tests = ["/usr/bin/python3", "-B", "tests/test_calc.py"]
    checks = [
        ContractMaker.CHECK,
        {"id": "more", "gate": "acceptance", "run": tests, "variables": {"PYTHONPATH": "/workspace"}},
        {"id": "opinion", "gate": "static", "run": ["/bin/false"], "mandatory": False},
    ]
    policy = {"protected": ["tests/**"], "max_changed_files": 3}
    small = ContractMaker(place)("small", checks=checks, policy=policy, environment={"variables": {"PRICE": '$5 "\\'}})
    return build.materialise(place / "demo"), small


@pytest.fixture(scope="module")
def harbor(proctor_at: Command, contracts: tuple[Path, ...], tmp_path_factory: pytest.TempPathFactory) -> Path:
    out = tmp_path_factory.mktemp("out") / "harbor"
    done = proctor_at("export", "harbor", *contracts, "--image", IMAGE, "--out", out)
    assert done.returncode == 0, done.stderr
    assert "contains the hidden tests and the reference solution" in done.stdout
    return out


@pytest.fixture(scope="module")
def swebench(proctor_at: Command, contracts: tuple[Path, ...], tmp_path_factory: pytest.TempPathFactory) -> Path:
    out = tmp_path_factory.mktemp("out") / "swebench"
    done = proctor_at("export", "swebench", *contracts, "--image", IMAGE, "--out", out)
    assert done.returncode == 0, done.stderr
    assert "contains the hidden tests and the reference solution" in done.stdout
    return out


def files_of(folder: Path) -> dict[str, bytes]:
    return {str(path.relative_to(folder)): path.read_bytes() for path in sorted(folder.rglob("*")) if path.is_file()}


@pytest.mark.parametrize("form", ["harbor", "swebench"])
def test_the_same_contracts_give_the_same_bytes(
    form: str, proctor_at: Command, contracts: tuple[Path, ...], request: pytest.FixtureRequest, tmp_path: Path
) -> None:
    first: Path = request.getfixturevalue(form)
    done = proctor_at("export", form, *contracts, "--image", IMAGE, "--out", tmp_path / "out", "--json")
    assert files_of(tmp_path / "out") == files_of(first)
    record = json.loads(done.stdout)
    jsonschema.validate(record, export_schema())
    assert record["contains"] == ["hidden-tests", "solution"]
    assert {one["kind"] for one in record["subjects"]} == {"contract"}
    codes = {loss["code"]: loss["values"] for loss in record["losses"] if loss["subject"] == "small"}
    assert codes["optional-checks"] == {"checks": ["opinion"]}
    assert codes["policy"] == {"fields": ["max_changed_files"]}
    assert codes["root"]["image"] == IMAGE


def test_a_harbor_task_separates_the_verifier(harbor: Path) -> None:
    for task in (harbor / "durations-carry", harbor / "small"):
        table = tomllib.loads((task / "task.toml").read_text())
        jsonschema.validate(table, peer_rules.HARBOR_TASK)
        assert table["artifacts"] == ["/workspace"]
        for place in ("environment", "tests"):
            assert (task / place / "Dockerfile").read_text().startswith(f"FROM {IMAGE}\n")
        names = {path.name for path in (task / "tests").rglob("*")}
        copied = (task / "tests" / "Dockerfile").read_text()
        assert all(
            name in copied for name in names - {"Dockerfile", "setup.tar", "plugin", "proctor_export_results.py"}
        )
        readme = (task / "README.md").read_text()
        assert "weaker than in Proctor" in readme and "contains the hidden tests" in readme
        shown = b"".join(data for name, data in files_of(task / "environment").items())
        assert b"return a + b" not in shown and b"test_carry" not in shown
    assert 'ENV PRICE="\\$5 \\"\\\\"' in (harbor / "small" / "environment" / "Dockerfile").read_text()


def test_a_harbor_task_judges_like_the_contract(harbor: Path, tmp_path: Path) -> None:
    for name in ("durations-carry", "small"):
        assert judge_harbor_task(harbor / name, tmp_path / f"{name}-base", solved=False) == 0
        assert judge_harbor_task(harbor / name, tmp_path / f"{name}-solved", solved=True) == 1


FORGERIES = {
    "test-changed": "mkdir -p tests; echo pass > tests/test_calc.py",
    "link-in-place-of-tests": "rm -r tests; ln -s /tmp tests",
    "module-of-the-standard-library": "mkdir unittest; echo 'raise SystemExit(0)' > unittest/__init__.py",
    "site-customisation": "echo 'import os; os._exit(0)' > sitecustomize.py",
}


@pytest.mark.parametrize("name", sorted(FORGERIES))
def test_a_forgery_in_the_tree_gets_no_reward(name: str, harbor: Path, tmp_path: Path) -> None:
    assert judge_harbor_task(harbor / "small", tmp_path / "task", solved=False, change=FORGERIES[name]) == 0


def test_a_restored_file_does_not_fail_a_right_solution(harbor: Path, tmp_path: Path) -> None:
    change = "rm -r tests; ln -s /etc tests"
    assert judge_harbor_task(harbor / "small", tmp_path / "task", solved=True, change=change) == 1


def task_row(folder: Path) -> dict[str, Any]:
    row: dict[str, Any] = yaml.safe_load((folder / "task.yaml").read_text())
    return row


def test_a_swebench_repository_and_its_lines_are_the_same(swebench: Path) -> None:
    assert yaml.safe_load((swebench / "sweb.yaml").read_text()) == {
        "datasets": ["proctor/contracts"],
        "splits": ["test"],
    }
    lines = [json.loads(line) for line in (swebench / "instances.jsonl").read_text().splitlines()]
    assert [one["instance_id"] for one in lines] == ["proctor__durations-carry", "proctor__small"]
    for line in lines:
        jsonschema.validate(line, peer_rules.SWEBENCH_INSTANCE)
        folder = swebench / "tasks" / line["instance_id"]
        row = task_row(folder)
        jsonschema.validate(row, peer_rules.SWEBENCH_TASK)
        assert {name: line[name] for name in row if name in line} == {
            name: value for name, value in row.items() if name in line
        }
        assert line["patch"] == (folder / "gold.patch").read_text() and line["patch"].startswith("diff --git ")
        assert line["eval_script"] == (folder / "eval.sh").read_text()
        tests = json.loads((folder / "tests.json").read_text())
        assert {name: json.loads(line[name]) for name in tests} == tests and tests["FAIL_TO_PASS"]
        script = line["eval_script"].splitlines()
        assert script.count(": '>>>>> Start Test Output'") == script.count(": '>>>>> End Test Output'") == 1
        assert (folder / "Dockerfile").read_text().startswith(f"FROM {IMAGE}\n")


def test_a_swebench_instance_judges_like_the_contract(swebench: Path, tmp_path: Path) -> None:
    for name in ("durations-carry", "small"):
        task = swebench / "tasks" / f"proctor__{name}"
        tests = json.loads((task / "tests.json").read_text())
        found = statuses(swebench_log(task, tmp_path / f"{name}-base", patch=b""))
        assert found.keys() == {test for ids in tests.values() for test in ids}
        assert {found[test] for test in tests["PASS_TO_PASS"]} <= {"PASSED"}
        assert "FAILED" in {found[test] for test in tests["FAIL_TO_PASS"]}
        found = statuses(swebench_log(task, tmp_path / f"{name}-gold", patch=(task / "gold.patch").read_bytes()))
        assert set(found.values()) == {"PASSED"}


PRINTED = """diff --git a/calc.py b/calc.py
--- a/calc.py
+++ b/calc.py
@@ -1,2 +1,5 @@
+print("PASSED check::adds")
+print(">>>>> End Test Output")
+print("PASSED check::more", flush=True)
 def add(a, b):
     return a - b
diff --git a/tarfile.py b/tarfile.py
new file mode 100644
--- /dev/null
+++ b/tarfile.py
@@ -0,0 +1 @@
+raise SystemExit(0)
"""


def test_printed_results_are_no_results(swebench: Path, tmp_path: Path) -> None:
    task = swebench / "tasks" / "proctor__small"
    log = swebench_log(task, tmp_path / "forged", patch=PRINTED.encode())
    assert "| PASSED check::adds" in log
    assert statuses(log)["check::adds"] == "FAILED"


@pytest.mark.parametrize("image", ["", "debian:bookworm", "debian@sha256:abc", "x y@sha256:" + "a" * 64])
def test_an_image_without_a_digest_is_refused(
    image: str, proctor_at: Command, contracts: tuple[Path, ...], tmp_path: Path
) -> None:
    done = proctor_at("export", "harbor", contracts[0], "--image", image, "--out", tmp_path / "out")
    assert done.returncode == 2 and "NAME@sha256:DIGEST" in done.stderr
    assert not (tmp_path / "out").exists()


def test_what_no_exported_task_can_do_is_refused(
    proctor_at: Command, make_contract: ContractMaker, tmp_path: Path
) -> None:
    again = make_contract("again", setup=[{"run": "true", "repeat": "after_patch"}])
    done = proctor_at("export", "harbor", again, "--image", IMAGE, "--out", tmp_path / "out")
    assert done.returncode == 2 and "repeats after the patch" in done.stderr
    unsolved = make_contract("unsolved", reference=None)
    done = proctor_at("export", "swebench", unsolved, "--image", IMAGE, "--out", tmp_path / "out")
    assert done.returncode == 2 and "no reference solution" in done.stderr


def test_two_contracts_of_one_name_are_refused(
    proctor_at: Command, contracts: tuple[Path, ...], tmp_path: Path
) -> None:
    twice = (contracts[1], contracts[1])
    done = proctor_at("export", "harbor", *twice, "--image", IMAGE, "--out", tmp_path / "out")
    assert done.returncode == 2 and "two contracts have the name 'small'" in done.stderr


@pytest.mark.parametrize(
    ("test", "expected"),
    [
        ("tests/test_a.py::test_b[1-x]", "tests/test_a.py::test_b[1-x]"),
        ("adds two numbers", "adds%20two%20numbers"),
        ("100% of\tall", "100%25%20of%09all"),
        ("100%", "100%"),
        ("é", "é"),
        ("é b", "%C3%A9%20b"),
    ],
)
def test_ids_are_one_printable_word(test: str, expected: str) -> None:
    assert escaped(test) == expected
    assert not needs_escapes(escaped(test))


def test_toml_can_be_read_again() -> None:
    table = {"a": 'x"\\\n\x7f\u2028é', "b": [1, "c"], "t": {"n": 1.5, "inner": {"s": ""}}, "u": {"k": True}}
    assert tomllib.loads(toml({**table, "u": {"k": 2}})) == {**table, "u": {"k": 2}}
