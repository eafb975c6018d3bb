"""Runs repeated from their evidence: the patch judged again, the commands run again, and planted differences named."""

from __future__ import annotations

import hashlib
import io
import json
import subprocess
import tarfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from proctor.base.canonical import digest
from proctor.conduct.replay.output_comparison import LATE
from tests.conduct.forging import forge

Proctor = Callable[..., subprocess.CompletedProcess[str]]

SCRIPT = 'sed -i s/-/+/ calc.py; python3 -c "import calc; print(calc.add(1, 2))"; echo more > new.txt; rm README.md'
TURNS = """\
schema: 1
turns:
  - calls:
    - {tool: run, arguments: {command: "sed -i s/-/+/ calc.py"}}
    - {tool: run, arguments: {command: "grep -q minus calc.py"}}
    - {tool: run, arguments: {command: "cp calc.py copy.py && chmod 755 copy.py"}}
  - say: "Done."
"""
PRINTING = """\
schema: 1
turns:
  - {call: {tool: run, arguments: {command: "sed -i s/-/+/ calc.py"}}}
  - {call: {tool: run, arguments: {command: "echo alpha; echo beta >&2; date; echo $$"}}}
  - {call: {tool: run, arguments: {command: "cat calc.py"}}}
  - say: "Done."
"""
EDITING = """\
schema: 1
turns:
  - {call: {tool: edit, arguments: {path: calc.py, old: "a - b", new: "a + b"}}}
  - {call: {tool: run, arguments: {command: "cat calc.py"}}}
  - say: "Done."
"""


def made(proctor: Proctor, contract: Path, agent: str, *more: str | Path) -> Path:
    """The directory of one run."""
    done = proctor("run", contract, "--agent", agent, *more, "--json")
    assert done.stdout, done.stderr
    return Path(json.loads(done.stdout)["runs"][0]["evidence"])


def again(proctor: Proctor, run: Path, depth: str, *more: str | Path) -> tuple[int, Any]:
    done = proctor("replay", run.name, depth, *more, "--json")
    assert done.stdout, done.stderr
    return done.returncode, json.loads(done.stdout)


@pytest.mark.parametrize(("agent", "outcome"), [("noop", "fail"), ("reference", "pass")])
def test_the_recorded_patch_is_judged_the_same_again(
    proctor: Proctor, make_contract: Any, agent: str, outcome: str
) -> None:
    run = made(proctor, make_contract(), agent)
    code, told = again(proctor, run, "--acceptance")
    assert (code, told["same"], told["base"]) == (0, True, [])
    assert [row["check"] for row in told["checks"]] == ["patch", "adds"]
    assert told["checks"][1]["recorded"] == told["checks"][1]["now"] == f"{outcome} (exit-code)"
    assert "the same outcomes" in proctor("replay", run.name, "--acceptance").stdout


def test_a_patch_that_does_not_apply_is_blocked_again(proctor: Proctor, make_contract: Any, tmp_path: Path) -> None:
    patch = tmp_path / "other.patch"
    patch.write_text(make_contract.FIX.replace("a - b", "a * b"))
    code, told = again(proctor, made(proctor, make_contract(), f"patch:{patch}"), "--acceptance")
    assert code == 0 and told["checks"][0]["now"] == "fail" and told["checks"][1]["now"].startswith("blocked")


def test_another_outcome_is_named_by_its_check(proctor: Proctor, make_contract: Any) -> None:
    run = made(proctor, make_contract(), "noop")

    def pass_it(event: Any) -> None:
        if event["type"] == "check.decided":
            event["payload"]["outcome"] = "pass"

    forge(run, event=pass_it)
    assert "the trace gives" in proctor("verify", run.name).stdout
    code, told = again(proctor, run, "--acceptance")
    assert code == 1 and not told["base"]
    assert [row["check"] for row in told["checks"] if not row["same"]] == ["adds"]


PLACES_OF_PYTHON = {"toolchain.python3", "sandbox.identity.python3", "sandbox.identity.digest"}


def older(manifest: Any) -> None:
    """Say that the run had an older Python, everywhere that a manifest says it."""
    identity = manifest["sandbox"]["identity"]
    manifest["toolchain"]["python3"] = identity["python3"] = "3.6.9"
    identity["digest"] = digest({name: value for name, value in identity.items() if name != "digest"})


