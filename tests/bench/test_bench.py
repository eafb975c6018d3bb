"""The benchmarks run and print a table; whether a bar is met on a busy machine is not a matter for a test."""

from __future__ import annotations

import subprocess
import sys
from importlib import import_module
from pathlib import Path

import pytest

SHORT = ("append", "redact", "start", "verify")
"""Benches that take about a second when they are to be quick."""

LONG = ("run", "command", "workspace", "guard", "gateway", "index", "report", "coverage", "inverted")


def bench(project: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "bench", *arguments]
    return subprocess.run(command, cwd=project, capture_output=True, text=True, timeout=1500)


def prints_its_rows(project: Path, *names: str) -> None:
    done = bench(project, "--quick", *names)
    assert done.returncode in (0, 1), done.stderr
    heading, *rows = done.stdout.splitlines()
    assert heading.split() == ["bench", "proctor", "floor", "ratio", "bar"]
    assert sum(row.endswith(("pass", "MISS")) for row in rows) >= len(names)
    assert (done.returncode == 1) == any(row.endswith("MISS") for row in rows)


def test_short_benches_print_their_rows(project: Path) -> None:
    known = bench(project, "nothing").stderr.partition("there are ")[2].strip().split(", ")
    assert set(known) == {*SHORT, *LONG}
    prints_its_rows(project, *SHORT)


@pytest.mark.soak
@pytest.mark.parametrize("name", LONG)
def test_long_benches_print_their_rows(project: Path, name: str) -> None:
    prints_its_rows(project, name)


def test_a_share_of_false_alarms_is_asked_for_where_a_rule_can_have_it(
    project: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.syspath_prepend(str(project))
    made = import_module("bench.coverage")
    single = [design for design in (*made.MODERATE, *made.EASY) if design.runs == 1]
    assert min(map(made.attainable, single)) > made.ALARMS[0]
    assert min(map(made.attainable, made.SINGLE)) < 0.025 < made.ALARMS[0]
    assert all(row.passed for row in made._single_runs())


def test_an_unknown_bench_is_refused(project: Path) -> None:
    done = bench(project, "nothing")
    assert done.returncode == 2
    assert "there is no bench 'nothing'" in done.stderr
