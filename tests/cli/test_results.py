"""What is said of runs: how they ended, in words that are whole, and where to look further."""

from __future__ import annotations

import json
import re
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from proctor.cli.output import counted, shortened
from proctor.record.run_directory import RunDirectory, RunLock

Proctor = Callable[..., subprocess.CompletedProcess[str]]
FIX = "sed -i s/a.-.b/a+b/ calc.py"


def test_the_table_says_how_an_agent_was_ended(proctor: Proctor, make_contract: Any) -> None:
    agent = f"command:sh -c '{FIX}; for i in 1 2 3 4 5 6 7 8 9; do /bin/true; done; sleep 9'"
    done = proctor("run", make_contract(budget={"tool_calls": 5}), "--agent", agent)
    assert "success  ended: tool-call-cap; every gate passed" in done.stdout, done.stdout + done.stderr
    assert "--output" not in done.stdout


def test_the_table_says_how_an_agent_failed_and_where_to_look(proctor: Proctor, make_contract: Any) -> None:
    done = proctor("run", make_contract(), "--agent", "command:python3 /agent/absent.py")
    assert done.returncode == 1
    assert " command:absent.py " in done.stdout
    assert " the agent exited with 2; G3: " in done.stdout
    hint = done.stdout.splitlines()[-1].removeprefix("what the agent printed: proctor ")
    assert "absent.py" in proctor(*hint.split()).stdout, "the hint works as it is printed"
    assert "the agent failed with exit code 2" in proctor("show", "last").stdout
    row = json.loads(proctor("runs", "--json").stdout)["runs"][0]
    manifest = json.loads((Path(row["path"]) / "manifest.json").read_bytes())
    assert manifest["agent"]["command"] == ["python3", "/agent/absent.py"]


def test_a_broken_run_is_no_verdict_and_the_hint_works(proctor: Proctor, make_contract: Any) -> None:
    row = json.loads(proctor("run", make_contract(), "--agent", "reference", "--json").stdout)["runs"][0]
    directory = Path(row["evidence"])
    moved = directory.parent.parent / "a copy"
    directory.rename(moved)
    (moved / "report.json").write_bytes((moved / "report.json").read_bytes() + b"\n")
    done = proctor("show", moved)
    assert done.returncode == 4
    assert "report.json" in done.stderr
    assert proctor("verify", moved).returncode == 4
    moved.rename(directory)
    for words in ((), ("--status", "broken")):
        assert "  broken  " in proctor("runs", *words).stdout
    assert row["run"] not in proctor("runs", "--status", "success").stdout


def test_a_run_without_a_report_says_why(proctor: Proctor, tmp_path: Path) -> None:
    run = RunDirectory(tmp_path / "home/runs/20260307T120000-0123456789").create()
    with RunLock.take(run):
        done = proctor("show", "last")
        assert (done.returncode, "is still running: it has no report" in done.stderr) == (3, True)
        done = proctor("show", "last", "--output")
        assert (done.returncode, done.stdout) == (3, "")
        assert f"{run.path.name} is still running: the output of a program is recorded when" in done.stderr
        done = proctor("verify", "last")
        assert (done.returncode, "seal.json: missing: the run is still running" in done.stdout) == (3, True)
    done = proctor("show", "last")
    assert (done.returncode, "the run was cut" in done.stderr) == (4, True), done.stderr


def test_a_run_whose_agent_is_no_program_has_no_output(proctor: Proctor, make_contract: Any) -> None:
    proctor("run", make_contract(), "--agent", "noop")
    done = proctor("show", "last", "--output")
    assert (done.returncode, done.stdout) == (0, "")
    assert done.stderr.endswith(" started no program for its agent, so there is no output\n")


def test_a_check_that_passes_and_can_be_forged_is_told_so(proctor: Proctor, make_contract: Any) -> None:
    proctor("run", make_contract(), "--agent", "reference")
    shown = proctor("show", "last").stdout
    assert "forgeable" in shown and " , forgeable" not in shown


def test_a_changed_trace_is_shown_up_to_the_change(proctor: Proctor, make_contract: Any) -> None:
    row = json.loads(proctor("run", make_contract(), "--agent", "noop", "--json").stdout)["runs"][0]
    events = Path(row["evidence"]) / "events.jsonl"
    lines = events.read_bytes().splitlines(keepends=True)
    events.write_bytes(b"".join([*lines[:4], lines[4].replace(b'"actor"', b'"Actor"'), *lines[5:]]))
    for words, told in (((), 4), (("--json",), 4), (("--type", "run.started"), 1)):
        done = proctor("trace", "last", *words)
        assert (done.returncode, len(done.stdout.splitlines())) == (4, told), done.stderr
        assert "events.jsonl#4" in done.stderr and "Traceback" not in done.stderr


def test_an_event_that_is_shortened_can_be_printed_whole(proctor: Proctor, make_contract: Any) -> None:
    say = "import calc; print('first'); print('12  0.1s a  an event'); assert calc.add(2, 2) == 4"
    check = {**make_contract.CHECK, "run": ["/usr/bin/python3", "-c", say]}
    proctor("run", make_contract(checks=[check]), "--agent", "noop")
    short = proctor("trace", "last", "--type", "check.decided", "--type", "check.finished")
    cut = sum("..." in line for line in short.stdout.splitlines())
    assert cut and re.fullmatch(f"{cut} events? shortened; --full prints them completely\n", short.stderr)
    full = proctor("trace", "last", "--type", "check.finished", "--full")
    assert full.stderr == ""
    rest = [line for line in full.stdout.splitlines() if not line.endswith(" check.finished")]
    assert {'        check: "adds"', "            | first", "            | 12  0.1s a  an event"} <= set(rest)
    assert all(line.startswith(" " * 8) for line in rest), "no text can look like an event"


def test_a_directory_without_a_contract_is_told_as_lint_tells_it(proctor: Proctor, tmp_path: Path) -> None:
    for words in ("show", "lint"):
        done = proctor(words, tmp_path)
        assert done.returncode == 2
        assert "there is no contract.yaml in this directory" in done.stderr


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("short", "short"),
        ("a sentence of words", "a sentence..."),
        ("x" * 30, "x" * 11 + "..."),
        ("exactly so long", "exactly so..."),
    ],
)
def test_what_is_cut_is_cut_after_a_word_and_marked(text: str, shown: str) -> None:
    assert shortened(text, 14) == shown


def test_one_is_no_plural() -> None:
    assert [counted(number, "run") for number in (0, 1, 2)] == ["0 runs", "1 run", "2 runs"]