@pytest.mark.parametrize("depth", ["--acceptance", "--tools"])
def test_another_python_is_named(proctor: Proctor, make_contract: Any, depth: str) -> None:
    run = made(proctor, make_contract(), "command:true")
    here = json.loads((run / "manifest.json").read_bytes())["toolchain"]["python3"]

    forge(run, manifest=older)
    code, told = again(proctor, run, depth)
    assert code == 1
    assert {"group": "toolchain", "path": "toolchain.python3", "recorded": "3.6.9", "now": here} in told["base"]
    assert {item["path"] for item in told["base"]} == PLACES_OF_PYTHON


def test_a_changed_file_of_the_contract_is_named(proctor: Proctor, make_contract: Any) -> None:
    contract = make_contract()
    run = made(proctor, contract, "reference")
    (contract / "fix.patch").write_text(make_contract.FIX.replace("a + b", "b + a"))
    code, told = again(proctor, run, "--acceptance")
    assert (code, told["checks"]) == (1, [])
    assert [item["path"] for item in told["base"]] == ["contract.id", "contract.json: reference.patch.sha256"]
    assert "NOT judged again" in proctor("replay", run.name, "--acceptance").stdout


def test_another_python_and_another_contract_are_named_for_a_run_with_its_model(
    proctor: Proctor, make_contract: Any, tmp_path: Path
) -> None:
    script = tmp_path / "turns.yaml"
    script.write_text(EDITING)
    contract = make_contract()
    run = made(proctor, contract, "builtin", "--model", "scripted/any", "--script", script)
    code, told = again(proctor, run, "--model")
    assert (code, told["same"], told["base"], told["difference"]) == (0, True, [], "")

    forge(run, manifest=older)
    code, told = again(proctor, run, "--model")
    assert (code, told["same"], told["difference"]) == (1, False, "")
    assert {item["path"] for item in told["base"]} == PLACES_OF_PYTHON
    assert "toolchain.python3: recorded 3.6.9" in proctor("replay", run.name, "--model").stdout
    (contract / "fix.patch").write_text(make_contract.FIX.replace("a + b", "b + a"))
    code, told = again(proctor, run, "--model")
    assert (code, told["again"]) == (1, "")
    assert [item["path"] for item in told["base"]] == ["contract.id", "contract.json: reference.patch.sha256"]
    assert "NOT run again" in proctor("replay", run.name, "--model").stdout


def test_a_changed_file_of_the_repository_is_named(proctor: Proctor, make_contract: Any) -> None:
    contract = make_contract()
    run = made(proctor, contract, "command:true")
    plan = json.loads((contract / "contract.yaml").read_text())
    archive = contract / plan["repository"]["archive"]
    with tarfile.open(archive, "w:gz") as tar:
        data = b"def add(a, b):\n    return b - a\n"
        member = tarfile.TarInfo("calc.py")
        member.size = len(data)
        tar.addfile(member, io.BytesIO(data))
    plan["repository"]["sha256"] = hashlib.sha256(archive.read_bytes()).hexdigest()
    (contract / "contract.yaml").write_text(json.dumps(plan))
    for depth in ("--acceptance", "--tools"):
        code, told = again(proctor, run, depth)
        assert code == 1 and "contract.json: repository.source.files[0].sha256" in [
            item["path"] for item in told["base"]
        ]


@pytest.mark.parametrize("depth", ["--acceptance", "--tools"])
@pytest.mark.parametrize("name", ["workspace/final.patch", "workspace/changes.json", "contract.json", "report.json"])
def test_a_changed_file_of_the_evidence_is_named(proctor: Proctor, make_contract: Any, name: str, depth: str) -> None:
    run = made(proctor, make_contract(), "command:sed -i s/-/+/ calc.py")
    data = (run / name).read_bytes()
    (run / name).write_bytes(data + b"\n")
    done = proctor("replay", run.name, depth)
    assert done.returncode == 4 and f"{name}" in done.stderr and "Traceback" not in done.stderr
    (run / name).write_bytes(data)
    assert again(proctor, run, depth)[0] == 0


