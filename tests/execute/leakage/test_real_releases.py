"""Real releases with their real closures: what holds another version of the project is found, and nothing else is."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Callable
from typing import Any

import pytest

Proctor = Callable[..., subprocess.CompletedProcess[str]]
PYTEST = {"pypi": "pytest==8.4.2", "with_dependencies": True}


def pypi(release: str) -> dict[str, Any]:
    return {"pypi": release, "strip": 1}


@pytest.fixture
def locked(proctor: Proctor, make_contract: Any) -> Callable[..., tuple[int, str]]:
    """Locks a contract on ``repository`` with ``inputs``: the exit code and what it says."""

    def lock(repository: dict[str, Any], *inputs: dict[str, Any]) -> tuple[int, str]:
        contract = make_contract(repository=repository, inputs=list(inputs), setup=[{"run": "true"}], reference=None)
        done = proctor("lock", contract)
        return done.returncode, done.stderr

    return lock


REFUSED = {
    "a dependency of the runner": (pypi("pluggy==1.4.0"), PYTEST, ["pluggy-1.", "and the repository is 1.4.0"]),
    "another dependency of it": (pypi("packaging==23.2"), PYTEST, ["packaging-2", "and the repository is 23.2"]),
    "vendored in pip": (pypi("idna==3.6"), {"pypi": "pip==24.0"}, ["pip-24.0-py3-none-any.whl!/pip/_vendor/idna"]),
    "vendored with metadata": (
        pypi("tomli==2.0.0"),
        {"pypi": "setuptools==75.0.0"},
        ["setuptools/_vendor is the project under test: tomli 2.0.1"],
    ),
    "a copy under another name": (
        pypi("parse==1.20.1"),
        {"pypi": "parse-type==0.6.4"},
        ["parse_type holds 1 source file nearly equal", "parse_type/parse.py"],
    ),
    "the closure of an npm package": (
        {"npm": "minimist@1.2.5", "strip": 1},
        {"npm": "mkdirp@0.5.6", "with_dependencies": True},
        ["minimist-1.2.", "and the repository is 1.2.5"],
    ),
    "a Debian source package with its patches": (
        {"deb": "cjson==1.7.15-1+deb12u4", "strip": 1},
        {"name": "packaging", "deb": "cjson==1.7.15-1+deb12u4"},
        ["cjson_1.7.15-1+deb12u4.debian.tar.xz is the project under test"],
    ),
    "a Debian binary package with a security fix": (
        pypi("sqlparse==0.4.2"),
        {
            "deb": "python3-sqlparse==0.4.2-1+deb12u1",
            "file": "python3-sqlparse_0.4.2-1+deb12u1_all.deb",
            "sha256": "edd31cf6974984723034321451333ff375d0551baf375e8bc0ececaff661eabb",
        },
        ["python3-sqlparse_0.4.2-1+deb12u1_all.deb is the project", "sqlparse/keywords.py differs"],
    ),
}


@pytest.mark.soak
@pytest.mark.corpus
@pytest.mark.parametrize("case", REFUSED)
def test_j3_a_real_copy_is_refused(locked: Any, case: str) -> None:
    repository, one, expected = REFUSED[case]
    code, said = locked(repository, one)
    assert code == 2
    for text in expected:
        assert text in said


@pytest.mark.corpus
@pytest.mark.parametrize(
    ("release", "inputs"),
    [
        ("pytest-mock==3.14.0", [PYTEST]),
        ("MarkupSafe==2.1.1", [PYTEST, {"pypi": "click==8.1.7"}, {"pypi": "Werkzeug==3.0.1"}]),
        ("attrs==23.1.0", [{"pypi": "setuptools==69.5.1"}, {"pypi": "pip==24.0"}]),
        ("iniconfig==2.0.0", [{"pypi": "iniconfig==2.0.0"}]),
    ],
    ids=["a plug-in", "one family", "large tools", "itself"],
)
def test_other_real_projects_and_the_same_release_are_fine(
    locked: Any, release: str, inputs: list[dict[str, Any]]
) -> None:
    code, said = locked(pypi(release), *inputs)
    assert (code, said) == (0, "")


@pytest.mark.corpus
def test_j3_a_project_that_is_itself_the_runner(proctor: Proctor, make_contract: Any) -> None:
    plugin = {"pypi": "pytest-mock==3.14.0", "with_dependencies": True, "accept_copy": "the checks need a whole pytest"}
    contract = make_contract(repository=pypi("pytest==8.4.1"), inputs=[plugin], setup=[{"run": "true"}], reference=None)
    assert proctor("lock", contract).returncode == 0
    remarks = json.loads(proctor("lint", contract, "--json").stdout)["remarks"]
    assert [one["severity"] for one in remarks if "accepted: the checks need a whole pytest" in one["message"]] == [
        "warning"
    ]
