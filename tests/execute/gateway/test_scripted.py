"""Scripted models: their files, the turn that answers, the shell step, and the server."""

from __future__ import annotations

import json
import re
import signal
import subprocess
import sys
import urllib.request
from pathlib import Path
from typing import Any

import pytest

from proctor.base.errors import ContractError
from proctor.execute.gateway.dialects.interface import Call, Message, ModelRequest, Result, Tool
from proctor.execute.gateway.scripted.offered_tools import shell_call
from proctor.execute.gateway.scripted.script_file import _TURN, _WHEN, FAULTS, load_script, step_of
from proctor.execute.gateway.scripted.scripted_replies import reply_to
from tests.execute.gateway.conftest import DIALECTS, PATHS, MakeRig, body_of

SCRIPT = b"""
schema: 1
turns:
  - {when: {tools: false}, say: a title}
  - {when: {result: "Error: \\\\d+"}, say: it failed}
  - {when: {last: "^stop$", step: 0}, say: stopped}
  - {when: {text: magic, model: ^big}, say: magic}
  - {say: one, call: {tool: read, arguments: {path: a.py, deep: [1, {b: 2.5}]}}}
  - {say: two, calls: [{tool: x}, {tool: y}]}
  - {say: three}
"""
TOOLS = (Tool("bash", {"properties": {"command": {"type": "string"}}}),)


def asked(*messages: Message, tools: tuple[Tool, ...] = TOOLS, model: str = "m") -> ModelRequest:
    return ModelRequest(model, messages, tools)


def answer(request: ModelRequest) -> str:
    return load_script(SCRIPT).turn(request).say


CALLED = Message("assistant", "one", calls=(Call("1", "read", "{}"),))


def test_the_turn_that_answers() -> None:
    user = Message("user", "hello")
    assert answer(asked(user)) == "one"
    assert answer(asked(user, CALLED, Message("tool", results=(Result("1", "fine"),)))) == "two"
    assert answer(asked(user, CALLED, user, CALLED)) == "three"
    assert answer(asked(user, CALLED, user, CALLED, user, CALLED)) == "Done."
    assert answer(asked(user, CALLED, Message("tool", results=(Result("1", "Error: 7"),)))) == "it failed"
    assert answer(asked(user, tools=())) == "a title"
    assert answer(asked(Message("user", "stop"))) == "stopped"
    assert answer(asked(Message("user", "some magic"), user, model="big-1")) == "magic"
    assert answer(asked(Message("user", "some magic"), user)) == "one"


def test_words_without_calls_are_no_step_where_there_are_tools() -> None:
    said = Message("assistant", "Got it.")
    assert step_of(asked(Message("user", "a"), said, Message("user", "b"))) == 0
    assert step_of(asked(Message("user", "a"), said, Message("user", "b"), tools=())) == 1


def test_the_same_request_has_the_same_reply() -> None:
    script = load_script(SCRIPT)
    first, again = (reply_to(script, asked(Message("user", "a")), b"data")[1] for _ in range(2))
    assert first == again
    assert json.loads(first.calls[0].arguments) == {"path": "a.py", "deep": [1, {"b": 2.5}]}


def test_the_page_names_every_condition_and_every_part_of_a_turn(project: Path) -> None:
    page = (project / "docs" / "models.md").read_text("utf-8")
    tables = [
        {name for line in block.splitlines()[2:] for name in re.findall(r"`(\w+)`", line.split("|")[1])}
        for block in re.findall(r"^\| (?:condition|part of a turn) \|.*?(?=\n\n)", page, re.MULTILINE | re.DOTALL)
    ]
    assert tables == [set(_WHEN), set(_TURN) - {"when"}]
    faults = re.search(r"^\| `fault` \|(.*)\|$", page, re.MULTILINE)
    assert faults
    assert tuple(re.findall(r"`([\w-]+)`", faults[1])) == FAULTS


MISTAKES = [
    (b"schema: 1\n", "turns is missing"),
    (b"schema: 2\nturns: []\n", "schema must be 1"),
    (b"schema: 1\nturns:\n  - {sya: x}\n", "model.yaml:3:6: unknown field 'sya'"),
    (b"schema: 1\nturns:\n  - {when: {last: '('}}\n", "not a regular expression"),
    (b"schema: 1\nturns:\n  - {fault: fire}\n", "there is no fault 'fire'"),
    (b"schema: 1\nturns:\n  - {error: {status: 200}}\n", "400 to 599"),
    (b"schema: 1\nturns:\n  - {call: {arguments: {}}}\n", "tool is missing"),
    (b"schema: 1\nturns:\n  - {say: [a]}\n", "say must be text"),
    (b"schema: 1\nturns:\n  - {usage: {input: -1, output: 2}}\n", "whole number"),
    (b"schema: 1\nturns:\n  - {pause_seconds: 99}\n", "0 to 60 seconds"),
    (b"schema: 1\nturns:\n  - 7\n", "must be an object"),
    (b"turns: [\n", "model.yaml"),
]