def test_a_contract_that_moved_is_found_where_it_is(proctor: Proctor, make_contract: Any, tmp_path: Path) -> None:
    contract = make_contract()
    run = made(proctor, contract, "reference")
    contract.rename(tmp_path / "moved")
    gone = proctor("replay", run.name, "--acceptance")
    assert gone.returncode == 2 and str(contract) in gone.stderr
    assert again(proctor, run, "--acceptance", "--contract", tmp_path / "moved")[0] == 0


@pytest.mark.parametrize("depth", ["--breakers", "--acceptance", "--tools"])
def test_an_altered_event_is_named(proctor: Proctor, make_contract: Any, depth: str) -> None:
    run = made(proctor, make_contract(), "command:true")
    lines = (run / "events.jsonl").read_bytes().splitlines(keepends=True)
    at = next(number for number, line in enumerate(lines) if b'"check.decided"' in line)
    lines[at] = lines[at].replace(b'"fail"', b'"pass"')
    (run / "events.jsonl").write_bytes(b"".join(lines))
    done = proctor("replay", run.name, depth)
    assert done.returncode == 4 and f"events.jsonl#{at}" in done.stderr


def test_a_program_does_the_same_again(proctor: Proctor, make_contract: Any) -> None:
    run = made(proctor, make_contract(), f"command:sh -c '{SCRIPT}'")
    code, told = again(proctor, run, "--tools")
    assert (code, told["commands"], told["divergence"], told["placed"]) == (0, 1, "", [])


@pytest.mark.parametrize(
    ("kind", "field", "value", "divergence"),
    [
        ("guard.exit", "exit_code", 7, "program 2, sed -i s/-/+/ calc.py: exit code 0; recorded: 7"),
        ("guard.exec", "cwd", "/elsewhere", "program 2, sed -i s/-/+/ calc.py: was not started now"),
        ("tool.invocation", "exit_code", 9, "exit code 0; recorded: 9"),
        (
            "tool.invocation",
            "stdout",
            {"sha256": "0" * 64, "bytes": 2, "prefix": "4\\x0a"},
            f"recorded: '4' in line 1 (2 bytes with the digest {'0' * 64})",
        ),
    ],
)
def test_what_a_program_did_otherwise_is_named(
    proctor: Proctor, make_contract: Any, kind: str, field: str, value: Any, divergence: str
) -> None:
    run = made(proctor, make_contract(), f"command:sh -c '{SCRIPT}'")
    events = [json.loads(line) for line in (run / "events.jsonl").read_bytes().splitlines()]
    pid = next(e["payload"]["pid"] for e in events if e["type"] == "guard.exec" and e["payload"]["argv"][0] == "sed")

    def edit(event: Any) -> None:
        if event["type"] == kind and event["payload"].get("pid", pid) == pid:
            event["payload"][field] = value

    forge(run, event=edit)
    code, told = again(proctor, run, "--tools")
    assert code == 1 and divergence in told["divergence"]
    invocation = next(number for number, event in enumerate(events) if event["type"] == "tool.invocation")
    assert told["where"] == f"events.jsonl#{invocation}"


def test_a_changed_file_of_the_agent_is_named_and_what_came_of_it(
    proctor: Proctor, make_contract: Any, tmp_path: Path
) -> None:
    files = tmp_path / "agent"
    files.mkdir()
    (files / "fix.py").write_text("open('calc.py', 'a').write('# one\\n')\n")
    run = made(proctor, make_contract(), "command:python3 /agent/fix.py", "--agent-files", files)
    assert again(proctor, run, "--tools")[0] == 0
    (files / "fix.py").write_text("open('calc.py', 'a').write('# two\\n')\n")
    code, told = again(proctor, run, "--tools")
    assert code == 1 and [item["path"] for item in told["base"]] == ["agent.digest"]
    assert told["where"] == "workspace/changes.json" and told["divergence"].startswith("calc.py: ended as 100644 ")


