"""An agent of another package is checked before it acts: each mistake is named with the package and the field."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from proctor.execute.agents.interface import AgentDescription, Ending
from proctor.execute.agents.patch_agent import NoopAgent
from proctor.execute.agents.registry import description_problems, ending_problems

Proctor = Callable[..., subprocess.CompletedProcess[str]]

MODULE = """
import os
from pathlib import Path
from proctor.execute.agents.interface import AgentDescription, Ending
from proctor.execute.sandbox.interface import Mount

class Mine:
    needs_sandbox = False
    calls = 0

    def describe(self):
        Mine.calls += 1
        return {description}

    def mounts(self):
        return {mounts}

    def act(self, scene):
        Path({marker!r}).write_text("acted")
        return Ending("finished", patch=b"")

def make(request):
    return {made}
"""

GOOD = 'AgentDescription(name="mine", kind="mine", digest="sha256:1")'


def install(place: Path, description: str = GOOD, mounts: str = "()", made: str = "Mine()") -> Path:
    """A package ``acme-agents`` with one agent, as an installer would leave it; the file it writes when it acts."""
    marker = place / "acted"
    (place / "acme").mkdir(parents=True)
    text = MODULE.format(description=description, mounts=mounts, made=made, marker=str(marker))
    (place / "acme" / "__init__.py").write_text(text)
    (place / "acme_agents-1.0.dist-info").mkdir()
    (place / "acme_agents-1.0.dist-info" / "METADATA").write_text(
        "Metadata-Version: 2.1\nName: acme-agents\nVersion: 1.0\n"
    )
    (place / "acme_agents-1.0.dist-info" / "entry_points.txt").write_text("[proctor.agents]\nmine = acme:make\n")
    return marker


BAD = {
    "empty digest": ({"description": 'AgentDescription(name="mine", kind="mine")'}, "digest is empty"),
    "blank digest": ({"description": 'AgentDescription("mine", "mine", (), " ")'}, "digest is empty"),
    "digest of bytes": ({"description": 'AgentDescription("mine", "mine", (), b"1")'}, "digest is not a string"),
    "no digest": ({"description": 'AgentDescription("mine", "mine", (), None)'}, "digest is not a string"),
    "empty name": ({"description": 'AgentDescription("", "mine", (), "1")'}, "name is empty"),
    "name that is no Unicode": ({"description": r'AgentDescription("\udc80", "mine", (), "1")'}, "name is not valid"),
    "empty kind": ({"description": 'AgentDescription("mine", "", (), "1")'}, "kind is empty"),
    "number as a kind": ({"description": 'AgentDescription("mine", 7, (), "1")'}, "kind is not a string"),
    "text as a command": ({"description": 'AgentDescription("mine", "mine", "ls -l", "1")'}, "command is not a tuple"),
    "no command": ({"description": 'AgentDescription("mine", "mine", None, "1")'}, "command is not a tuple"),
    "paths in a command": (
        {"description": 'AgentDescription("mine", "mine", (Path("/x"),), "1")'},
        "command is not a tuple",
    ),
    "number as a setting": (
        {"description": 'AgentDescription("mine", "mine", (), "1", {"t": 0.5})'},
        "settings does not map",
    ),
    "list as settings": ({"description": 'AgentDescription("mine", "mine", (), "1", ["t"])'}, "settings does not map"),
    "setting with another name": (
        {"description": 'AgentDescription("mine", "mine", (), "1", {"é": "1"})'},
        "settings has a name",
    ),
    "missing field": ({"description": 'AgentDescription("mine")'}, "TypeError: AgentDescription.__init__() missing"),
    "a dictionary": ({"description": '{"name": "mine", "digest": "1"}'}, "not an AgentDescription"),
    "nothing": ({"description": "None"}, "not an AgentDescription"),
    "an error": ({"description": "1 / 0"}, "ZeroDivisionError"),
    "mounts of text": ({"mounts": '("/tmp",)'}, "mounts() does not return"),
    "mounts that are not there": ({"mounts": '(Mount(Path("/nonexistent"), "/x"),)'}, "/nonexistent"),
    "name in two lines": (
        {"description": r'AgentDescription("mi\nne", "mine", (), "1")'},
        "name has control characters",
    ),
    "leaves instead of answering": ({"description": "exit(0)"}, "SystemExit"),
    "mounts over the system": ({"mounts": '(Mount(Path("/etc"), "/usr"),)'}, "/usr belongs to the sandbox"),
    "mounts at a relative path": ({"mounts": '(Mount(Path("/etc"), "a/b"),)'}, "not a place to mount at"),
    "mounts at bytes": ({"mounts": '(Mount(Path("/etc"), b"/a"),)'}, "a target that is not a string"),
    "mounts from text": ({"mounts": '(Mount("/etc", "/a"),)'}, "a source that is not a Path"),
    "mounts to write to": ({"mounts": '(Mount(Path("/etc"), "/a", writable=True),)'}, "makes /etc writable"),
    "mounts with an error": ({"mounts": "[][1]"}, "IndexError"),
    "no agent": ({"made": "None"}, "describe() is missing"),
    "a class without parts": ({"made": "object()"}, "needs_sandbox"),
    "an error while it is made": ({"made": "{}[1]"}, "KeyError"),
}


@pytest.mark.parametrize("name", BAD)
def test_c2_a_bad_plug_in_is_refused_before_it_acts(
    proctor: Proctor, make_contract: Any, tmp_path: Path, name: str
) -> None:
    parts, says = BAD[name]
    marker = install(tmp_path / "site", **parts)
    done = proctor("run", make_contract(), "--agent", "mine", PYTHONPATH=str(tmp_path / "site"))
    assert done.returncode == 2, done.stdout + done.stderr
    assert "acme-agents" in done.stderr and "'mine'" in done.stderr and says in done.stderr, done.stderr
    assert "Traceback" not in done.stderr and "defect" not in done.stderr
    assert not marker.exists(), "it never acted"
    home = tmp_path / "home"
    assert not list((home / "runs").iterdir()) and not list((home / "batches").glob("*.json"))


def test_c2_a_package_that_cannot_be_imported(proctor: Proctor, make_contract: Any, tmp_path: Path) -> None:
    install(tmp_path / "site")
    contract = make_contract()
    for text in ("import no_such_module\n", "def make(:\n", "raise RuntimeError('no')\n", "make = 3\n", "\n"):
        (tmp_path / "site" / "acme" / "__init__.py").write_text(text)
        done = proctor("run", contract, "--agent", "mine", PYTHONPATH=str(tmp_path / "site"))
        assert done.returncode == 2 and "acme-agents" in done.stderr, done.stderr
        assert "Traceback" not in done.stderr and "defect" not in done.stderr


def test_c2_a_description_that_gets_worse_costs_no_run(proctor: Proctor, make_contract: Any, tmp_path: Path) -> None:
    worse = 'AgentDescription("mine", "mine", (), "1" if Mine.calls < 4 else "")'
    marker = install(tmp_path / "site", worse)
    done = proctor("run", make_contract(), "--agent", "mine", PYTHONPATH=str(tmp_path / "site"))
    assert done.returncode == 2 and "digest is empty" in done.stderr
    assert not marker.exists() and not list((tmp_path / "home" / "runs").iterdir())


@pytest.mark.parametrize("does", ["exit(0)", "1 / 0", "return None", 'return Ending("done")'])
def test_c2_an_agent_whose_code_fails_ends_its_own_run_alone(
    proctor: Proctor, make_contract: Any, tmp_path: Path, does: str
) -> None:
    install(tmp_path / "site")
    module = tmp_path / "site" / "acme" / "__init__.py"
    module.write_text(module.read_text().replace('return Ending("finished", patch=b"")', does))
    agents = ("--agent", "mine", "--agent", "reference")
    done = proctor("run", make_contract(), *agents, "--json", PYTHONPATH=str(tmp_path / "site"))
    assert done.returncode == 3, done.stdout + done.stderr
    rows = json.loads(done.stdout)["runs"]
    assert [row["status"] for row in rows] == ["invalid", "success"]
    assert "the agent 'mine' of the package acme-agents failed" in rows[0]["why"]


def test_c2_a_good_plug_in_is_judged(proctor: Proctor, make_contract: Any, tmp_path: Path) -> None:
    marker = install(tmp_path / "site")
    done = proctor("run", make_contract(), "--agent", "mine", "--json", PYTHONPATH=str(tmp_path / "site"))
    assert done.returncode == 1 and json.loads(done.stdout)["runs"][0]["status"] == "failure", done.stderr
    assert marker.exists()


def test_c2_descriptions_of_built_in_agents_are_complete() -> None:
    assert list(description_problems(NoopAgent().describe())) == []
    assert list(description_problems(AgentDescription("a", "b"))) == ["describe().digest is empty"]


@pytest.mark.parametrize(
    ("ending", "needs_sandbox", "says"),
    [
        ("finished", True, "a str, not an Ending"),
        (Ending("won"), True, "whose reason is not one of finished, failed"),
        (Ending("finished", "0"), True, "whose exit_code is neither"),  # type: ignore[arg-type]
        (Ending("finished", True), True, "whose exit_code is neither"),
        (Ending("finished", 1 << 40), True, "whose exit_code is neither"),
        (Ending("finished", patch="diff"), False, "whose patch is neither"),  # type: ignore[arg-type]
        (Ending("finished", patch=b"diff"), True, "the patch of an agent in a sandbox is what it leaves in /workspace"),
        (Ending("finished", problem="\ud800"), True, "whose problem is not text"),
        (Ending("finished", trajectory=b"x"), True, "whose trajectory is neither"),  # type: ignore[arg-type]
    ],
)
def test_what_an_agent_returns_is_checked(ending: Any, needs_sandbox: bool, says: str) -> None:
    (problem,) = ending_problems(ending, needs_sandbox)
    assert says in problem


def test_endings_that_are_as_they_must_be() -> None:
    for ending, needs_sandbox in ((Ending("failed", -9), True), (Ending("finished", patch=b"x"), False)):
        assert list(ending_problems(ending, needs_sandbox)) == []
