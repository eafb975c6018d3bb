"""A contract whose setup inputs hold another version of the project under test is refused by every command."""

from __future__ import annotations

import hashlib
import io
import json
import subprocess
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

Proctor = Callable[..., subprocess.CompletedProcess[str]]
Write = Callable[..., Path]

PYPROJECT = '[project]\nname = "calc"\nversion = "1.0"\n'
SETUP = [{"run": "ls /inputs > /setup/list"}]


def wheel(name: str, version: str) -> bytes:
    data = io.BytesIO()
    with zipfile.ZipFile(data, "w") as archive:
        archive.writestr(f"{name}/__init__.py", "def add(a, b):\n    return a + b\n")
        archive.writestr(f"{name}-{version}.dist-info/METADATA", f"Name: {name}\nVersion: {version}\n")
    return data.getvalue()


@pytest.fixture
def write(make_contract: Any) -> Write:
    """A contract on calc 1.0 with one setup input, a wheel; ``more`` are fields of the input."""

    def made(name: str = "calc", version: str = "1.1", **more: Any) -> Path:
        data = wheel(name, version)
        one = {"name": "tools", "archive": "tools.whl", "sha256": hashlib.sha256(data).hexdigest(), **more}
        contract: Path = make_contract(files={"pyproject.toml": PYPROJECT}, inputs=[one], setup=SETUP)
        (contract / "tools.whl").write_bytes(data)
        return contract

    return made


def mistake(contract: Path) -> str:
    """The mistake at the input's line, as a command prints it."""
    lines = (contract / "contract.yaml").read_text().splitlines()
    number = next(index for index, line in enumerate(lines) if '"name": "tools"' in line)
    column = lines[number - 1].index("{") + 1
    return (
        f"{contract}/contract.yaml:{number}:{column}: input 'tools': tools.whl is the project under test: calc 1.1, "
        "and the repository is 1.0 (remove it from the inputs, mark the input for: judge, or give a reason in its "
        "field accept_copy)"
    )


@pytest.mark.parametrize(
    "arguments",
    [["lint"], ["lock"], ["validate", "--times", "1"], ["run", "--agent", "noop"]],
    ids=lambda arguments: arguments[0],
)
def test_j3_every_command_refuses_it(proctor: Proctor, write: Write, arguments: list[str]) -> None:
    contract = write()
    done = proctor(arguments[0], contract, *arguments[1:])
    assert done.returncode == 2
    assert mistake(contract) in done.stderr
    assert "Traceback" not in done.stderr
    assert not (contract / "contract.lock").exists()


def test_j3_the_linter_reports_it_as_a_mistake_with_its_place(proctor: Proctor, write: Write) -> None:
    done = proctor("lint", write(), "--json")
    (found,) = json.loads(done.stdout)["mistakes"]
    assert (found["line"] > 0, found["column"] > 0) == (True, True)
    assert "calc 1.1" in found["message"]


def test_j3_a_git_repository_is_known_by_its_own_metadata(proctor: Proctor, write: Write, tmp_path: Path) -> None:
    contract, source = write(), tmp_path / "source"
    source.mkdir()
    (source / "calc.py").write_text("def add(a, b):\n    return a - b\n")
    (source / "pyproject.toml").write_text('[project]\nname = "calc"\ndynamic = ["version"]\n')

    def git(*words: str) -> str:
        named = ["git", "-C", str(source), "-c", "user.name=x", "-c", "user.email=x@example.org", *words]
        return subprocess.run(named, check=True, capture_output=True, text=True).stdout.strip()

    git("init", "-q")
    git("add", ".")
    git("commit", "-q", "-m", "first")
    whole = json.loads((contract / "contract.yaml").read_text())
    whole["repository"] = {"git": str(source), "commit": git("rev-parse", "HEAD")}
    (contract / "contract.yaml").write_text(json.dumps(whole))
    done = proctor("lint", contract)
    assert done.returncode == 2
    assert "calc 1.1, and the repository is of an unknown version" in done.stderr


