"""Commands whose reader goes away end without a message; runs go on."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from proctor.cli.main import run_command


@pytest.fixture
def closed() -> Iterator[int]:
    """The writing end of a pipe that no one reads."""
    reads, writes = os.pipe()
    os.close(reads)
    yield writes
    os.close(writes)


def proctor(home: Path, *arguments: str, **streams: Any) -> subprocess.CompletedProcess[bytes]:
    environment = {**os.environ, "PROCTOR_HOME": str(home)}
    return subprocess.run([sys.executable, "-m", "proctor", *arguments], env=environment, timeout=300, **streams)


def without_streams(home: Path, closing: str, *arguments: str) -> subprocess.CompletedProcess[bytes]:
    """A command that a shell starts with closed streams."""
    command = ["sh", "-c", f'exec "$@" {closing}', "sh", sys.executable, "-m", "proctor", *arguments]
    environment = {**os.environ, "PROCTOR_HOME": str(home)}
    return subprocess.run(command, env=environment, capture_output=True, timeout=300)


@pytest.mark.parametrize("arguments", [("--help",), ("agents",), ("runs", "--json"), ("schema",), ("taxonomy",)])
def test_a_command_whose_output_is_closed_ends_without_a_message(
    tmp_path: Path, closed: int, arguments: tuple[str, ...]
) -> None:
    done = proctor(tmp_path, *arguments, stdout=closed, stderr=subprocess.PIPE)
    assert (done.returncode, done.stderr) == (141, b"")


def test_a_message_that_no_one_reads_ends_the_same_way(tmp_path: Path, closed: int) -> None:
    done = proctor(tmp_path, "show", "nothing", stdout=subprocess.PIPE, stderr=closed)
    assert (done.returncode, done.stdout) == (141, b"")


def test_runs_go_on_when_no_one_reads_their_progress(tmp_path: Path, closed: int, make_contract: Any) -> None:
    more = ("--agent", "noop", "-n", "2")
    done = proctor(tmp_path, "run", str(make_contract()), *more, stdout=subprocess.PIPE, stderr=closed)
    assert done.returncode == 1, "the no-op fails"
    assert done.stdout.count(b"failure") == 2


@pytest.mark.parametrize("arguments", [("agents",), ("runs", "--json"), ("query", "--columns", "--csv"), ("--help",)])
def test_a_command_without_standard_output_says_nothing(tmp_path: Path, arguments: tuple[str, ...]) -> None:
    done = without_streams(tmp_path, "<&- >&-", *arguments)
    assert (done.returncode, done.stderr) == (0, b"")


def test_an_error_without_standard_error_keeps_its_code(tmp_path: Path) -> None:
    done = without_streams(tmp_path, "2>&-", "show", "nothing")
    assert (done.returncode, done.stdout) == (2, b"")


def test_runs_without_standard_streams_are_intact(tmp_path: Path, make_contract: Any) -> None:
    done = without_streams(tmp_path, "<&- >&- 2>&-", "run", str(make_contract()), "--agent", "reference")
    assert done.returncode == 0
    assert proctor(tmp_path, "verify", "last", stdout=subprocess.PIPE).returncode == 0


def test_another_broken_pipe_is_a_defect_and_not_the_end_of_the_output(
    monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    def broken() -> None:
        raise BrokenPipeError(32, "Broken pipe")

    monkeypatch.setattr("proctor.cli.wiring.home", broken)
    assert run_command(["runs"]) == 3
    assert "this is a defect of Proctor" in capfd.readouterr().err
