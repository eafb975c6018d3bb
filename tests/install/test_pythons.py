"""What users install works outside the checkout: on every supported Python, from a wheel and from the source archive.

On a developer's machine the Pythons that are installed are used; in CI all must be there.
"""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path

import pytest

from tests.install.conftest import Files, Installer, succeed

VERSIONS = ("3.11", "3.12", "3.13")
TURNS = """
schema: 1
turns:
  - {call: {tool: edit, arguments: {path: greeting.py, old: '+ name', new: '+ (name.strip() or "world")'}}}
  - {say: "Done."}
"""


def python_of(version: str) -> Path | None:
    """A Python of ``version``: the newest that pyenv installed, or the first on ``PATH`` that starts."""
    own = Path.home() / ".pyenv" / "versions"
    found = [str(path) for path in sorted(own.glob(f"{version}.*/bin/python{version}"), reverse=True)]
    found += filter(None, [shutil.which(f"python{version}")])
    for path in found:
        done = subprocess.run([path, "-c", "import venv"], capture_output=True)
        if done.returncode == 0:
            return Path(path)
    return None


PYTHONS = [version for version in VERSIONS if os.environ.get("CI") or python_of(version)]


def variables_of(programs: Path, place: Path) -> dict[str, str]:
    return {
        "PATH": f"{programs}:/usr/local/bin:/usr/bin:/bin",
        "HOME": str(place),
        "PROCTOR_HOME": str(place / "home"),
        "LANG": "C.UTF-8",
    }


def proctor(place: Path, variables: Mapping[str, str], *arguments: str) -> str:
    """The output of a command that must succeed, without a word about a warning."""
    done = subprocess.run(
        ["proctor", *arguments], cwd=place, env=dict(variables), capture_output=True, text=True, timeout=300
    )
    assert done.returncode == 0, done.stdout + done.stderr
    assert "Warning" not in done.stderr and "Traceback" not in done.stderr, done.stderr
    return done.stdout


def refused(place: Path, variables: Mapping[str, str], extra: str, *arguments: str) -> None:
    """A command that lacks ``extra`` says so in one message."""
    done = subprocess.run(["proctor", *arguments], cwd=place, env=dict(variables), capture_output=True, text=True)
    assert done.returncode == 2, done.stdout + done.stderr
    assert f"needs the extra '{extra}'" in done.stderr and len(done.stderr.splitlines()) == 2, done.stderr


def try_sandboxes(place: Path, variables: Mapping[str, str]) -> None:
    """The first commands of a newcomer: help, doctor, the demo in real sandboxes, and its runs verified."""
    assert "Usage: proctor" in proctor(place, variables, "--help")
    states = {one["name"]: one["state"] for one in json.loads(proctor(place, variables, "doctor", "--json"))["parts"]}
    assert states["helper program"] == "ok"
    proctor(place, variables, "demo")
    runs = [path.name for path in (place / "home/runs").iterdir() if re.match(r"\d{8}T", path.name)]
    assert len(runs) >= 3
    proctor(place, variables, "verify", *runs)


@pytest.mark.soak
@pytest.mark.parametrize("version", PYTHONS)
def test_i1_the_wheel_works_on_python(version: str, files: Files, install: Installer, tmp_path: Path) -> None:
    python = python_of(version)
    assert python is not None, f"Python {version} is not installed"
    programs = install(files.wheel, python=python)
    variables = variables_of(programs, tmp_path)
    assert succeed(programs / "python", "-c", "import sys; print(sys.version)").startswith(version)
    try_sandboxes(tmp_path, variables)
    (tmp_path / "turns.yaml").write_text(TURNS)
    proctor(tmp_path, variables, "init", "greeting")
    scripted = ("run", "greeting", "--agent", "builtin", "--model", "scripted/demo", "--script", "turns.yaml")
    refused(tmp_path, variables, "gateway", *scripted)
    refused(tmp_path, variables, "study", "query", "--sql", "select 1")
    refused(tmp_path, variables, "study", "analyse", "results.csv", "--out", "report")
    refused(tmp_path, variables, "prices", "prices", "import", "--model", "openai/gpt-5")


@pytest.mark.soak
@pytest.mark.parametrize("version", PYTHONS[-1:])
def test_i7_with_all_extras_every_part_works(version: str, files: Files, install: Installer, tmp_path: Path) -> None:
    programs = install(files.wheel, extras="[all]", python=python_of(version) or "")
    variables = variables_of(programs, tmp_path)
    (tmp_path / "turns.yaml").write_text(TURNS)
    (tmp_path / "results.csv").write_text("agent,task,success\na,t1,1\na,t2,0\nb,t1,1\nb,t2,1\n")
    proctor(tmp_path, variables, "init", "greeting")
    scripted = ("run", "greeting", "--agent", "builtin", "--model", "scripted/demo", "--script", "turns.yaml")
    proctor(tmp_path, variables, *scripted)
    assert "1" in proctor(tmp_path, variables, "query", "--sql", "select count(*) from runs")
    proctor(tmp_path, variables, "analyse", "results.csv", "--out", "report")
    proctor(tmp_path, variables, "prices", "import", "--model", "openai/gpt-5")


@pytest.mark.soak
def test_i1_pip_installs_the_source_archive(files: Files, tmp_path: Path, uv: Path) -> None:
    succeed(uv, "venv", "-q", "--no-project", "--seed", "--python", sys.executable, tmp_path / "environment")
    programs = tmp_path / "environment/bin"
    succeed(programs / "pip", "install", "-q", files.sources)
    try_sandboxes(tmp_path, variables_of(programs, tmp_path))


@pytest.mark.soak
def test_i1_uv_tool_installs_the_wheel(files: Files, tmp_path: Path, uv: Path) -> None:
    places = {"UV_TOOL_DIR": str(tmp_path / "tools"), "UV_TOOL_BIN_DIR": str(tmp_path / "programs")}
    command = (uv, "tool", "install", "-q", "--python", sys.executable)
    succeed(*command, f"{files.wheel}[gateway]", variables={**os.environ, **places})
    variables = variables_of(tmp_path / "programs", tmp_path)
    assert json.loads(proctor(tmp_path, variables, "doctor", "--json"))


@pytest.mark.soak
def test_i1_pipx_installs_the_wheel(files: Files, tmp_path: Path, uv: Path) -> None:
    succeed(uv, "venv", "-q", "--no-project", "--python", sys.executable, tmp_path / "environment")
    succeed(uv, "pip", "install", "-q", "--python", tmp_path / "environment/bin/python", "pipx")
    places = {"PIPX_HOME": str(tmp_path / "pipx"), "PIPX_BIN_DIR": str(tmp_path / "programs")}
    pipx = tmp_path / "environment/bin/pipx"
    succeed(pipx, "install", "--python", sys.executable, files.wheel, variables={**os.environ, **places})
    variables = variables_of(tmp_path / "programs", tmp_path)
    assert json.loads(proctor(tmp_path, variables, "doctor", "--json"))