def test_another_project_is_fine_and_a_run_starts(proctor: Proctor, write: Write, tmp_path: Path) -> None:
    contract = write("other")
    assert proctor("lock", contract).returncode == 0
    assert proctor("run", contract, "--agent", "reference").returncode == 0
    assert len(list((tmp_path / "home" / "searches").iterdir())) == 1


def test_an_input_for_the_judge_may_hold_the_solution(proctor: Proctor, write: Write) -> None:
    assert proctor("lint", write(**{"for": "judge"})).returncode == 0


def test_a_reason_accepts_it_and_is_a_warning(proctor: Proctor, write: Write) -> None:
    contract = write(accept_copy="the fix came with 1.2")
    done = proctor("lint", contract)
    assert done.returncode == 0
    assert "warning: contract.yaml" in done.stdout
    assert "calc 1.1, and the repository is 1.0; accepted: the fix came with 1.2" in done.stdout
    assert proctor("lint", contract, "--strict").returncode == 1
    assert proctor("lock", contract).returncode == 0
    assert proctor("run", contract, "--agent", "reference").returncode == 0


def test_a_reason_is_part_of_the_content_id(proctor: Proctor, write: Write) -> None:
    contract = write()
    first = json.loads(proctor("show", contract, "--json").stdout)["id"]
    whole = json.loads((contract / "contract.yaml").read_text())
    whole["inputs"][0]["accept_copy"] = "a reason"
    (contract / "contract.yaml").write_text(json.dumps(whole))
    assert json.loads(proctor("show", contract, "--json").stdout)["id"] != first


def test_a_reason_that_is_not_needed_is_remarked(proctor: Proctor, write: Write) -> None:
    assert "needs no accept_copy" in proctor("lint", write("other", accept_copy="a reason")).stdout


@pytest.mark.parametrize("more", [{"accept_copy": ""}, {"accept_copy": "x", "for": "judge"}], ids=["empty", "judge"])
def test_a_reason_must_make_sense(proctor: Proctor, write: Write, more: dict[str, str]) -> None:
    done = proctor("lint", write(**more))
    assert done.returncode == 2
    assert "accept_copy" in done.stderr or "not empty text" in done.stderr


def test_a_damaged_record_of_a_search_is_made_again(proctor: Proctor, write: Write, tmp_path: Path) -> None:
    contract = write()
    assert proctor("lint", contract).returncode == 2
    (record,) = (tmp_path / "home" / "searches").iterdir()
    whole = record.read_bytes()
    for damage in (b"", b"[]", whole.replace(b'"is_other":true', b'"is_other":false')):
        record.write_bytes(damage)
        assert proctor("lint", contract).returncode == 2
        assert record.read_bytes() == whole


def test_a_search_is_remembered_without_the_input(proctor: Proctor, write: Write, tmp_path: Path) -> None:
    contract = write("other")
    assert proctor("run", contract, "--agent", "reference").returncode == 0
    assert proctor("clean", "--inputs").returncode == 0
    (contract / "tools.whl").write_bytes(b"")
    assert proctor("run", contract, "--agent", "reference").returncode == 0


def test_an_input_that_was_not_fetched_is_one_remark(proctor: Proctor, write: Write) -> None:
    contract = write()
    whole = json.loads((contract / "contract.yaml").read_text())
    whole["inputs"][0]["archive"] = "http://127.0.0.1:9/tools.whl"
    (contract / "contract.yaml").write_text(json.dumps(whole))
    done = proctor("lint", contract)
    assert done.returncode == 0
    assert done.stdout.count("not searched for copies of the project under test: tools") == 1


def test_a_recorded_run_is_judged_again_whatever_its_inputs_hold(
    proctor: Proctor, write: Write, tmp_path: Path
) -> None:
    contract = write("other")
    done = proctor("run", contract, "--agent", "reference", "--json")
    run = json.loads(done.stdout)["runs"][0]["run"]
    for record in (tmp_path / "home" / "searches").iterdir():
        record.unlink()
    (contract / "tools.whl").write_bytes(b"")
    assert proctor("replay", run, "--acceptance").returncode == 0
