"""The reference agent: its tools one by one, and the whole of it in a sandbox with a scripted model."""

from __future__ import annotations

import ast
import json
import os
import signal
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from proctor.execute.agents.builtin import program
from proctor.execute.agents.builtin.builtin_agent import PROGRAM, BuiltinAgent
from proctor.execute.agents.command_agent import EndpointAgent
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
    assert use("search", pattern="(").startswith("error: missing ), unterminated subpattern")
    assert use("search", pattern="nowhere") == "no matches"


def test_edit_replaces_one_place_and_keeps_every_other_byte(tree: Path) -> None:
    assert use("edit", path="latin.txt", old="one", new="two") == "changed latin.txt"
    assert (tree / "latin.txt").read_bytes() == b"caf\xe9 two\n"
    assert use("edit", path="a.py", old="t", new="x") == (
        "error: the old text occurs 2 times in a.py; give a text that occurs once"
    )
    assert use("edit", path="deep/new.py", old="", new="x\n") == "made deep/new.py"
    assert use("edit", path="deep/new.py", old="", new="y\n").startswith("error: deep/new.py exists")


def test_an_edit_that_cannot_be_written_leaves_the_file_as_it_is(tree: Path) -> None:
    assert use("edit", path="a.py", old="one", new="\ud83d").startswith("error: 'utf-8' codec can't encode")
    assert (tree / "a.py").read_text() == "one\ntwo\nthree\n"
    assert use("edit", path="deep/new.py", old="", new="\ud83d").startswith("error: ")
    assert not (tree / "deep").exists()


def test_arguments_that_are_nested_too_deeply_are_an_error() -> None:
    assert program.use("read", "[" * 100_000).startswith("error: maximum recursion depth exceeded")


def test_run_tells_output_and_exit_code(tree: Path) -> None:
    assert use("run", command="echo out; echo err >&2; exit 3") == "out\nerr\n\nexit code 3"


def test_what_a_tool_returns_is_bounded(tree: Path) -> None:
    found = use("run", command="head -c 1000000 /dev/zero | tr '\\0' x")
    assert len(found) < program.RESULT_CHARACTERS + 100
    assert "characters left out" in found


@pytest.fixture
def jobs(monkeypatch: pytest.MonkeyPatch) -> Iterator[list[program.Job]]:
    """The commands in the background; those that still run are ended after the test."""
    found: list[program.Job] = []
    monkeypatch.setattr(program, "JOBS", found)
    yield found
    for one in found:
        one.stop()


def test_the_middle_of_a_long_output_is_dropped_and_counted(tree: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(program, "OUTPUT_BYTES", 100_000)
    found = use("run", command="echo first; head -c 3000000 /dev/zero | tr '\\0' x; echo; echo last")
    head, _, rest = found.partition("\n... ")
    left_out, _, tail = rest.partition(" characters left out ...\n")
    assert head.startswith("first\nxxx") and tail.endswith("xxx\nlast\n\nexit code 0")
    assert len(head) + int(left_out) + len(tail) - len("\nexit code 0") == 3_000_000 + len("first\n\nlast\n")


def test_a_command_in_the_background_is_looked_at_and_stopped(tree: Path, jobs: list[program.Job]) -> None:
    assert use("run", command="echo begun; mkfifo hold; cat hold", background=True) == "started as job 1"
    assert use("run", command="while ! [ -p hold ]; do sleep 0.01; done; echo one") == "one\n\nexit code 0"
    assert use("run", command="echo two", background=True) == "started as job 2"
    assert use("job", number=2, seconds=60) == "two\n\nexit code 0"
    assert use("job", number=1) == "begun\n\nstill running"
    assert use("job", number=1, stop=True) == "begun\n\nexit code -15"
    assert use("job", number=3) == "error: there is no job 3"


def test_a_command_that_takes_too_long_goes_on_in_the_background(tree: Path, jobs: list[program.Job]) -> None:
    found = use("run", command="echo begun; mkfifo hold; cat hold; echo ended", seconds=1)
    assert found == "begun\n\nstill running in the background, as job 1"
    (tree / "hold").write_text("let go\n")
    assert use("job", number=1, seconds=60) == "begun\nlet go\nended\n\nexit code 0"


def test_a_child_that_holds_the_output_does_not_block_the_agent(tree: Path, jobs: list[program.Job]) -> None:
    found = use("run", command="sleep 100000 & echo $!")
    child, _, ending = found.partition("\n")
    os.kill(int(child), signal.SIGKILL)
    assert ending == "\nexit code 0" and not jobs


def test_stopping_a_command_ends_what_it_started_and_what_ignores_the_first_signal(
    tree: Path, jobs: list[program.Job]
) -> None:
    use("run", command="trap '' TERM; sleep 100000 & echo $!; while :; do sleep 1; done", background=True)
    while not (found := use("job", number=1).split("\n")[0]).isdigit():
        pass
    assert use("job", number=1, stop=True).endswith("exit code -9")
    with pytest.raises(ProcessLookupError):
        for _ in range(1000):
            os.kill(int(found), 0)
            time.sleep(0.01)


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
        ("run", '{"command": "true", "background": 1}'),
        ("job", '{"number": "1"}'),
        ("job", '{"number": 0}'),
    ],
)
def test_a_bad_call_is_an_answer_to_the_model(tree: Path, name: str, arguments: str) -> None:
    assert program.use(name, arguments).startswith("error: ")


