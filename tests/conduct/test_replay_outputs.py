"""Programs that print something else when they run again: each difference is named by call, stream and line."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from proctor.conduct.replay.output_comparison import IN_PART, LEFT_OUT, RENDERED, SILENT, UNSTEADY, VOLATILE
from tests.conduct.forging import forge
from tests.conduct.test_replay_depths import Proctor, again, made

AGENT = "command:python3 /agent/talk.py"
PRINTS = "import sys\nprint('alpha')\nprint('beta')\nprint('careful', file=sys.stderr)\n"
PLANTED = {
    "extra output": (PRINTS + "print('more')\n", "stdout has 'more' in line 3", "recorded: '' in line 3"),
    "a line less": (PRINTS.replace("print('beta')", ""), "stdout has '' in line 2", "recorded: 'beta' in line 2"),
    "the other stream": (
        PRINTS.replace("print('beta')", "print('beta', file=sys.stderr)"),
        "stdout has '' in line 2",
        "recorded: 'beta' in line 2",
    ),
    "another order": (
        PRINTS.replace("'alpha'", "'x'").replace("'beta'", "'alpha'").replace("'x'", "'beta'"),
        "stdout has 'beta' in line 1",
        "recorded: 'alpha' in line 1",
    ),
    "bytes": (
        PRINTS.replace("print('beta')", "sys.stdout.flush(); sys.stdout.buffer.write(bytes([0, 255, 10]))"),
        "stdout has b'\\x00\\xff' in line 2",
        "recorded: 'beta' in line 2",
    ),
    "nothing": (PRINTS.replace("print('careful', file=sys.stderr)", ""), "stderr has nothing in line 1", "'careful'"),
    "exit code only": (PRINTS + "raise SystemExit(3)\n", "exit code 3", "recorded: 0"),
}


def edited(files: Path, text: str) -> None:
    files.mkdir(exist_ok=True)
    (files / "talk.py").write_text(text)


def test_planted_differences_of_a_program_are_named(proctor: Proctor, make_contract: Any, tmp_path: Path) -> None:
    files = tmp_path / "agent"
    edited(files, PRINTS)
    run = made(proctor, make_contract(), AGENT, "--agent-files", files)
    assert again(proctor, run, "--tools")[0] == 0
    for name, (text, now, then) in PLANTED.items():
        edited(files, text)
        code, told = again(proctor, run, "--tools")
        assert code == 1 and now in told["divergence"] and then in told["divergence"], (name, told)
        assert told["where"].startswith("events.jsonl#")


def test_a_program_that_printed_nothing_and_now_does(proctor: Proctor, make_contract: Any, tmp_path: Path) -> None:
    files = tmp_path / "agent"
    edited(files, "")
    run = made(proctor, make_contract(), AGENT, "--agent-files", files)
    edited(files, "print('here')\n")
    code, told = again(proctor, run, "--tools")
    assert code == 1 and "stdout has 'here' in line 1" in told["divergence"]
    assert "recorded: nothing in line 1" in told["divergence"]


LONG = "print('steady')\nprint('x\\n' * 20000)\nprint({last!r})\n"
TIMED = "import datetime\nprint(datetime.datetime.now())\n" + LONG


def test_behind_what_was_kept_a_steady_output_is_told_by_its_digest(
    proctor: Proctor, make_contract: Any, tmp_path: Path
) -> None:
    files = tmp_path / "agent"
    edited(files, LONG.format(last="good"))
    run = made(proctor, make_contract(), AGENT, "--agent-files", files)
    assert again(proctor, run, "--tools")[0] == 0
    edited(files, LONG.format(last="evil"))
    code, told = again(proctor, run, "--tools")
    assert code == 1 and "the same as far as both were kept (16384 bytes)" in told["divergence"]
    assert "40013 bytes with the digest" in told["divergence"]
    edited(files, LONG.format(last="good") + "import os\nprint(os.urandom(8))\n")
    code, told = again(proctor, run, "--tools")
    assert told["divergence"] == "" and [one["why"] for one in told["notices"]] == [UNSTEADY]


def test_a_time_in_what_was_kept_does_not_speak_for_the_rest(
    proctor: Proctor, make_contract: Any, tmp_path: Path
) -> None:
    files = tmp_path / "agent"
    edited(files, TIMED.format(last="good"))
    run = made(proctor, make_contract(), AGENT, "--agent-files", files)
    edited(files, TIMED.format(last="evil"))
    code, told = again(proctor, run, "--tools")
    assert (code, told["divergence"]) == (1, "") and [item["path"] for item in told["base"]] == ["agent.digest"]
    (notice,) = told["notices"]
    assert notice["why"].startswith(IN_PART.partition("{")[0]) and notice["why"] != VOLATILE
    assert "were not recorded and cannot be compared" in proctor("replay", run.name, "--tools").stdout


TELLING = """\
schema: 1
turns:
  - {call: {tool: run, arguments: {command: "sed -i s/-/+/ calc.py"}}}
  - {call: {tool: run, arguments: {command: "seq 1 9000"}}}
  - {call: {tool: run, arguments: {command: "echo one; echo two"}}}
  - say: "Done."
