"""Agents that talk to models, in whole runs: what is recorded, kept secret, matched, replayed and shown."""

from __future__ import annotations

import base64
import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest

from proctor.execute.gateway.scripted.scripted_model import scripted_server
from tests.conduct.live import PATIENCE_SECONDS, Proctor, Seen, check
from tests.conduct.talking import FIX, KEY, asking, kept_bytes, only, script, talk


def test_the_reference_agent_mends_a_bug_and_does_it_again(
    proctor: Proctor, make_contract: Any, tmp_path: Path
) -> None:
    model = ("--model", "scripted/mender", "--script", script(tmp_path))
    seen = talk(proctor, make_contract(), "--agent", "builtin", *model)
    assert seen.report["status"] == "success"
    assert seen.report["replayable"] == {**seen.report["replayable"], "replayable": True, "reasons": []}
    told = seen.report["conversation"]
    assert (told["calls"], told["tool_calls"], told["models"]) == (4, 4, {"mender": 4})
    assert told["messages"] == {"assistant": 4, "system": 1, "tool": 4, "user": 1}
    assert told["tokens"]["input"] > 0 and told["tokens"]["estimated_calls"] == 0
    programs = told["programs"]
    assert (programs["words"], programs["order"], programs["unmatched"]) == (3, 0, 0)
    assert programs["tool_calls_without"] == 1, "reading a file starts nothing"
    texts = {f"events.jsonl#{event['seq']}": event["payload"] for event in seen.events}
    for match in programs["matches"]:
        asked = json.loads(texts[match["tool_call"]]["arguments"]["text"])
        assert texts[match["program"]]["argv"][-1] == asked["command"]
    again = proctor("replay", seen.run, "--model", "--json")
    assert again.returncode == 0, again.stdout + again.stderr
    assert json.loads(again.stdout)["same"] is True
    check(proctor, json.loads(again.stdout)["again"])


@pytest.mark.parametrize("dialect", ["responses", "anthropic", "gemini"])
def test_the_reference_agent_does_the_same_in_other_dialects(
    proctor: Proctor, make_contract: Any, tmp_path: Path, dialect: str
) -> None:
    model = ("--model", "scripted/mender", "--script", script(tmp_path), "--dialect", dialect)
    seen = talk(proctor, make_contract(), "--agent", "builtin:steps=9", *model)
    assert seen.report["status"] == "success"
    assert (seen.report["conversation"]["calls"], seen.report["conversation"]["tool_calls"]) == (4, 4)
    assert [(one["dialect"], one["changes"]) for one in seen.of("model.request")] == [(dialect, [])] * 4
    again = proctor("replay", seen.run, "--model", "--json")
    assert again.returncode == 0 and json.loads(again.stdout)["same"] is True, again.stdout + again.stderr


def test_a_conversation_is_shown(proctor: Proctor, make_contract: Any, tmp_path: Path) -> None:
    model = ("--model", "scripted/mender", "--script", script(tmp_path))
    seen = talk(proctor, make_contract(), "--agent", "builtin", *model)
    shown = proctor("show", seen.run).stdout
    assert "small by builtin with scripted/mender" in shown
    assert "4 calls of mender (4); 10 messages, 4 tool calls; " in shown
    assert "3 matched by the text of a tool call" in shown and "0 not matched" in shown
    lines = proctor("trace", seen.run, "--conversation").stdout.splitlines()
    assert any('assistant: "I look first."' in line for line in lines)
    (call,) = [line.split()[0] for line in lines if "tool.call" in line and "sed -i" in line]
    assert [line.partition("  <- ")[2] for line in lines if '"-c", "sed -i' in line] == [f"#{call} by words"]
    assert not any(" monitor.sample " in line for line in lines)
    assert all(line.split()[0].isdigit() for line in lines), "what is said stays in its line"


def test_the_same_run_without_a_model_has_no_conversation(proctor: Proctor, make_contract: Any) -> None:
    seen = talk(proctor, make_contract(), "--agent", "reference")
    assert seen.report["conversation"] is None and seen.report["model"] == ""
    assert "calls of" not in proctor("show", seen.run).stdout


