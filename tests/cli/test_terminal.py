"""Colours, narrow tables and the clock, on a terminal of a given width, in a pipe, and as variables ask."""

from __future__ import annotations

import fcntl
import os
import pty
import struct
import subprocess
import sys
import termios
from collections.abc import Sequence

import pytest

TABLE = """
import sys
from proctor.cli.output import print_table
head = ["RUN", "STATUS", "WHY"]
print_table(head, [["20260307T120000-0123456789", "success", "every gate passed and there is nothing more to say"],
    ["20260307T120001-0123456789", "failure", "\\u6f22\\u5b57 are wide and this reason is much longer than others"]])
"""
CLOCK = """
import time
from proctor.cli import progress
progress.TICK_SECONDS = 0.1
with progress.Progress(2) as shown:
    shown.phase("20260307T120000-0123456789", "agent" * 30)
    time.sleep(1)
"""
PLAIN = {"PATH": os.environ["PATH"], "LANG": "C.UTF-8"}


def on_terminal(program: str, width: int, arguments: Sequence[str] = (), **variables: str) -> str:
    """What a program prints on a terminal that is so wide."""
    leader, follower = pty.openpty()
    fcntl.ioctl(follower, termios.TIOCSWINSZ, struct.pack("HHHH", 24, width, 0, 0))
    command = [sys.executable, "-c", program, *arguments]
    child = subprocess.Popen(
        command, stdin=follower, stdout=follower, stderr=follower, env={**PLAIN, "TERM": "xterm", **variables}
    )
    os.close(follower)
    data = b""
    try:
        while chunk := os.read(leader, 65536):
            data += chunk
    except OSError:  # the last writer has closed the terminal
        pass
    os.close(leader)
    assert child.wait(timeout=60) == 0, data
    return data.decode().replace("\r\n", "\n")


def in_pipe(program: str, **variables: str) -> str:
    done = subprocess.run(
        [sys.executable, "-c", program], env={**PLAIN, **variables}, capture_output=True, text=True, timeout=60
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


def columns(line: str) -> int:
    return sum(2 if sign in "\u6f22\u5b57" else 1 for sign in line)


@pytest.mark.parametrize("width", [40, 50, 60, 72, 80])
def test_a_table_fits_a_narrow_terminal(width: int) -> None:
    text = on_terminal(TABLE, width, NO_COLOR="1")
    assert max(map(columns, text.splitlines())) <= width
    words = " ".join(text.split())
    assert "20260307T120000-0123456789" in words and "20260307T120001-0123456789" in words
    assert "success" in words and "WHY" in words and "longer" in words


def test_a_table_in_a_pipe_has_a_line_for_each_row() -> None:
    lines = in_pipe(TABLE, COLUMNS="40").splitlines()
    assert len(lines) == 4
    assert lines[2].startswith("20260307T120000-0123456789  success  every gate")


@pytest.mark.parametrize(
    ("variables", "coloured"),
    [
        ({}, True),
        ({"NO_COLOR": "1"}, False),
        ({"NO_COLOR": ""}, True),
        ({"TERM": "dumb"}, False),
        ({"TERM": "dumb", "FORCE_COLOR": "1"}, True),
        ({"NO_COLOR": "1", "FORCE_COLOR": "1"}, False),
    ],
)
def test_colours_on_a_terminal(variables: dict[str, str], coloured: bool) -> None:
    text = on_terminal(TABLE, 200, **variables)
    assert ("\x1b[32msuccess\x1b[0m" in text) == ("\x1b[31mfailure\x1b[0m" in text) == ("\x1b[" in text) == coloured


@pytest.mark.parametrize(
    ("variables", "coloured"), [({}, False), ({"FORCE_COLOR": "1"}, True), ({"FORCE_COLOR": "0"}, False)]
)
def test_colours_in_a_pipe(variables: dict[str, str], coloured: bool) -> None:
    assert ("\x1b[32msuccess\x1b[0m" in in_pipe(TABLE, **variables)) == coloured


def test_errors_have_a_colour_on_a_terminal_alone() -> None:
    program = "from proctor.cli.main import run_command\nrun_command(['show', 'nothing', '--patch'])"
    assert "\x1b[31mproctor:\x1b[0m there is no run" in on_terminal(program, 80, PROCTOR_HOME="/nonexistent")
    assert "\x1b[" not in on_terminal(program, 80, PROCTOR_HOME="/nonexistent", NO_COLOR="1")


def test_the_clock_ticks_in_one_line() -> None:
    drawn = on_terminal(CLOCK, 50).split("\r\x1b[K")
    assert len(drawn) >= 6, "drawn again without any news"
    assert {line[:10] for line in drawn if line} <= {"0/2 done, "}
    assert max(map(len, drawn)) < 50


def test_a_dumb_terminal_gets_no_clock() -> None:
    assert on_terminal(CLOCK, 50, TERM="dumb") == ""