TURNS: list[dict[str, Any]] = [
    {"think": "Where is it?", "call": {"tool": "search", "arguments": {"pattern": "a - b"}}},
    {"call": {"tool": "run", "arguments": {"command": "sleep 100000", "background": True}}},
    {
        "calls": [
            {"tool": "edit", "arguments": {"path": "calc.py", "old": "a - b", "new": "a + b"}},
            {"tool": "run", "arguments": {"command": "python3 -c 'import calc; print(calc.add(2, 2))'"}},
        ]
    },
    {"say": "It adds now."},
]


@pytest.mark.parametrize("dialect", DIALECTS)
def test_the_agent_mends_a_file_with_its_tools(top: Path, make_contract: ContractMaker, dialect: str) -> None:
    agent = make_agent(AgentRequest("builtin", model="the-model", dialects=(dialect,)))
    assert isinstance(agent, BuiltinAgent)
    with staged(top, make_contract(), agent, TURNS) as (stage, events):
        ending = agent.act(stage.scene())
        assert (ending.reason, ending.exit_code) == ("finished", 0), stage.commands[0][1].stderr.prefix.decode()
        assert stage.read("calc.py") == "def add(a, b):\n    return a + b\n"
        results = [payload["content"]["text"] for type_, payload in events if type_ == "tool.result"]
        assert results == ["calc.py:2: return a - b", "started as job 1", "changed calc.py", "4\n\nexit code 0"]
        lines = stage.commands[0][1].stdout.prefix.decode().splitlines()
        assert lines[-2] == "It adds now." and lines[-1].endswith("tokens: the model says that it is done")
        requests = [payload for type_, payload in events if type_ == "model.request"]
        assert {request["dialect"] for request in requests} == {dialect}
        assert all(request["changes"] == [] for request in requests), "nothing is stripped from what it asks"


@pytest.mark.parametrize(
    ("limit", "command", "why"),
    [
        ("steps=2", "true", "the limit of 2 steps is reached"),
        ("tokens=10", "true", "the limit of 10 tokens is reached"),
        ("seconds=1", "sleep 100000", "the limit of 1 seconds is reached"),
    ],
)
def test_a_limit_ends_the_agent_and_its_last_line_says_so(
    top: Path, make_contract: ContractMaker, limit: str, command: str, why: str
) -> None:
    agent = make_agent(AgentRequest("builtin", limit, model="the-model", dialects=("chat",)))
    turns = [{"call": {"tool": "run", "arguments": {"command": command}}}] * 5
    with staged(top, make_contract(), agent, turns) as (stage, _):
        ending = agent.act(stage.scene())
        assert (ending.reason, ending.exit_code) == ("failed", 1)
        assert stage.commands[0][1].stdout.prefix.decode().splitlines()[-1].endswith(f"tokens: {why}")


def test_the_program_is_written_for_an_old_python_and_needs_nothing_else() -> None:
    tree = ast.parse(PROGRAM.read_text(), feature_version=(3, 9))
    imports = [name.name for node in ast.walk(tree) if isinstance(node, ast.Import) for name in node.names]
    imports += [str(node.module) for node in ast.walk(tree) if isinstance(node, ast.ImportFrom)]
    assert {name.partition(".")[0] for name in imports} <= {*sys.stdlib_module_names, "__future__"}


def test_the_digest_covers_program_model_dialect_and_limits() -> None:
    def made(argument: str = "", model: str = "m", dialects: tuple[str, ...] = ("gemini", "anthropic")) -> Any:
        return make_agent(AgentRequest("builtin", argument, model=model, dialects=dialects)).describe()

    plain = made()
    assert plain.settings["dialect"] == "anthropic", "the first in the order of the agent"
    others = [made("steps=5"), made("steps=6"), made("seconds=5"), made(model="n"), made(dialects=("gemini",))]
    assert len({one.digest for one in (plain, *others)}) == 6
    assert made("steps=5,tokens=007").settings == {**plain.settings, "steps": "5", "tokens": "7"}


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