def test_the_commands_of_an_agent_with_a_model_run_again_without_it(
    proctor: Proctor, make_contract: Any, tmp_path: Path
) -> None:
    script = tmp_path / "turns.yaml"
    script.write_text(TURNS)
    model = ("--model", "scripted/any", "--script", script)
    run = made(proctor, make_contract(), "builtin", *model)
    code, told = again(proctor, run, "--tools")
    assert (code, told["commands"], told["divergence"]) == (0, 3, "")

    def edit(event: Any) -> None:
        if event["type"] == "guard.exec" and event["payload"]["argv"][-1:] == ["grep -q minus calc.py"]:
            event["payload"]["argv"][-1] = "grep -q add calc.py"
        if event["type"] == "tool.call":
            arguments = event["payload"]["arguments"]
            arguments["text"] = arguments["text"].replace("-q minus", "-q add")

    forge(run, event=edit)
    code, told = again(proctor, run, "--tools")
    assert (code, told["commands"]) == (1, 1)
    assert "grep -q add calc.py: exit code 0; recorded: 1" in told["divergence"]


def test_what_no_two_runs_print_alike_is_a_notice(proctor: Proctor, make_contract: Any) -> None:
    script = "date +%s; echo pid $$; echo same; head -c 8 /dev/urandom | od -An -tx1 >&2; sed -i s/-/+/ calc.py"
    run = made(proctor, make_contract(), f"command:sh -c '{script}'")
    code, told = again(proctor, run, "--tools")
    assert (code, told["same"], told["divergence"]) == (0, True, "")
    seen = {one["stream"]: one for one in told["notices"]}
    assert "two replays" in seen["stderr"]["why"] and seen["stderr"]["call"] == 1
    assert "stdout" not in seen or "differs only in times" in seen["stdout"]["why"]
    assert "notice: events.jsonl#" in proctor("replay", run.name, "--tools").stdout


def test_an_output_that_decides_nothing_does_not_hide_another_exit_code(proctor: Proctor, make_contract: Any) -> None:
    run = made(proctor, make_contract(), "command:sh -c 'head -c 8 /dev/urandom | od -An -tx1; sed -i s/-/+/ calc.py'")

    def edit(event: Any) -> None:
        if event["type"] == "tool.invocation":
            event["payload"]["exit_code"] = 3

    forge(run, event=edit)
    code, told = again(proctor, run, "--tools")
    assert code == 1 and "exit code 0; recorded: 3" in told["divergence"]


def test_the_output_of_a_single_call_is_held_against_what_the_model_was_told(
    proctor: Proctor, make_contract: Any, tmp_path: Path
) -> None:
    script = tmp_path / "turns.yaml"
    script.write_text(PRINTING)
    run = made(proctor, make_contract(), "builtin", "--model", "scripted/any", "--script", script)
    code, told = again(proctor, run, "--tools")
    assert (code, told["commands"], told["divergence"], told["notices"]) == (0, 3, "", [])

    def edit(event: Any) -> None:
        if event["type"] == "tool.result" and "beta" in event["payload"]["content"]["text"]:
            event["payload"]["content"]["text"] = event["payload"]["content"]["text"].replace("beta", "gamma")

    forge(run, event=edit)
    code, told = again(proctor, run, "--tools")
    assert (code, told["commands"]) == (1, 1)
    words = "call 2, /bin/sh -c echo alpha; echo beta >&2; date; echo $$: output has 'beta'; recorded: 'gamma'"
    assert told["divergence"] == words
    begun = [json.loads(line) for line in (run / "events.jsonl").read_bytes().splitlines()]
    at = next(n for n, one in enumerate(begun) if one["type"] == "guard.exec" and "beta" in str(one["payload"]["argv"]))
    assert told["where"] == f"events.jsonl#{at}"


def test_an_output_decides_nothing_where_a_change_was_seen_too_late(
    proctor: Proctor, make_contract: Any, tmp_path: Path
) -> None:
    script = tmp_path / "turns.yaml"
    script.write_text(EDITING)
    run = made(proctor, make_contract(), "builtin", "--model", "scripted/any", "--script", script)
    code, told = again(proctor, run, "--tools")
    assert (code, told["commands"], told["divergence"]) == (0, 1, "")
    assert [one["why"] for one in told["notices"]] in ([], [LATE])


def test_a_run_without_commands_has_none_to_run_again(proctor: Proctor, make_contract: Any) -> None:
    run = made(proctor, make_contract(), "reference")
    done = proctor("replay", run.name, "--tools")
    assert done.returncode == 2 and "recorded no command" in done.stderr
    for wrong in (("--tools", "--acceptance"), ("--breakers", "--contract", ".")):
        assert proctor("replay", run.name, *wrong).returncode == 2
