"""The reference agent: its tools one by one, and the whole of it in a sandbox with a scripted model."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from proctor.execute.agents.builtin import program
from proctor.execute.agents.builtin.agent import BuiltinAgent
from proctor.execute.agents.endpoint import EndpointAgent
from proctor.execute.agents.interface import DIALECTS, AgentRequest
from proctor.execute.agents.registry import make_agent
from tests.conftest import ContractMaker
from tests.execute.agents.stage import staged
from tests.execute.sandbox.workplace import open_directory


@pytest.fixture
def top() -> Iterator[Path]:
    with open_directory() as path:
        yield path


@pytest.fixture
def tree(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    (tmp_path / "a.py").write_text("one\ntwo\nthree\n")
    (tmp_path / "bytes.bin").write_bytes(b"one\0")
    (tmp_path / "latin.txt").write_bytes(b"caf\xe9 one\n")
    monkeypatch.chdir(tmp_path)
    return tmp_path


def use(tool: str, /, **arguments: Any) -> str:
    return program.use(tool, json.dumps(arguments))


def test_read_numbers_lines_and_lists_directories(tree: Path) -> None:
    assert use("read", path="a.py", first_line=2) == "     2 two\n     3 three"
    assert use("read", path=".").split() == ["a.py", "bytes.bin", "latin.txt"]
    assert use("read", path="gone.py") == "error: gone.py is not a file"
    assert use("read", path="bytes.bin").startswith("error: bytes.bin is not a text")


def test_search_finds_lines_in_texts_alone(tree: Path) -> None:
    assert use("search", pattern="^t").splitlines() == ["a.py:2: two", "a.py:3: three"]
    assert use("search", pattern="one", files="*.txt") == "latin.txt:1: caf? one"
    assert use("search", pattern="(").startswith("error: not a regular expression")
    assert use("search", pattern="nowhere") == "no matches"


def test_edit_replaces_one_place_and_keeps_every_other_byte(tree: Path) -> None:
    assert use("edit", path="latin.txt", old="one", new="two") == "changed latin.txt"
    assert (tree / "latin.txt").read_bytes() == b"caf\xe9 two\n"
    assert use("edit", path="a.py", old="t", new="x") == (
        "error: the old text occurs 2 times in a.py; give a text that occurs once"
    )
    assert use("edit", path="deep/new.py", old="", new="x\n") == "made deep/new.py"
    assert use("edit", path="deep/new.py", old="", new="y\n").startswith("error: deep/new.py exists")


def test_run_tells_output_and_exit_code(tree: Path) -> None:
    assert use("run", command="echo out; echo err >&2; exit 3") == "out\nerr\n\nexit code 3"


def test_what_a_tool_returns_is_bounded(tree: Path) -> None:
    found = use("run", command="head -c 1000000 /dev/zero | tr '\\0' x")
    assert len(found) < program.RESULT_CHARACTERS + 100
    assert "characters left out" in found


def test_stage_needs_no_asking_where_nobody_is_to_be_asked(tree: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert "no need to ask" in use("stage", name="write")
    client = tree / "client"
    client.write_text('#!/bin/sh\necho "now in $1"\n')
    client.chmod(0o755)
    monkeypatch.setattr(program, "STAGE_CLIENT", str(client))
    assert use("stage", name="write") == "now in write"


@pytest.mark.parametrize(
    ("name", "arguments"),
    [
        ("fly", "{}"),
        ("read", "no json"),
        ("read", "[]"),
        ("read", "{}"),
        ("read", '{"path": 3}'),
        ("read", '{"path": "a.py", "first_line": true}'),
        ("read", '{"path": "a.py", "other": 1}'),
    ],
)
def test_a_bad_call_is_an_answer_to_the_model(tree: Path, name: str, arguments: str) -> None:
    assert program.use(name, arguments).startswith("error: ")


def test_the_agent_mends_a_file_with_its_tools(top: Path, make_contract: ContractMaker) -> None:
    agent = make_agent(AgentRequest("builtin", model="the-model", dialects=("chat",)))
    assert isinstance(agent, BuiltinAgent)
    turns: list[dict[str, Any]] = [
        {"call": {"tool": "search", "arguments": {"pattern": "a - b"}}},
        {"call": {"tool": "edit", "arguments": {"path": "calc.py", "old": "a - b", "new": "a + b"}}},
        {"call": {"tool": "run", "arguments": {"command": "python3 -c 'import calc; print(calc.add(2, 2))'"}}},
        {"say": "It adds now."},
    ]
    with staged(top, make_contract(), agent, turns) as (stage, events):
        ending = agent.act(stage.scene())
        assert (ending.reason, ending.exit_code) == ("finished", 0), stage.commands[0][1].stderr.prefix.decode()
        assert stage.read("calc.py") == "def add(a, b):\n    return a + b\n"
        results = [payload["content"]["text"] for type_, payload in events if type_ == "tool.result"]
        assert results == ["calc.py:2: return a - b", "changed calc.py", "4\n\nexit code 0"]
        assert "It adds now." in stage.commands[0][1].stdout.prefix.decode()


def test_any_program_can_be_given_the_address_of_a_model(top: Path, make_contract: ContractMaker) -> None:
    ask = (
        "import json, os, sys, urllib.request as u; "
        "body = json.dumps({'model': sys.argv[2], 'messages': [{'role': 'user', 'content': 'hello'}]}).encode(); "
        "head = {'Content-Type': 'application/json', 'Authorization': os.environ['OPENAI_API_KEY']}; "
        "got = u.urlopen(u.Request(sys.argv[1] + '/v1/chat/completions', body, head)).read(); "
        "print(json.loads(got)['choices'][0]['message']['content'])"
    )
    words = f'/usr/bin/python3 -I -c "{ask}" {{url}} {{model}}'
    agent = make_agent(AgentRequest("endpoint", words, model="the-model", dialects=DIALECTS))
    assert isinstance(agent, EndpointAgent)
    assert agent.describe().name == "endpoint:python3"
    with staged(top, make_contract(), agent, [{"say": "Good day."}]) as (stage, _):
        assert agent.act(stage.scene()).reason == "finished", stage.commands[0][1].stderr.prefix.decode()
        assert stage.commands[0][1].stdout.prefix == b"Good day.\n"
