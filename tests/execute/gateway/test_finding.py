"""A model that has to find the place itself: with agents of several shapes, whose tools really run."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import pytest

from proctor.base.errors import ContractError
from proctor.execute.gateway.dialects.interface import Call, Message, ModelRequest, Result, Tool
from proctor.execute.gateway.scripted.script_file import load_script
from proctor.execute.gateway.scripted.scripted_replies import reply_to

SCRIPT = r"""
schema: 1
find:
  search: '^    return a - b$'
  files: '*.py'
  edit: '^def (\w+)\(a, b\):\n    return a - b$'
  replacement: "def \\1(a, b):\n    # It's a \"sum\" of 100%\n    return a + b"
"""
BEFORE = "import os\n\n\ndef add(a, b):\n    return a - b\n\n\ndef sub(a, b):\n    return b - a\n"
AFTER = BEFORE.replace("    return a - b", '    # It\'s a "sum" of 100%\n    return a + b', 1)
TEXT: Mapping[str, Any] = {"type": "string"}


def tool(name: str, *required: str, **parameters: Any) -> Tool:
    return Tool(name, {"type": "object", "properties": parameters, "required": list(required)})


SHELL = tool("bash", "command", command=TEXT)
SHAPES = {
    "a shell alone": (tool("exec_command", "cmd", cmd=TEXT, workdir=TEXT),),
    "a list of words": (tool("shell", "command", command={"type": "array", "items": TEXT}),),
    "read and edit": (
        SHELL,
        tool("read", "filePath", filePath=TEXT, offset={"type": "number"}, limit={"type": "number"}),
        tool("edit", "filePath", "oldString", "newString", filePath=TEXT, oldString=TEXT, newString=TEXT),
    ),
    "edits in a list": (
        SHELL,
        tool(
            "edit",
            *("path", "edits"),
            path=TEXT,
            edits={"type": "array", "items": {"properties": {"oldText": TEXT, "newText": TEXT}}},
        ),
    ),
    "one tool for files": (
        SHELL,
        tool(
            "file_editor",
            *("command", "path"),
            command={"type": "string", "enum": ["view", "create", "str_replace"]},
            path=TEXT,
            old_str=TEXT,
            new_str=TEXT,
        ),
        tool("finish", "message", message=TEXT),
    ),
    "an edit tool that does not work": (
        SHELL,
        tool("broken_edit", "path", "old", "new", path=TEXT, old=TEXT, new=TEXT),
    ),
}


@pytest.fixture
def tree(tmp_path: Path) -> Path:
    for path, text in {
        "src/deep/calc.py": BEFORE,
        "notes.txt": "    return a - b\n",
        "src/other.py": "x = 1\n",
    }.items():
        (tmp_path / path).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / path).write_text(text)
    return tmp_path


def shell(tree: Path, command: str | list[str]) -> str:
    line = command if isinstance(command, list) else ["/bin/sh", "-c", command]
    done = subprocess.run(line, cwd=tree, capture_output=True, text=True)
    return done.stdout + done.stderr


def perform(tree: Path, name: str, given: dict[str, Any]) -> str:
    """What the tools of the agents above do."""
    if name in ("bash", "exec_command", "shell"):
        output = shell(tree, given.get("command") or given["cmd"])
        return json.dumps({"output": output, "metadata": {"exit_code": 0}}) if name == "shell" else output
    if name == "finish":
        return "finished"
    if name == "broken_edit":
        return "Error: this tool does not work"
    path = Path(given.get("path") or given.get("filePath") or "")
    if name == "read":
        lines = path.read_text().split("\n")[given["offset"] - 1 :][: given["limit"]]
        return "<file>\n" + "\n".join(f"{n:05}| {line}" for n, line in enumerate(lines, given["offset"])) + "\n</file>"
    changes = given.get("edits") or [given]
    for change in changes:
        old, new = (next(change[key] for key in change if key.startswith(start)) for start in ("old", "new"))
        assert path.read_text().count(old) == 1
        path.write_text(path.read_text().replace(old, new))
    return "edited"


def converse(
    tools: tuple[Tool, ...], act: Callable[[str, dict[str, Any]], str], script: str = SCRIPT
) -> tuple[list[str], str]:
    """The names of the tools that the model called, and what it said at last."""
    loaded = load_script(script.encode())
    messages = [Message("system", "You are an agent."), Message("user", "Mend add().")]
    used: list[str] = []
    for _ in range(12):
        _, reply = reply_to(loaded, ModelRequest("m", tuple(messages), tools), b"{}")
        messages.append(Message("assistant", reply.text, calls=reply.calls))
        if not reply.calls:
            return used, reply.text
        for call in reply.calls:
            used.append(call.name)
            output = act(call.name, json.loads(call.arguments))
            messages.append(Message("tool", results=(Result(call.id, output),)))
    raise AssertionError("the model does not end")


@pytest.mark.parametrize("shape", SHAPES)
def test_it_finds_the_place_and_derives_the_edit(tree: Path, shape: str) -> None:
    used, said = converse(SHAPES[shape], lambda name, given: perform(tree, name, given))
    assert (tree / "src/deep/calc.py").read_text() == AFTER
    assert said == f"I changed {tree}/src/deep/calc.py, line 5."
    assert {tool.name for tool in SHAPES[shape]} == set(used)
    assert shell(tree, "find . -type f | wc -l").strip() == "3"


@pytest.mark.parametrize("output", ["", "bash: grep: not found", "notes.txt:1:something else"])
def test_it_gives_up_when_the_agent_shows_no_files(tree: Path, output: str) -> None:
    used, said = converse((SHELL,), lambda *_: output)
    assert said.startswith("I give up: the search found no line") and used == ["bash"]


def test_it_gives_up_when_what_it_reads_is_something_else(tree: Path) -> None:
    def act(name: str, given: dict[str, Any]) -> str:
        return perform(tree, name, given) if given["command"].startswith("grep -rn") else "1:another file"

    used, said = converse((SHELL,), act)
    assert "does not hold the line" in said and len(used) == 2
    assert (tree / "src/deep/calc.py").read_text() == BEFORE


def test_it_gives_up_when_no_edit_arrives(tree: Path) -> None:
    def act(name: str, given: dict[str, Any]) -> str:
        return perform(tree, name, given) if given["command"].startswith("grep") else "denied"

    _, said = converse((SHELL,), act)
    assert "does not hold my edit" in said


def test_requests_beside_the_conversation_get_text_alone() -> None:
    script = load_script(SCRIPT.encode())
    user = Message("user", "Make a title for this chat.")
    assert script.turn(ModelRequest("m", (user,))).say == "Find and edit"
    assert script.turn(ModelRequest("m", (user,), (tool("speak", "text", text=TEXT),))).say == "Find and edit"


def test_an_agent_without_tools_gets_blocks_of_commands(tree: Path) -> None:
    script = load_script(SCRIPT.encode())
    prompt = "Answer with one ```shell block. To end, run `echo COMPLETE_TASK_NOW`."
    messages = [Message("system", prompt), Message("user", "Mend add().")]
    commands = []
    for _ in range(12):
        said = script.turn(ModelRequest("m", tuple(messages))).say
        messages.append(Message("assistant", said))
        if not said.startswith("```shell\n"):
            break
        commands.append(said.removeprefix("```shell\n").removesuffix("\n```\n"))
        messages.append(Message("user", f"Output:\n{shell(tree, commands[-1])}"))
    assert (tree / "src/deep/calc.py").read_text() == AFTER
    assert commands[-1] == "echo COMPLETE_TASK_NOW"


MAP = """\
Here are summaries of some files present in my git repository.