def test_programs_that_nothing_asked_for_are_shown_as_such(
    proctor: Proctor, make_contract: Any, tmp_path: Path
) -> None:
    agent = asking(after="subprocess.run(['uname', '-r'])\nsubprocess.run(['sed', '-i', 's/-/+/', 'calc.py'])")
    seen = talk(
        proctor, make_contract(), *agent, "--model", "scripted/m", "--script", script(tmp_path, "  - {say: hi}")
    )
    programs = seen.report["conversation"]["programs"]
    assert [one["argv"][0] for one in programs["without_cause"]] == ["uname", "sed"]
    assert "no cause     uname -r" in proctor("show", seen.run).stdout
    assert [line[-7:] for line in proctor("trace", seen.run, "--type", "guard.exec").stdout.splitlines()[1:]] == [
        "nothing",
        "nothing",
    ]


def test_a_matrix_is_completed_after_a_stop(proctor: Proctor, make_contract: Any, tmp_path: Path) -> None:
    slow = FIX.replace('  - say: "Done', '  - pause_seconds: 0.3\n    say: "Done')
    asked = asking(after="subprocess.run(['sed', '-i', 's/-/+/', 'calc.py'])")
    options = [str(make_contract()), "--agent", "builtin", *asked, "--model", "scripted/one", "--model", "scripted/two"]
    child = subprocess.Popen(
        [sys.executable, "-m", "proctor", "run", *options, "--script", str(script(tmp_path, slow))],
        env={**os.environ, "PROCTOR_HOME": str(tmp_path / "home")},
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    runs, deadline = tmp_path / "home" / "runs", time.monotonic() + PATIENCE_SECONDS
    while not list(runs.glob("*/seal.json")):
        assert time.monotonic() < deadline and child.poll() is None
        time.sleep(0.01)
    child.send_signal(signal.SIGTERM)
    child.wait(PATIENCE_SECONDS)
    done = proctor("run", "--resume", "--json")
    assert done.returncode == 0, done.stderr
    answer = json.loads(done.stdout)
    rows = [
        json.loads((runs / row["run"] / "report.json").read_bytes()) for row in (*answer["runs"], *answer["earlier"])
    ]
    pairs = sorted((row["agent"]["kind"], row["model"]) for row in rows if row["status"] == "success")
    assert pairs == [(kind, f"scripted/{model}") for kind in ("builtin", "endpoint") for model in ("one", "two")]
    for given in (("--model", "scripted/three"), ("--dialect", "chat"), ("--effort", "low"), ("-n", "2")):
        refused = proctor("run", "--resume", *given)
        assert refused.returncode == 2
        assert "cannot be combined with --resume" in refused.stderr


@pytest.mark.parametrize("way", ["env", "file"])
def test_a_key_reaches_the_provider_and_nothing_else(
    proctor: Proctor, make_contract: Any, tmp_path: Path, way: str
) -> None:
    told = FIX.replace("I look first.", f"Your key is {KEY}.")
    (tmp_path / "key").write_text(KEY + "\n")
    agents = ["--agent", "builtin", *asking(before="open('seen', 'w').write(repr(dict(os.environ)))")]
    with scripted_server(told.encode(), key=KEY) as url:
        given = ("--key-env", "MY_KEY") if way == "env" else ("--key-file", tmp_path / "key")
        arguments = (make_contract(), *agents, "--model", "openai/m", "--endpoint", url, *given)
        done = proctor("run", *arguments, "--json", **({"MY_KEY": KEY} if way == "env" else {}))
    rows = json.loads(done.stdout)["runs"]
    assert rows[0]["status"] == "success", done.stdout + done.stderr
    asked = Seen(Path(rows[1]["evidence"]))
    assert '"choices"' in asked.output and "[key]" in asked.output, "it was answered, without the key"
    assert "PROCTOR_MODEL_KEY" in asked.patch, "the agent left its environment in its patch"
    forms = [KEY.encode(), KEY[::-1].encode(), KEY.encode().hex().encode()]
    forms += [base64.b64encode(b"x" * shift + KEY.encode())[4:-4] for shift in range(3)]
    searched = 0
    for path, data in kept_bytes(tmp_path / "home"):
        searched += 1
        assert not any(form in data for form in forms), path
    assert searched > 40
    assert b"[key]" in b"".join(data for _, data in kept_bytes(tmp_path / "home")), "the provider did say it"
    assert KEY not in done.stdout + done.stderr


def test_a_wrong_key_is_no_failure_and_the_right_one_stays_unsaid(
    proctor: Proctor, make_contract: Any, tmp_path: Path
) -> None:
    wrong = "sk-wrong-0123456789abcdef"
    with scripted_server(FIX.encode(), key=KEY) as url:
        model = ("--model", "openai/m", "--endpoint", url, "--key-env", "MY_KEY")
        seen = talk(proctor, make_contract(), *asking(), *model, code=3, MY_KEY=wrong)
    assert (seen.report["status"], seen.report["attribution"]) == ("invalid", "harness")
    assert [one["class"] for one in seen.of("model.error")] == ["credentials"]
    assert not any(wrong.encode() in data for _, data in kept_bytes(tmp_path / "home"))


@pytest.mark.parametrize("mode", ["all", "spans"])
def test_texts_are_hidden_on_demand(proctor: Proctor, make_contract: Any, tmp_path: Path, mode: str) -> None:
    turns = FIX.replace("I look first.", "Ask jane@example.org; the code word is zanzibar-7.")
    patterns = tmp_path / "secrets"
    patterns.write_text("zanzibar-[0-9]\n\n")
    options = ["--redact", mode, *(["--secrets", str(patterns)] if mode == "spans" else [])]
    model = ("--model", "scripted/m", "--script", str(script(tmp_path, turns)), *options)
    seen = talk(proctor, make_contract(), "--agent", "builtin", *model)
    assert seen.report["status"] == "success"
    (said,) = [
        one["content"]
        for one in seen.of("model.message")
        if one["role"] == "assistant" and one["content"]["bytes"] > 30
    ]
    assert said["characters"] == len("Ask jane@example.org; the code word is zanzibar-7.")
    if mode == "spans":
        assert said["shown"]["text"] == "Ask [redacted 16]; the code word is [redacted 10]."
        assert seen.report["conversation"]["programs"]["words"] == 3
    else:
        assert set(said) == {"hmac", "bytes", "characters"}
        assert seen.report["conversation"]["programs"]["words"] == 0
        assert seen.report["conversation"]["programs"]["order"] > 3
    secrets = [b"zanzibar-7", b"jane@example.org", *([b"careful software engineer"] if mode == "all" else [])]
    # The agent prints what its model says: its own output is kept as it is.
    kept = [event for event in seen.events if event["type"] != "tool.invocation"]
    everything = json.dumps(kept).encode()
    everything += b"".join(data for path, data in kept_bytes(tmp_path / "home" / "runs") if path.parent.name == "blobs")
    assert not any(secret in everything for secret in secrets)
    again = proctor("replay", seen.run, "--model")
    assert again.returncode == 2 and "has no recorded model calls" in again.stderr


def test_the_key_of_hidden_texts_is_drawn_for_each_run(proctor: Proctor, make_contract: Any, tmp_path: Path) -> None:
    model = ("--model", "scripted/m", "--script", script(tmp_path), "--redact", "all")
    done = proctor("run", make_contract(), "--agent", "builtin", *model, "-n", "2", "--json")
    both = [Seen(Path(row["evidence"])) for row in json.loads(done.stdout)["runs"]]
    first, second = ([one["content"]["hmac"] for one in seen.of("model.message")] for seen in both)
    assert len(first) == len(second) == 10 and not set(first) & set(second)


def test_answers_come_from_the_recorded_calls_of_a_run(proctor: Proctor, make_contract: Any, tmp_path: Path) -> None:
    with scripted_server(FIX.encode(), key=KEY) as url:
        model = ("--model", "openai/m", "--endpoint", url, "--key-env", "MY_KEY")
        first = talk(proctor, make_contract(), "--agent", "builtin", *model, MY_KEY=KEY)
    contract = tmp_path / "contracts" / "small"
    again = talk(proctor, contract, "--agent", "builtin", "--model", "openai/m", "--cassette", first.run)
    assert [one["arguments"] for one in again.of("tool.call")] == [one["arguments"] for one in first.of("tool.call")]
    assert again.report["conversation"]["tokens"] == first.report["conversation"]["tokens"]
    assert "cassette" in {one["id"] for one in again.report["deviations"]}
    assert "cassette" not in {one["id"] for one in first.report["deviations"]}
    other = asking("'another question'")
    astray = only(proctor, proctor("run", contract, *other, "--model", "openai/m", "--cassette", first.run, "--json"))
    (diverged,) = astray.of("model.diverged")
    assert diverged["pointer"].startswith("/messages/0")
    assert astray.report["status"] == "invalid" and not astray.report["replayable"]["replayable"]