"""


@pytest.mark.parametrize(
    ("old", "new", "now", "then"),
    [
        ("one\ntwo", "two\none", "stdout has 'two' after other lines", "recorded: 'two' in another place"),
        ("one\ntwo", "", "output has 'one'", "recorded: no such line"),
        ("one\ntwo", "one\ntwo\nmore", "output has no such line", "recorded: 'more'"),
        ("\n8999\n", "\n9999\n", "output has no such line", "recorded: '9999'"),
        ("characters left out", "characters left out", "", ""),
    ],
)
def test_what_a_model_was_told_is_compared_as_far_as_it_goes(
    proctor: Proctor, make_contract: Any, tmp_path: Path, old: str, new: str, now: str, then: str
) -> None:
    script = tmp_path / "turns.yaml"
    script.write_text(TELLING)
    run = made(proctor, make_contract(), "builtin", "--model", "scripted/any", "--script", script)

    def edit(event: Any) -> None:
        if event["type"] == "tool.result":
            content = event["payload"]["content"]
            text = content["text"] if "text" in content else (run / "blobs" / content["blob"]).read_text()
            content["text"] = text.replace(old, new)

    forge(run, event=edit)
    code, told = again(proctor, run, "--tools")
    assert told["unheard"] == 0 and now in told["divergence"] and then in told["divergence"]
    assert code == (1 if now else 0)
    if not now:
        ((call, why),) = [(one["call"], one["why"]) for one in told["notices"]]
        assert call == 2 and why.startswith(LEFT_OUT.partition("{")[0])


OTHER_AGENT = """\
import json, os, subprocess, urllib.request

url = os.environ["PROCTOR_MODEL_URL"] + "/v1/chat/completions"
shape = {"type": "object", "properties": {"command": {"type": "string"}}}
tools = [{"type": "function", "function": {"name": "run", "description": "Runs.", "parameters": shape}}]
messages = [{"role": "user", "content": "go"}]
subprocess.run(["/bin/sh", "-c", "echo of its own"], stdout=subprocess.DEVNULL)
while True:
    body = {"model": os.environ["PROCTOR_MODEL"], "messages": messages, "tools": tools}
    request = urllib.request.Request(url, json.dumps(body).encode(), {"Content-Type": "application/json"})
    message = json.load(urllib.request.urlopen(request))["choices"][0]["message"]
    messages.append(message)
    if not message.get("tool_calls"):
        break
    for call in message["tool_calls"]:
        command = json.loads(call["function"]["arguments"])["command"]
        done = subprocess.run(["/bin/sh", "-c", command], capture_output=True, text=True)
        told = json.dumps({"output": done.stdout, "code": done.returncode})
        messages.append({"role": "tool", "tool_call_id": call["id"], "content": told})
"""
ASKED = """\
schema: 1
turns:
  - {call: {tool: run, arguments: {command: "echo spoken"}}}
  - {call: {tool: run, arguments: {command: "sed -i s/-/+/ calc.py"}}}
  - {call: {tool: run, arguments: {command: "echo unheard of"}}}
  - say: "Done."
"""


def test_what_another_agent_told_its_model_is_a_notice_where_it_cannot_be_right(
    proctor: Proctor, make_contract: Any, tmp_path: Path
) -> None:
    script, files = tmp_path / "turns.yaml", tmp_path / "agent"
    script.write_text(ASKED)
    edited(files, OTHER_AGENT)
    model = ("--model", "scripted/any", "--script", script, "--agent-files", files)
    run = made(proctor, make_contract(), "endpoint:python3 /agent/talk.py", *model)

    def edit(event: Any) -> None:
        if event["type"] == "tool.result":
            content = event["payload"]["content"]
            content["text"] = content["text"].replace("unheard of", "")

    forge(run, event=edit)
    code, told = again(proctor, run, "--tools")
    assert (code, told["commands"], told["divergence"], told["unheard"]) == (0, 3, "", 0)
    assert told["own_programs"] >= 2, "the agent, and what it starts by itself"
    silent, missing = told["notices"]
    assert (silent["call"], silent["seen"], silent["why"]) == (2, "nothing", SILENT)
    assert silent["recorded"].startswith('\'{"output": ""')
    assert (missing["call"], missing["seen"], missing["why"]) == (3, "'unheard of'", RENDERED)
    words = proctor("replay", run.name, "--tools").stdout
    assert f"notice: the agent started {told['own_programs']} programs by itself; these are not run again" in words


def test_another_environment_is_named(proctor: Proctor, make_contract: Any) -> None:
    run = made(proctor, make_contract(), "command:true")

    def other(manifest: Any) -> None:
        manifest["environment"]["variables"]["LANG"] = "de_DE.UTF-8"

    here = json.loads((run / "manifest.json").read_bytes())["environment"]["variables"]["LANG"]
    forge(run, manifest=other)
    for depth in ("--acceptance", "--tools"):
        code, told = again(proctor, run, depth)
        assert code == 1 and told["base"] == [
            {"group": "environment", "path": "environment.variables.LANG", "recorded": "de_DE.UTF-8", "now": here}
        ]
