"""``proctor show`` and ``proctor runs``: runs that came to nothing, methods, and gates that are empty on purpose."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

from proctor.author.demo.build import materialise
from proctor.base.canonical import canonical
from proctor.cli.main import run_command
from proctor.cli.run import why
from proctor.cli.trace import beginning
from proctor.cli.trace import command as trace
from proctor.record.report_model import Termination
from proctor.record.run_directory import RunDirectory
from proctor.record.run_store import RunStore, StoredRun
from proctor.record.trace.event import SALT_BYTES, Event
from tests.conduct.resealing import Forger
from tests.corpus_runs import unpack
from tests.sample_reports import sample_report

Proctor = Callable[..., subprocess.CompletedProcess[str]]


def test_gates_that_a_run_never_came_to_are_not_called_failures(proctor: Proctor, make_contract: Any) -> None:
    done = proctor("run", make_contract(), "--agent", "command:no-such-program", "--json")
    assert done.returncode == 2
    assert json.loads(done.stdout)["runs"][0]["status"] == "invalid"
    shown = proctor("show", "last").stdout
    assert "ended        the agent could not be started\n" in shown
    gates = [
        line.split("  ")[0] + " " + line[6:17].strip()
        for line in shown.splitlines()
        if line[:2] in ("G1", "G2", "G3", "G4")
    ]
    assert gates == ["G1 not reached", "G2 pass", "G3 not reached", "G4 not reached"]
    assert "FAIL" not in shown
    table = proctor("rubric", "--csv", "last").stdout
    assert table.splitlines()[1].count("not reached") == 3
    assert proctor("rescore", "last").returncode == 0, "the sealed report says what it said"
    report = json.loads(proctor("show", "last", "--json").stdout)
    assert [gate["passed"] for gate in report["gates"]] == [False, True, False, False]


def test_a_gate_that_a_patch_did_not_pass_is_a_failure(proctor: Proctor, make_contract: Any) -> None:
    done = proctor("run", make_contract(), "--agent", "noop")
    assert done.returncode == 1
    assert "  small  noop  failure" in done.stderr
    shown = proctor("show", "last").stdout
    assert "G3    FAIL" in shown
    assert "scores       contract 0.300000, pilot " in shown
    assert "pilot        " not in shown


def test_runs_are_listed_with_their_models(proctor: Proctor, make_contract: Any, tmp_path: Path) -> None:
    contract = make_contract()
    (tmp_path / "turns.yaml").write_text("schema: 1\nturns:\n  - {say: hello}\n")
    assert proctor("run", contract, "--agent", "noop").returncode == 1
    spoken = ("--agent", "builtin", "--model", "scripted/one", "--script", "turns.yaml")
    assert proctor("run", contract, *spoken).returncode == 1
    rows = [line.split() for line in proctor("runs").stdout.splitlines()]
    assert rows[0] == [*("RUN", "CONTRACT", "AGENT", "MODEL", "STATUS"), *("STARTED", "DURATION", "COST", "WHY")]
    assert [(row[5][-1], row[7], row[9]) for row in rows[2:]] == [("Z", "s", "units")] * 2
    assert all(row[10:] and row[10] != "-" for row in rows[2:])
    assert [row[2:5] for row in rows[2:]] == [["noop", "-", "failure"], ["builtin", "scripted/one", "failure"]]
    assert [run["model"] for run in json.loads(proctor("runs", "--json").stdout)["runs"]] == ["", "scripted/one"]


def test_runs_of_a_pilot_are_listed_with_their_methods_in_a_narrow_table(proctor: Proctor, tmp_path: Path) -> None:
    for number, method in enumerate(("codex-plain", "codex-careful")):
        run = tmp_path / "home" / "runs" / f"20260307T12000{number}-0123456789"
        run.mkdir(parents=True)
        said = {"contract": {"name": "parse-time-zone"}, "agent": {"name": "codex"}}
        asked = {"configuration": {"method": method, "model": "openai/gpt-5-mini"}}
        (run / "manifest.json").write_bytes(canonical({**said, **asked}))
    head, _, *rows = proctor("runs").stdout.splitlines()
    assert head.split() == ["RUN", "CONTRACT", "METHOD", "AGENT", "MODEL", "STATUS"]
    assert [row.split()[2] for row in rows] == ["codex-plain", "codex-careful"]
    assert max(map(len, [head, *rows])) <= 100
    assert [run["method"] for run in json.loads(proctor("runs", "--json").stdout)["runs"]] == [
        "codex-plain",
        "codex-careful",
    ]


@pytest.mark.parametrize(
    ("keys", "value"),
    [
        (("durations", "wall_seconds"), "nan"),
        (("durations", "wall_seconds"), "inf"),
        (("usage", "cost", "usd"), "NaN"),
        (("usage", "cost", "usd"), "sNaN"),
    ],
)
def test_numbers_that_are_none_do_not_end_the_list(
    keys: tuple[str, ...],
    value: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.setenv("PROCTOR_HOME", str(tmp_path))
    run = RunDirectory(unpack("report-2-success", tmp_path / "runs"))
    Forger(run).forge("report.json", keys, value, scored=False)
    assert run_command(["runs", "--status", "success"]) == 0
    assert run.path.name in capsys.readouterr().out


def test_the_newest_runs_are_listed_without_reading_the_others(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("PROCTOR_HOME", str(tmp_path))
    names = [f"20260307T1200{number:02}-0123456789" for number in range(40)]
    for name in names:
        (tmp_path / "runs" / name).mkdir(parents=True)
    read: list[str] = []
    describe = RunStore.describe

    def noted(shelf: RunStore, run: RunDirectory) -> StoredRun:
        read.append(run.path.name)
        return describe(shelf, run)

    monkeypatch.setattr(RunStore, "describe", noted)
    assert run_command(["runs", "-n", "3"]) == 0
    assert [line.split()[0] for line in capsys.readouterr().out.splitlines()[2:]] == names[-3:]
    assert read == names[:-4:-1]


def test_the_patch_and_the_log_of_a_check_are_printed(proctor: Proctor, make_contract: Any, tmp_path: Path) -> None:
    print_both = (
        r"import sys, calc; print('two \x1b[31mlines\nhere'); sys.stderr.write('no'); assert calc.add(2, 2) == 4"
    )
    check = {**make_contract.CHECK, "run": ["/usr/bin/python3", "-c", print_both]}
    contract = make_contract(checks=[check, {**make_contract.CHECK, "id": "quiet"}])
    assert proctor("run", contract, "--agent", "reference").returncode == 0
    patch = proctor("show", "last", "--patch").stdout
    (directory,) = (tmp_path / "home" / "runs").iterdir()
    assert patch == (directory / "workspace" / "final.patch").read_text() and "+    return a + b" in patch
    log = proctor("show", "last", "--log", "adds").stdout
    assert "=== adds, patched, attempt 1: pass (exit-code)\n" in log
    assert "--- stdout, 20 bytes\ntwo ?[31mlines\nhere\n--- stderr, 2 bytes\nno\n" in log
    assert "nothing was printed" in proctor("show", "last", "--log", "quiet").stdout
    unknown = proctor("show", "last", "--log", "ads")
    assert unknown.returncode == 2 and "checks of this run: adds, quiet" in unknown.stderr
    assert "exclude each other" in proctor("show", "last", "--patch", "--why").stderr


def test_an_empty_patch_and_a_trace_without_a_match_are_explained(proctor: Proctor, make_contract: Any) -> None:
    assert proctor("run", make_contract(), "--agent", "noop").returncode == 1
    patch = proctor("show", "last", "--patch")
    assert (patch.returncode, patch.stdout) == (0, "") and "the patch is empty" in patch.stderr
    none = proctor("trace", "last", "--conversation")
    assert (none.returncode, none.stdout) == (0, "") and "of this run belongs to a conversation\n" in none.stderr
    none = proctor("trace", "last", "--type", "words.hit", "--json")
    assert (none.returncode, none.stdout) == (0, "") and "of this run belongs to the type words.hit\n" in none.stderr
    assert "belongs to" not in proctor("trace", "last", "--type", "run.started").stderr


def test_the_log_of_a_check_with_sentinels_names_the_tests_of_the_contract(proctor: Proctor, tmp_path: Path) -> None:
    assert proctor("run", materialise(tmp_path / "demo"), "--agent", "noop").returncode == 1
    log = proctor("show", "last", "--log", "tests").stdout
    assert "\nthe output includes sentinels: tests that the judge adds, some of which must fail\n" in log
    assert log.count("\nnot passed   ") == 5


def test_long_events_end_at_a_field_or_a_word() -> None:
    payload = {"a": "word " * 40, "b": [1] * 60, "c": 1, "d": {"key": "x" * 60}, "e": "y" * 40, "f": "z" * 40}
    line = beginning(payload, 160)
    assert line == (
        '{"a": "word word word word word word word word word...", "b": [...], "c": 1, "d": {...}, '
        '"e": "yyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyy", ...}'
    )


def test_a_role_with_a_newline_cannot_look_like_an_event(
    proctor: Proctor, make_contract: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert proctor("run", make_contract(), "--agent", "noop").returncode == 1
    payload = {"call": 1, "role": "user\n    9     1.000s harness", "content": {"text": "hello"}}
    event = Event(0, "0", "model.message", "agent", payload, "00" * SALT_BYTES, "0" * 64)
    monkeypatch.setattr("proctor.cli.trace.read_up_to_break", lambda *_, **__: ((event,), 0, None))
    monkeypatch.setenv("PROCTOR_HOME", str(tmp_path / "home"))
    done = CliRunner().invoke(trace, ["last"])
    assert done.exit_code == 0
    assert len(done.output.splitlines()) == 1 and "user?    9" in done.output


def test_an_agent_that_does_not_exist_is_reported_before_a_missing_key(proctor: Proctor, make_contract: Any) -> None:
    done = proctor("run", make_contract(), "--agent", "codx", "--model", "openai/some", OPENAI_API_KEY="")
    assert done.returncode == 2
    assert "did you mean codex?" in done.stderr and "key" not in done.stderr


def test_a_gate_that_is_empty_on_purpose_shows_no_check_that_runs(proctor: Proctor, make_contract: Any) -> None:
    empty = {"id": "nothing-to-build", "gate": "build", "no_op": True}
    shown = proctor("show", make_contract(checks=[empty, make_contract.CHECK])).stdout
    rows = {line.split()[0]: line.split(maxsplit=3)[3] for line in shown.splitlines()[-2:]}
    assert rows["nothing-to-build"].split("  ")[0] == "runs nothing"
    assert "exit-code" not in rows["nothing-to-build"]
    assert rows["adds"].startswith("exit-code")


def test_what_is_asked_of_a_run_is_not_passed_over_for_a_contract(proctor: Proctor, make_contract: Any) -> None:
    contract = make_contract()
    assert proctor("show", contract).returncode == 0
    for option in (("--output",), ("--why",), ("--patch",), ("--log", "adds")):
        done = proctor("show", contract, *option)
        assert (done.returncode, done.stdout) == (2, "") and "this is a contract" in done.stderr


def test_why_a_run_failed_stands_on_one_line() -> None:
    ending = Termination(code=None, reason="not-started")
    problem = "cannot run x: nothing there\n\n  check --agent"
    report = sample_report(status="invalid", termination=ending, problems=(problem,))
    assert why(report) == "cannot run x: nothing there; check --agent"


LEAVES = """
mkfifo pipe
truncate -s 70M large.bin
mkdir -p pkg/__pycache__ && echo 1 > pkg/__pycache__/calc.pyc
for n in 1 2 3 4 5 6 7; do echo $n > pkg/__pycache__/m$n.pyc; done
echo changed > made.txt
echo kept > kept.txt
"""


def test_j7_what_is_not_part_of_the_judged_patch_is_shown(proctor: Proctor, make_contract: Any, tmp_path: Path) -> None:
    (tmp_path / "agent").mkdir()
    (tmp_path / "agent" / "leave.sh").write_text(LEAVES)
    contract = make_contract(setup=[{"run": ["/bin/sh", "-c", "echo 1 > made.txt"]}])
    done = proctor("run", contract, "--agent", "command:sh /agent/leave.sh", "--agent-files", tmp_path / "agent")
    assert done.returncode == 1, done.stderr
    lines = [line for line in proctor("show", "last").stdout.splitlines() if line.startswith("left out")]
    for path, reason in (
        ("large.bin", "too large for a patch"),
        ("pipe", "a patch cannot contain it"),
        ("made.txt", "made by setup"),
        ("pkg/__pycache__/calc.pyc", "generated"),
    ):
        assert any(path in line and reason in line for line in lines), (path, lines)
    assert "large.bin" in lines[0], "what can surprise comes first"
    assert any("3 more" in line for line in lines), "of many, the number"
    assert not any("kept.txt" in line for line in lines)
    report = json.loads(proctor("show", "last", "--json").stdout)
    codes = {one["path"]: one["why"] for one in report["left_out"]}
    assert codes["large.bin"] == "too-large" and codes["pipe"] == "special" and codes["made.txt"] == "setup-product"
    assert len(codes) == report["patch"]["dropped"] == 11
    assert all(one["reason"] for one in report["left_out"])
    assert proctor("rescore", "last").returncode == 0, "the sealed report has the same bytes as before"


def test_j7_nothing_is_said_where_nothing_was_left_out(proctor: Proctor, make_contract: Any) -> None:
    proctor("run", make_contract(), "--agent", "reference")
    assert "left out" not in proctor("show", "last").stdout
    assert json.loads(proctor("show", "last", "--json").stdout)["left_out"] == []


CONFTEST = (
    "diff --git a/conftest.py b/conftest.py\nnew file mode 100644\n--- /dev/null\n+++ b/conftest.py\n"
    "@@ -0,0 +1,1 @@\n+x = 1\n"
)


def test_j2_validate_and_show_say_which_files_were_restored_and_why(proctor: Proctor, make_contract: Any) -> None:
    contract = make_contract(policy={"protected": ["README.md"]})
    readme = (
        "diff --git a/README.md b/README.md\n--- a/README.md\n+++ b/README.md\n@@ -1,1 +1,1 @@\n-A calculator.\n+B\n"
    )
    (contract / "fix.patch").write_text(readme + make_contract.FIX + CONFTEST)
    done = proctor("validate", contract, "--times", "1")
    assert done.returncode == 0, done.stdout + done.stderr
    assert "warning: small: the reference changes conftest.py, which is restored before judging" in done.stdout
    assert "list it under policy.free_steering" in done.stdout
    assert "the reference changes README.md" in done.stdout
    shown = proctor("show", "last").stdout
    assert "restored     conftest.py: it steers the test runner\n" in shown
    assert "restored     README.md: the contract protects it\n" in shown
    rows = json.loads(proctor("validate", contract, "--times", "1", "--json").stdout)["runs"]
    told = {row["agent"]: row for row in rows}
    assert told["noop"]["warnings"] == [] and len(told["reference"]["warnings"]) == 2
    assert [entry["path"] for entry in told["reference"]["restored"]] == ["README.md", "conftest.py"]
