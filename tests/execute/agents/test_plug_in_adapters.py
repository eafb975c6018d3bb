"""Adapters of other packages: listed, checked when they load, part of the identity; and the skeleton of a package."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from proctor.base.errors import UsageFault
from proctor.conduct.session.agent_setup import PlugIn
from proctor.execute.agents.adapters.adapter_registry import PLUG_INS
from proctor.execute.agents.interface import AgentDescription, AgentRequest
from proctor.execute.agents.options import AgentOptions
from proctor.execute.agents.patch_agent import NoopAgent
from proctor.execute.agents.registry import make_agent
from proctor.execute.sandbox.interface import Mount
from tests.conftest import ContractMaker
from tests.execute.agents.test_real_agents import FINDING

Proctor = Callable[..., subprocess.CompletedProcess[str]]

MODULE = """
from proctor.execute.agents.adapters.interface import *
from dataclasses import replace

def launch(order):
    return Launch(("/opt/agent/bin/python", "-m", "mine", order.task), {"URL": order.model.address}, extra=1)

ADAPTER = Adapter("mine", "an agent of mine", Recipe("pypi", ("tiny==1.0",)), ("chat",), (".mine/*",), launch)
"""


def install(place: Path, change: str = "", name: str = "mine", package: str = "acme-adapters") -> None:
    """A package with one adapter, as an installer would leave it."""
    stem = package.replace("-", "_")
    place.mkdir(parents=True, exist_ok=True)
    (place / f"{stem}.py").write_text(f"{MODULE}\n{change}\n")
    info = place / f"{stem}-1.5.dist-info"
    info.mkdir()
    (info / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {package}\nVersion: 1.5\n")
    (info / "entry_points.txt").write_text(f"[proctor.adapters]\n{name} = {stem}:ADAPTER\n")


def listed(proctor: Proctor, site: Path) -> dict[str, dict[str, str]]:
    done = proctor("agents", "list", "--json", PYTHONPATH=str(site))
    assert done.returncode == 0, done.stderr
    return {row["kind"]: row for row in json.loads(done.stdout)["agents"] if row["from"] != "built in"}


def test_an_adapter_of_a_package_is_listed_and_shown_like_the_others(proctor: Proctor, tmp_path: Path) -> None:
    site = tmp_path / "site"
    install(site)
    row = listed(proctor, site)["mine"]
    assert row["from"] == "pypi" and row["installed"] == ""
    assert row["words"] == "an agent of mine (chat); adapter of acme-adapters 1.5"
    shown = json.loads(proctor("agents", "show", "mine", "--json", PYTHONPATH=str(site)).stdout)
    assert shown["package"] == "acme-adapters 1.5" and shown["packages"] == ["tiny==1.0"] and shown["acp"] is False
    refused = proctor("agents", "show", "mine")
    assert refused.returncode == 2 and "there is no agent 'mine'" in refused.stderr


BAD = {
    "no adapter": ("ADAPTER = {}", "it is a dict, not an Adapter"),
    "no text of Python": ("def (", "SyntaxError: invalid syntax"),
    "no such object": ("del ADAPTER", "has no attribute 'ADAPTER'"),
    "no module": ("import no_such_module", "ModuleNotFoundError: No module named 'no_such_module'"),
    "leaves instead of loading": ("exit(3)", "SystemExit: 3"),
    "another name": ("ADAPTER = replace(ADAPTER, name='other')", "its name is 'other'"),
    "no description": ("ADAPTER = replace(ADAPTER, description=' ')", "its description is not one line"),
    "another registry": ("ADAPTER = replace(ADAPTER, recipe=Recipe('cargo', ('a',)))", "neither npm nor pypi"),
    "no packages": ("ADAPTER = replace(ADAPTER, recipe=Recipe('npm', ()))", "not a tuple of texts"),
    "a range": ("ADAPTER = replace(ADAPTER, recipe=Recipe('npm', ('a@^1',)))", "'a@^1' of its recipe is not pinned"),
    "an option of pip": (
        "ADAPTER = replace(ADAPTER, recipe=Recipe('pypi', ('--pre==1',)))",
        "'--pre==1' of its recipe is not pinned as NAME==VERSION",
    ),
    "another python": ("ADAPTER = replace(ADAPTER, recipe=Recipe('pypi', ('a==1',), python='4'))", "not a version"),
    "no recipe": ("ADAPTER = replace(ADAPTER, recipe='a')", "its recipe is a str"),
    "another dialect": ("ADAPTER = replace(ADAPTER, dialects=('morse',))", "there is no dialect 'morse'"),
    "no dialect": ("ADAPTER = replace(ADAPTER, dialects=())", "its dialects are not"),
    "a command as a pattern": ("ADAPTER = replace(ADAPTER, trajectory=('$(id)',))", "the pattern '$(id)'"),
    "a pattern outside": ("ADAPTER = replace(ADAPTER, trajectory=('../x',))", "the pattern '../x'"),
    "another option": ("ADAPTER = replace(ADAPTER, options=frozenset({'speed'}))", "its options are not"),
    "no function": ("ADAPTER = replace(ADAPTER, launch=None)", "its launch is not a function"),
    "no acp function": ("ADAPTER = replace(ADAPTER, acp=3)", "its acp is not a function"),
    "a function that fails": (
        "ADAPTER = replace(ADAPTER, launch=lambda order: 1 / 0)",
        "launch() raises ZeroDivisionError",
    ),
    "no launch": ("ADAPTER = replace(ADAPTER, acp=lambda order: None)", "acp() returns a NoneType, not a Launch"),
    "a program by name": ("ADAPTER = replace(ADAPTER, launch=lambda order: Launch(('sh',)))", "without its full path"),
    "a file outside": (
        "ADAPTER = replace(ADAPTER, launch=lambda order: Launch(('/bin/sh',), files={'../x': ''}))",
        "not below the home directory: '../x'",
    ),
    "a number as a variable": (
        "ADAPTER = replace(ADAPTER, launch=lambda order: Launch(('/bin/sh',), {'A': 1}))",
        "environment that do not map texts to texts",
    ),
}


@pytest.mark.parametrize("name", BAD)
def test_m12_a_broken_adapter_is_an_error_of_its_package(
    proctor: Proctor, make_contract: ContractMaker, tmp_path: Path, name: str
) -> None:
    change, says = BAD[name]
    site = tmp_path / "site"
    install(site, change)
    rows = listed(proctor, site)
    blamed, interface = "the adapter 'mine' of the package acme-adapters", "docs/extending.md"
    words = rows["mine"]["words"]
    assert words.startswith(blamed) and says in words and interface in words and "\n" not in words, words
    assert "codex" in rows
    run = ("run", make_contract(), "--agent", "mine", "--model", "openai/m", "--endpoint", "http://127.0.0.1:1")
    once = (run,) if name in ("no text of Python", "a function that fails") else ()
    for arguments in (("agents", "install", "mine"), ("agents", "show", "mine"), *once):
        done = proctor(*arguments, PYTHONPATH=str(site))
        assert done.returncode == 2 and blamed in done.stderr and says in done.stderr, done.stderr
        assert interface in done.stderr
        assert "Traceback" not in done.stderr and "defect" not in done.stderr


def test_an_adapter_that_fails_later_is_an_error_of_its_package(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    install(tmp_path / "site")
    monkeypatch.syspath_prepend(tmp_path / "site")

    class Failing(NoopAgent):
        def describe(self) -> AgentDescription:
            raise KeyError("large")

        def mounts(self) -> tuple[Mount, ...]:
            raise SystemExit(3)

    agent = PlugIn(Failing(), "mine", PLUG_INS)
    with pytest.raises(UsageFault, match="of the package acme-adapters cannot be used: KeyError: 'large'"):
        agent.describe()
    with pytest.raises(UsageFault, match="of the package acme-adapters cannot be used: SystemExit: 3"):
        agent.mounts()


def test_the_variables_of_an_agent_of_a_package_are_known_to_replays() -> None:
    request = AgentRequest("command", "x", options=AgentOptions(environment={"MINE": "yes"}))
    assert PlugIn(make_agent(request), "mine", PLUG_INS).variables == {"MINE": "yes"}
    assert PlugIn(NoopAgent(), "mine", PLUG_INS).variables == {}


@pytest.mark.parametrize("name", ["codex", "noop"])
def test_a_built_in_agent_cannot_be_replaced(proctor: Proctor, tmp_path: Path, name: str) -> None:
    site = tmp_path / "site"
    install(site, f"ADAPTER = replace(ADAPTER, name={name!r})", name)
    done = proctor("agents", "list", "--json", PYTHONPATH=str(site))
    words = [row["words"] for row in json.loads(done.stdout)["agents"] if row["kind"] == name]
    assert len(words) == 2 and words[1] == f"the package acme-adapters cannot replace the built-in agent {name!r}"
    if name == "codex":
        shown = json.loads(proctor("agents", "show", name, "--json", PYTHONPATH=str(site)).stdout)
        assert shown["package"] == "proctor"


def test_two_packages_with_one_name(proctor: Proctor, tmp_path: Path) -> None:
    install(tmp_path / "site")
    install(tmp_path / "site", package="other-adapters")
    rows = listed(proctor, tmp_path / "site")
    assert "the packages acme-adapters and other-adapters both have the adapter 'mine'" in rows["mine"]["words"]


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (("mine",), "name one package"),
        (("mine", "--npm", "a@1.0.0", "--pypi", "a==1.0"), "name one package"),
        (("mine", "--npm", "a"), "not a pinned release: 'a'"),
        (("mine", "--pypi", "a>=1"), "not a pinned release: 'a>=1'"),
        (("codex", "--pypi", "a==1"), "codex is a built-in agent"),
        (("My Agent", "--pypi", "a==1"), "not a name for an agent: 'My Agent'"),
        (("mine", "--pypi", "a==1", "--dialect", "morse"), "there is no dialect 'morse'"),
        (("mine", "--pypi", "a==1", "--program", '"; x'), "not a program"),
    ],
)
def test_a_skeleton_that_cannot_be_written(
    proctor: Proctor, tmp_path: Path, arguments: tuple[str, ...], says: str
) -> None:
    place = tmp_path / "new"
    done = proctor("agents", "new", *arguments, "--out", place)
    assert done.returncode == 2 and says in done.stderr, done.stderr
    assert not place.exists()


@pytest.mark.parametrize(
    "how",
    [
        ("--pypi", "tiny-agent==1.0"),
        (
            "--npm",
            "@acme/agent@2.1.0",
            "--dialect",
            "anthropic",
            "--dialect",
            "chat",
            "--program",
            "@acme/agent/bin/a.js",
        ),
    ],
    ids=["pypi", "npm"],
)
def test_the_skeleton_of_a_package_passes_its_own_tests(proctor: Proctor, tmp_path: Path, how: tuple[str, ...]) -> None:
    place = tmp_path / "proctor-mine"
    done = proctor("agents", "new", "mine", *how, "--out", place)
    assert done.returncode == 0, done.stderr
    own = subprocess.run(
        [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "."], cwd=place, capture_output=True, text=True
    )
    assert own.returncode == 0 and "5 passed" in own.stdout, own.stdout
    imported = re.findall(
        r"^from (proctor(?:\.\w+)*) import", "".join(map(Path.read_text, place.glob("*.py"))), re.MULTILINE
    )
    assert sorted(imported) == ["proctor.plugins", "proctor.testing"], "the interface, which does not change"
    again = proctor("agents", "new", "mine", *how, "--out", place)
    assert again.returncode == 2 and "not an empty directory" in again.stderr
    readme = (place / "README.md").read_text()
    for line in (
        "pip --python PYTHON install pytest .",
        "proctor agents install mine",
        "proctor run CONTRACT",
        "proctor verify last",
    ):
        assert line in readme


@pytest.mark.agents
def test_an_adapter_of_a_third_party_package_from_the_documentation_alone(project: Path, tmp_path: Path) -> None:
    """The package is written, filled in, built and installed; its agent is installed, locked, run and verified."""
    from proctor.execute.inputs.pypi import python_with_pip

    named = os.environ.get("PROCTOR_AGENTS_HOME")
    variables = {**os.environ, "PROCTOR_HOME": named or str(tmp_path / "home"), "PYTHONPATH": str(tmp_path / "site")}

    def proctor(*arguments: str | Path) -> subprocess.CompletedProcess[str]:
        command = [sys.executable, "-m", "proctor", *map(str, arguments)]
        return subprocess.run(command, capture_output=True, text=True, timeout=1200, env=variables)

    place = tmp_path / "proctor-my-gptme"
    done = proctor("agents", "new", "my-gptme", "--pypi", "gptme==0.35.1", "--out", place)
    assert done.returncode == 0, done.stderr
    module = place / "proctor_my_gptme.py"
    flags = '"--non-interactive", "--tool-format", "tool", "-m", f"local/{order.model.name}", order.task'
    module.write_text(module.read_text().replace('("gptme", order.task)', f'("gptme", {flags})'))
    flags_of_pip = ("--quiet", "--no-deps", "--target", str(tmp_path / "site"))
    pip = [*python_with_pip(place), "-m", "pip", "install", *flags_of_pip, "."]
    built = subprocess.run(pip, cwd=place, capture_output=True, text=True, timeout=600)
    assert built.returncode == 0, built.stderr
    done = proctor("agents", "install", "my-gptme")
    assert done.returncode == 0, done.stderr
    lock = tmp_path / "lock.json"
    lock.write_text(proctor("agents", "show", "my-gptme", "--lock").stdout)
    assert proctor("agents", "install", "my-gptme", "--lock", lock).returncode == 0
    script = tmp_path / "find.yaml"
    script.write_text(json.dumps(FINDING))
    contract = project / "examples" / "jsonpointer-missing-key"
    model = ("--model", "scripted/gpt-4o", "--script", script)
    done = proctor("run", contract, "--agent", "my-gptme", *model, "--json")
    assert done.returncode == 0, done.stdout + done.stderr
    run: str = json.loads(done.stdout)["runs"][0]["run"]
    assert proctor("verify", run).returncode == 0
    manifest: dict[str, Any] = json.loads(
        (Path(variables["PROCTOR_HOME"]) / "runs" / run / "manifest.json").read_text()
    )
    settings = manifest["agent"]["settings"]
    assert (settings["adapter_package"], settings["adapter_version"]) == ("proctor-my-gptme", "0.1.0")
    assert settings["adapter_launch"].startswith("sha256:") and settings["version"] == "0.35.1"
