"""Progress lines where nobody watches a terminal."""

from __future__ import annotations

import subprocess
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest

from proctor.cli.progress import MOST_LINES, Attempts
from proctor.study.pilot.ledger.journal import Journal, Removal
from proctor.study.pilot.running.pilot_state import done_of
from tests.study.pilot.pilot_cases import SHOWN
from tests.study.pilot.report.test_status import stands

Proctor = Callable[..., subprocess.CompletedProcess[str]]


def test_every_attempt_of_a_few_gets_a_line(capsys: pytest.CaptureFixture[str]) -> None:
    attempts = Attempts("small: attempts")
    for _ in range(3):
        attempts.one_more(3)
    assert capsys.readouterr().err.splitlines() == [f"[{done}/3] small: attempts" for done in (1, 2, 3)]


def test_many_attempts_get_few_lines_and_the_last_is_among_them(capsys: pytest.CaptureFixture[str]) -> None:
    attempts = Attempts("small: attempts")
    for done in range(1, 1004):
        attempts.tell(done, 1003)
    lines = capsys.readouterr().err.splitlines()
    assert len(lines) == MOST_LINES
    assert lines[-1] == "[1003/1003] small: attempts"


def test_a_name_cannot_steer_a_terminal_and_quiet_is_quiet(capsys: pytest.CaptureFixture[str]) -> None:
    Attempts("small\x1b[2J").tell(1, 1)
    Attempts("small", quiet=True).tell(1, 1)
    assert capsys.readouterr().err == "[1/1] small?[2J\n"


def test_a_screen_for_flaky_checks_tells_its_attempts(proctor: Proctor, make_contract: Any) -> None:
    done = proctor("validate", make_contract(), "--flakes", "2", "--times", "1")
    assert done.returncode == 0, done.stderr
    told = [line for line in done.stderr.splitlines() if "attempts" in line]
    assert told == [f"[{count}/4] small: attempts at base and reference" for count in (1, 2, 3, 4)]
    assert "attempts at base" not in done.stdout


def test_a_pilot_that_lost_a_task_does_not_pass_its_total() -> None:
    here = stands(20)
    assert done_of(here) == (48 + 8, 20 + 8)
    gone = Removal("a", "", "flaky", (), SHOWN, "", "", "", 0, "")
    left = sum(slot.task != "a" for slot in here.plan.slots[:20])
    assert done_of(replace(here, journal=Journal(here.journal.screens, (gone,)))) == (36 + 6, left + 6)