@pytest.mark.parametrize(("data", "message"), MISTAKES, ids=[message for _, message in MISTAKES])
def test_a_mistake_has_its_place(data: bytes, message: str) -> None:
    with pytest.raises(ContractError) as error:
        load_script(data)
    assert message in str(error.value)


def schema(**properties: Any) -> dict[str, Any]:
    return {"properties": properties, "required": list(properties)}


TEXT = {"type": "string"}
SHELLS: list[tuple[list[Tool], tuple[str, Any] | None]] = [
    ([Tool("read", schema(path=TEXT)), Tool("bash", schema(command=TEXT))], ("bash", {"command": "ls"})),
    ([Tool("shell", schema(command={"type": "array"}))], ("shell", {"command": ["bash", "-c", "ls"]})),
    ([Tool("exec_command", schema(cmd=TEXT))], ("exec_command", {"cmd": "ls"})),
    ([Tool("own", schema(command=TEXT, description=TEXT))], ("own", {"description": "step", "command": "ls"})),
    ([Tool("run_commands", schema(commands={"type": "array"}))], ("run_commands", {"commands": ["ls"]})),
    (
        [Tool("bash", schema(command={"anyOf": [{"type": "string"}, {"type": "array"}]}, timeout={"type": "INTEGER"}))],
        ("bash", {"timeout": 60, "command": "ls"}),
    ),
    ([Tool("bash", schema(command=TEXT, risk={"enum": ["LOW", "HIGH"]}))], ("bash", {"risk": "LOW", "command": "ls"})),
    ([Tool("read", schema(path=TEXT))], None),
    ([], None),
]


@pytest.mark.parametrize(("tools", "wanted"), SHELLS)
def test_a_shell_step_uses_the_tool_that_there_is(tools: list[Tool], wanted: tuple[str, Any] | None) -> None:
    found = shell_call("ls", tools)
    assert (None if found is None else (found[0], json.loads(found[1]))) == wanted


@pytest.mark.parametrize("dialect", DIALECTS)
@pytest.mark.parametrize("streamed", [False, True])
def test_a_script_inside_the_gateway(make_rig: MakeRig, dialect: str, streamed: bool) -> None:
    rig = make_rig(script=b"schema: 1\nturns:\n  - {think: hm, say: hello, shell: ls}\n")
    path, body = PATHS[dialect], body_of(dialect)
    if dialect != "gemini":
        body["stream"] = streamed
    elif streamed:
        path = path.replace(":generateContent", ":streamGenerateContent") + "?alt=sse"
    assert rig.post(path, body)[0] == 200
    message = rig.of("model.message")[-1]
    assert rig.text(message["content"]) == "hello\n```bash\nls\n```\n"
    assert rig.text(message["reasoning"]) == "hm"
    assert rig.stop().replayable


def test_gemini_without_events_streams_a_list(make_rig: MakeRig) -> None:
    rig = make_rig(script=b"schema: 1\nturns:\n  - {say: a text that has more than one part in it}\n")
    status, data = rig.post("/v1beta/models/m:streamGenerateContent", body_of("gemini"))
    assert status == 200
    assert len(json.loads(data)) > 1
    assert rig.text(rig.of("model.message")[-1]["content"]) == "a text that has more than one part in it"


def test_the_server_as_a_program(tmp_path: Path) -> None:
    file = tmp_path / "model.yaml"
    file.write_bytes(SCRIPT)
    command = [sys.executable, "-m", "proctor.execute.gateway.scripted", str(file)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        url = process.stdout.readline().strip()
        data = json.dumps(body_of("anthropic", max_tokens=5)).encode()
        with urllib.request.urlopen(urllib.request.Request(f"{url}/v1/messages", data), timeout=20) as answer:
            assert json.load(answer)["content"][0]["text"] == "a title"
        process.send_signal(signal.SIGTERM)
        assert process.wait(20) == 0


@pytest.mark.parametrize("content", [None, "turns: 1\n"])
def test_the_program_says_what_is_wrong(tmp_path: Path, content: str | None) -> None:
    file = tmp_path / "model.yaml"
    if content is not None:
        file.write_text(content)
    command = [sys.executable, "-m", "proctor.execute.gateway.scripted", str(file)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=60)
    assert done.returncode == 2
    assert "model.yaml" in done.stderr
    assert "Traceback" not in done.stderr


def test_the_script_in_the_documentation_is_one(project: Path) -> None:
    page = (project / "docs" / "gateway.md").read_text()
    script = page.partition("```yaml\n")[2].partition("```")[0]
    assert len(load_script(script.encode()).steps) == 3
