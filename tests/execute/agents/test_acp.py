"""The Agent Client Protocol with an agent in a real sandbox: its wishes are met inside, its bad manners end it."""

from __future__ import annotations

import json
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from proctor.execute.agents.acp import acp_agent as acp
from proctor.execute.agents.interface import AgentRequest, Ending
from proctor.execute.agents.options import AgentOptions, McpServer
from proctor.execute.agents.registry import make_agent
from tests.conftest import ContractMaker
from tests.execute.agents.stage import Stage, staged
from tests.execute.sandbox.workplace import open_directory

PROGRAM = Path(__file__).with_name("acp_agent.py")


@pytest.fixture
def top() -> Iterator[Path]:
    with open_directory() as path:
        yield path


class Played:
    """What became of one conversation."""

    def __init__(self, stage: Stage, ending: Ending) -> None:
        self.stage = stage
        self.ending = ending
        self.found: list[Any] = [json.loads(line) for line in stage.read("found.json").splitlines()]


def play(top: Path, contract: Path, mode: str, seconds: float = 60, look: str = "") -> tuple[Played, str]:
    files = top / "files"
    files.mkdir()
    shutil.copy(PROGRAM, files / "agent.py")
    words = f"/usr/bin/python3 -I /agent/agent.py {mode}"
    agent = make_agent(AgentRequest("acp", words, files, copied_to=top / "agents"))
    with staged(top, contract, agent) as (stage, _):
        played = Played(stage, agent.act(stage.scene(seconds=seconds)))
        return played, stage.read(look) if look else ""


def test_files_are_read_and_written_inside(top: Path, make_contract: ContractMaker) -> None:
    played, written = play(top, make_contract(), "files", look="new/calc.py")
    assert played.ending.reason == "finished"
    assert written == "def add(a, b):\n    return a + b\n"
    login, part, missing, relative, read_only, no_text = played.found
    assert login == {"methodId": "openai"}
    assert part == {"content": "    return a - b\n"}
    assert "No such file" in missing["message"]
    assert relative["message"] == "path must be an absolute path"
    assert "Read-only" in read_only["message"]
    assert no_text["message"] == "content must be a text"
    assert any(command.arguments[:2] == ("/bin/cat", "--") for command, _ in played.stage.commands)


def test_terminals_run_inside_and_can_be_ended(top: Path, make_contract: ContractMaker) -> None:
    played, _ = play(top, make_contract(), "terminals")
    assert played.ending.reason == "finished", played.ending.problem
    _, code, output, killed, released, gone, empty, unknown = played.found
    assert code == {"exitCode": 3, "signal": None}
    assert output == {"output": "hi\n", "truncated": False, "exitStatus": {"exitCode": 3, "signal": None}}
    assert killed == {"exitCode": None, "signal": "15"}
    assert released == {}
    assert gone["message"] == "there is no such terminal"
    assert empty["message"] == "command and args must be texts"
    assert unknown["code"] == -32601


def test_what_no_program_can_be_given_is_refused(top: Path, make_contract: ContractMaker) -> None:
    played, _ = play(top, make_contract(), "strange")
    assert played.ending.reason == "finished", played.ending.problem
    assert [one["message"] for one in played.found[1:]] == [
        "cwd must be an absolute path",
        "command and args are longer than 131072 characters",
        "path must be an absolute path",
    ]


def test_a_flood_of_waiting_requests_is_bounded(top: Path, make_contract: ContractMaker) -> None:
    played, _ = play(top, make_contract(), "waits")
    assert played.ending.reason == "finished", played.ending.problem
    assert played.found[1:] == [[True], [257]]


def test_questions_are_answered_by_the_policy_and_noted(top: Path, make_contract: ContractMaker) -> None:
    contract = make_contract(policy={"forbid_commands": ["git push"]})
    played, _ = play(top, contract, "permissions")
    assert [answer["outcome"]["optionId"] for answer in played.found[1:]] == ["yes", "no"]
    noted = [(payload["command"], payload["allowed"]) for type_, payload in played.stage.notes]
    assert noted == [("make", True), ("git push", False)]
    assert {type_ for type_, _ in played.stage.notes} == {"agent.permission"}


@pytest.mark.parametrize(
    ("mode", "problem"),
    [
        ("garbage", "not JSON"),
        ("endless-line", "sends more than the limit"),
        ("gone", "ended during initialize"),
        ("refuses", "session/new: no key"),
    ],
)
def test_bad_manners_end_the_conversation(top: Path, make_contract: ContractMaker, mode: str, problem: str) -> None:
    played, _ = play(top, make_contract(), mode)
    assert played.ending.reason == "failed"
    assert problem in played.ending.problem


def test_an_agent_that_does_not_leave_is_ended(
    top: Path, make_contract: ContractMaker, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(acp, "GOODBYE_SECONDS", 0.2)
    played, _ = play(top, make_contract(), "stays")
    assert (played.ending.reason, played.ending.exit_code) == ("finished", -9)


def test_an_agent_that_says_nothing_runs_out_of_time(top: Path, make_contract: ContractMaker) -> None:
    agent = make_agent(AgentRequest("acp", "/bin/sleep 1000"))
    with staged(top, make_contract(), agent) as (stage, _):
        assert agent.act(stage.scene(seconds=0.5)).reason == "timed-out"


def test_a_program_that_is_not_there_is_not_started(top: Path, make_contract: ContractMaker) -> None:
    agent = make_agent(AgentRequest("acp", "/nowhere/agent"))
    with staged(top, make_contract(), agent) as (stage, _):
        ending = agent.act(stage.scene())
        assert ending.reason == "not-started"
        assert "/nowhere/agent" in ending.problem


def test_both_sides_of_the_conversation_are_kept(top: Path, make_contract: ContractMaker) -> None:
    played, _ = play(top, make_contract(), "plain")
    assert played.ending.trajectory is not None
    lines = played.ending.trajectory.prefix.decode().splitlines()
    assert lines[0].startswith('> {"jsonrpc":"2.0","id":1,"method":"initialize"')
    assert '"stopReason": "end_turn"' in lines[-1] and lines[-1].startswith("< ")


def test_servers_are_handed_over_when_the_session_begins(top: Path, make_contract: ContractMaker) -> None:
    files = top / "files"
    files.mkdir()
    shutil.copy(PROGRAM, files / "agent.py")
    server = McpServer("time", ("/opt/mcp/time/bin/python", "-I", "-m", "server"), {"A": "b"})
    words = "/usr/bin/python3 -I /agent/agent.py files"
    options = AgentOptions(mcp=(server,), effort="high")
    agent = make_agent(AgentRequest("acp", words, files, copied_to=top / "agents", options=options))
    with staged(top, make_contract(), agent) as (stage, _):
        ending = agent.act(stage.scene())
        efforts = [command.environment.get("PROCTOR_EFFORT") for command, _ in stage.commands]
    assert ending.trajectory is not None
    expected = {
        "name": "time",
        "command": "/opt/mcp/time/bin/python",
        "args": ["-I", "-m", "server"],
        "env": [{"name": "A", "value": "b"}],
    }
    sent = [line for line in ending.trajectory.prefix.decode().splitlines() if '"session/new"' in line]
    assert json.loads(sent[0][2:])["params"]["mcpServers"] == [expected]
    assert "high" in efforts
