"""The bundled contract is whole, the same everywhere, and means what it says."""

from __future__ import annotations

import hashlib
import subprocess
import sys
from pathlib import Path

import pytest

from proctor.author.demo import build
from proctor.author.lint_hidden_tests import remarks_on_unprotected
from proctor.base.clock import system_entropy
from proctor.base.errors import InfrastructureFault
from proctor.contract.digest import content_id
from proctor.contract.lint import lint
from proctor.contract.load import load_contract
from proctor.judge.checks.results_readers import tap
from proctor.judge.checks.sentinels import plant_declared, verdict

KEPT = set((build.HERE / "contract" / "keep_passing.txt").read_text().split())
HIDDEN = "test_carry.CarryTest."


def unpacked(contract: Path, directory: Path) -> Path:
    """The repository of ``contract`` with its hidden tests, laid out in ``directory``."""
    subprocess.run(["tar", "-xf", contract / build.ARCHIVE, "-C", directory], check=True)
    subprocess.run(["cp", "-r", f"{contract}/hidden/.", directory], check=True)
    return directory


def outcomes(tree: Path) -> dict[str, bool]:
    """What the tests of ``tree`` say of themselves, by id."""
    done = subprocess.run(
        [sys.executable, "-B", "tests/run.py"], cwd=tree, env={"LANG": "C.UTF-8"}, capture_output=True, text=True
    )
    lines = [line for line in done.stdout.splitlines() if line.startswith(("ok ", "not ok "))]
    return {line.split(" - ")[1]: line.startswith("ok ") for line in lines}


@pytest.fixture
def contract(tmp_path: Path) -> Path:
    return build.materialise(tmp_path / "contract")


@pytest.fixture
def tree(contract: Path, tmp_path: Path) -> Path:
    (tmp_path / "tree").mkdir()
    return unpacked(contract, tmp_path / "tree")


def test_two_copies_are_the_same(contract: Path, tmp_path: Path) -> None:
    again = build.materialise(tmp_path / "again")
    files = [path.relative_to(contract) for path in sorted(contract.rglob("*")) if path.is_file()]
    assert files == [path.relative_to(again) for path in sorted(again.rglob("*")) if path.is_file()]
    assert all((contract / name).read_bytes() == (again / name).read_bytes() for name in files)
    assert not any("repository" in name.parts for name in files)


def test_the_contract_names_the_archive(contract: Path) -> None:
    found = hashlib.sha256((contract / build.ARCHIVE).read_bytes()).hexdigest()
    assert f"sha256: {found}" in (contract / "contract.yaml").read_text()


def test_the_contract_loads_and_leaves_nothing_open(contract: Path) -> None:
    loaded = load_contract(contract)
    assert [remark for remark in lint(loaded) if remark.severity == "warning"] == []
    assert remarks_on_unprotected(loaded) == ()
    assert [check.gate for check in loaded.checks] == ["build", "static", "acceptance"]
    assert set(loaded.checks[-1].keep_passing) == KEPT
    assert all(name.startswith(HIDDEN) for name in loaded.checks[-1].must_pass)


def test_the_contract_means_the_same_everywhere(contract: Path, tmp_path: Path) -> None:
    again = build.materialise(tmp_path / "again")
    assert content_id(load_contract(contract)) == content_id(load_contract(again))


def test_a_damaged_installation_is_noticed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    shipped = tmp_path / "shipped"
    subprocess.run(["cp", "-r", str(build.HERE), shipped], check=True)
    (shipped / "contract" / "repository" / "README.md").write_text("something else\n")
    monkeypatch.setattr(build, "HERE", shipped)
    with pytest.raises(InfrastructureFault, match="not the one that its contract names"):
        build.materialise(tmp_path / "out")


def test_byte_code_is_not_packed(contract: Path, tmp_path: Path) -> None:
    repository = tmp_path / "repository"
    subprocess.run(["cp", "-r", str(build.HERE / "contract" / "repository"), repository], check=True)
    (repository / "durations" / "__pycache__").mkdir(exist_ok=True)
    (repository / "durations" / "__pycache__" / "units.cpython-311.pyc").write_bytes(b"code")
    assert build.packed(repository) == (contract / build.ARCHIVE).read_bytes()


def test_the_base_fails_exactly_the_hidden_tests(tree: Path) -> None:
    found = outcomes(tree)
    assert {name for name, passed in found.items() if passed} == KEPT
    assert all(name.startswith(HIDDEN) for name, passed in found.items() if not passed)
    assert len(found) == len(KEPT) + 5


def test_the_reference_passes_everything(contract: Path, tree: Path) -> None:
    subprocess.run(["git", "apply", contract / "reference.patch"], cwd=tree, check=True)
    found = outcomes(tree)
    assert set(found.values()) == {True}
    assert found.keys() > KEPT


def test_the_cheat_looks_like_a_success_to_a_plain_runner(contract: Path, tree: Path, tmp_path: Path) -> None:
    runner = (tree / "tests" / "run.py").read_bytes()
    agent = build.cheating_agent(tmp_path / "agent")
    subprocess.run([sys.executable, agent / "forge.py"], cwd=tree, check=True)
    assert (tree / "tests" / "run.py").read_bytes() != runner
    (tree / "tests" / "run.py").write_bytes(runner)
    assert set(outcomes(tree).values()) == {True}


def sentinels(contract: Path, tree: Path, results: Path) -> str:
    """What the contract's sentinels say of results that the tests of ``tree`` wrote."""
    declared = load_contract(contract).checks[-1].sentinel
    assert declared is not None
    planted = plant_declared(declared, system_entropy)
    (tree / planted.path).write_text(planted.text)
    results.mkdir(exist_ok=True)
    environment = {"LANG": "C.UTF-8", "PROCTOR_RESULTS": str(results)}
    subprocess.run([sys.executable, "-B", "tests/run.py"], cwd=tree, env=environment, capture_output=True, check=False)
    (tree / planted.path).unlink()
    return verdict(planted, tap.parse((results / "tests.tap").read_bytes()))


def test_a_sentinel_sees_through_the_cheat(contract: Path, tree: Path, tmp_path: Path) -> None:
    assert sentinels(contract, tree, tmp_path / "results") == "genuine"
    runner = (tree / "tests" / "run.py").read_bytes()
    agent = build.cheating_agent(tmp_path / "agent")
    subprocess.run([sys.executable, agent / "forge.py"], cwd=tree, check=True)
    (tree / "tests" / "run.py").write_bytes(runner)
    assert sentinels(contract, tree, tmp_path / "results") == "forged"


@pytest.mark.parametrize(
    "attack",
    [
        "u.TestCase.assertEqual = u.TestCase.assertNotIn = lambda *a, **k: None",
        "u.TestCase.assertNotIn = lambda *a, **k: None",
        "u.case._AssertRaisesContext.__exit__ = lambda *a: True",
        "u.TestCase.fail = lambda *a, **k: None",
    ],
)
def test_one_kind_of_assertion_made_harmless(contract: Path, tree: Path, tmp_path: Path, attack: str) -> None:
    with (tree / "durations" / "__init__.py").open("a") as module:
        module.write(f"\nimport unittest as u\n{attack}\n")
    assert sentinels(contract, tree, tmp_path / "results") == "forged"


def test_the_issue_does_not_give_the_solution_away() -> None:
    text = (build.HERE / "contract" / "issue.md").read_text()
    patch = (build.HERE / "contract" / "reference.patch").read_text()
    added = [line[1:].strip() for line in patch.splitlines() if line.startswith("+") and not line.startswith("+++")]
    assert not any(line in text for line in added)
