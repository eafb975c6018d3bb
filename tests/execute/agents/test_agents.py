"""Agents: what each is, what it refuses, and how others come in."""

from __future__ import annotations

import shlex
from pathlib import Path

import pytest

from proctor.base.errors import UsageFault
from proctor.execute.agents import registry
from proctor.execute.agents.interface import AgentRequest
from proctor.execute.agents.registry import make_agent


def test_files_are_part_of_what_identifies_a_command(tmp_path: Path) -> None:
    files = tmp_path / "files"
    files.mkdir()
    request = AgentRequest("command", "python3 /agent/agent.py", files, copied_to=tmp_path / "agents")
    (files / "agent.py").write_text("print(1)")
    first = make_agent(request).describe()
    (files / "agent.py").write_text("print(2)")
    second = make_agent(request).describe()
    assert first.digest != second.digest
    assert first.name == second.name == "command:agent.py"


@pytest.mark.parametrize(
    ("words", "name"),
    [
        ("/usr/bin/python3.11 /agent/fix.py --fast", "fix.py"),
        ("python3 -u /agent/cheat.py", "cheat.py"),
        ("python3 -m package", "python3"),
        ("python3 -c pass", "python3"),
        ("sh -c 'echo x > y'", "sh"),
        ("sh", "sh"),
        ("sh /", "sh"),
        ("/opt/tool/agent run task.md", "agent"),
    ],
)
def test_commands_are_called_by_what_tells_them_apart(words: str, name: str) -> None:
    found = make_agent(AgentRequest("command", words)).describe()
    assert found.name == f"command:{name}"
    assert found.command == tuple(shlex.split(words)), "the whole of it is kept"


def test_a_patch_agent_is_identified_by_its_bytes(tmp_path: Path) -> None:
    path = tmp_path / "a.patch"
    path.write_bytes(b"one")
    first = make_agent(AgentRequest("patch", str(path))).describe()
    path.write_bytes(b"two")
    assert make_agent(AgentRequest("patch", str(path))).describe().digest != first.digest


@pytest.mark.parametrize(
    "request_",
    [
        AgentRequest("nobody"),
        AgentRequest("noop", "argument"),
        AgentRequest("reference"),
        AgentRequest("patch"),
        AgentRequest("patch", "/nowhere/at/all"),
        AgentRequest("command"),
        AgentRequest("command", "unclosed '"),
        AgentRequest("command", "true", Path("/nowhere/at/all")),
    ],
)
def test_a_bad_request_is_refused(request_: AgentRequest) -> None:
    with pytest.raises(UsageFault):
        make_agent(request_)


@pytest.mark.parametrize("kind", sorted(registry.WITHOUT_FILES))
def test_agents_that_take_no_files_refuse_them(kind: str, tmp_path: Path) -> None:
    with pytest.raises(UsageFault, match="files"):
        make_agent(AgentRequest(kind, "fix.patch" if kind == "patch" else "", files=tmp_path, model="m"))