src/deep/calc.py:
⋮
│def add(a, b):
⋮

src/other.py

notes.txt
"""


def test_an_agent_of_blocks_is_asked_for_files_of_its_map(tree: Path) -> None:
    script = load_script(SCRIPT.encode())
    system = Message("system", "Use SEARCH/REPLACE blocks.")
    asking = (system, Message("user", MAP), Message("assistant", "Ok."), Message("user", "Mend add()."))
    said = script.turn(ModelRequest("m", asking)).say
    assert said == "I need to see these files:\n\nsrc/deep/calc.py\nsrc/other.py\n"
    shown = Message("user", f"I have added these files:\n\nsrc/deep/calc.py\n```\n{BEFORE}```\n")
    said = script.turn(ModelRequest("m", (*asking, shown))).say
    old, new = BEFORE.split("\n")[3:5], AFTER.split("\n")[3:6]
    block = "\n".join(["<<<<<<< SEARCH", *old, "=======", *new, ">>>>>>> REPLACE"])
    assert f"src/deep/calc.py\n```\n{block}\n```\n" in said


def test_an_agent_of_whole_files_gets_the_whole_file() -> None:
    script = load_script(SCRIPT.encode())
    system = Message("system", "You MUST return the entire content of the updated file.")
    shown = Message("user", f"I have added these files:\n\nsrc/deep/calc.py\n```\n{BEFORE}```\n")
    assert f"src/deep/calc.py\n```\n{AFTER}```\n" in script.turn(ModelRequest("m", (system, shown))).say


def test_an_agent_of_blocks_that_sees_no_files_fails() -> None:
    script = load_script(SCRIPT.encode())
    blind = (Message("system", "Use SEARCH/REPLACE blocks."), Message("user", "Mend add()."))
    assert script.turn(ModelRequest("m", blind)).say.startswith("I give up")


@pytest.mark.parametrize(
    ("script", "words"),
    [
        ("schema: 1", "turns is missing"),
        ("schema: 1\nfind: {search: a, edit: a}", "replacement is missing"),
        ("schema: 1\nfind: {search: '(', edit: a, replacement: b}", "not a regular expression"),
        ("schema: 1\nfind: {search: a, edit: a, replacement: '\\1'}", "not a replacement for edit"),
        ("schema: 1\nfind: {search: a, edit: a, replacement: b, path: c}", "unknown field 'path'"),
        ("schema: 1\nfind: {search: a, edit: a, replacement: b}\nturns: [{say: c}]", "every turn needs conditions"),
    ],
)
def test_mistakes_in_what_to_find_are_named(script: str, words: str) -> None:
    with pytest.raises(ContractError, match=words):
        load_script(script.encode())


def test_turns_with_conditions_go_before_the_finding() -> None:
    script = load_script((SCRIPT + "turns: [{when: {model: ^poor}, error: {status: 402}}]\n").encode())
    asked = ModelRequest("poor", (Message("user", "hello"),), (SHELL,))
    error = script.turn(asked).error
    assert error is not None and error.status == 402
    assert script.turn(ModelRequest("rich", asked.messages, asked.tools)).shell.startswith("grep -rn")


def test_calls_of_others_before_the_search_do_not_count() -> None:
    script = load_script(SCRIPT.encode())
    earlier = (
        Message("assistant", calls=(Call("0", "bash", '{"command": "ls"}'),)),
        Message("tool", results=(Result("0", "x"),)),
    )
    assert script.turn(ModelRequest("m", earlier, (SHELL,))).shell.startswith("grep -rn")
