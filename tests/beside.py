"""Commands that a test starts beside itself, waits for, and stops."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

PATIENCE_SECONDS = 120


@contextmanager
def started(home: Path, *words: str | Path) -> Iterator[subprocess.Popen[str]]:
    """``proctor`` with ``words`` in a process of its own, which does not outlive the test."""
    with subprocess.Popen(
        [sys.executable, "-m", "proctor", *map(str, words)],
        env={**os.environ, "PROCTOR_HOME": str(home)},
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        text=True,
    ) as child:
        try:
            yield child
        finally:
            child.kill()


def wait_until(true: Callable[[], bool], child: subprocess.Popen[str]) -> None:
    """Wait for something that becomes true by what ``child`` does."""
    deadline, lives = time.monotonic() + PATIENCE_SECONDS, True
    while not true():
        assert lives and time.monotonic() < deadline
        lives = child.poll() is None  # the last that it did counts, too
        time.sleep(0.02)


def stopped(child: subprocess.Popen[str], by: signal.Signals) -> tuple[int, str]:
    """The exit code and the errors of a command that gets a signal."""
    child.send_signal(by)
    _, errors = child.communicate(timeout=PATIENCE_SECONDS)
    return child.returncode, errors


def traces_hold(home: Path, sign: str) -> bool:
    """Whether the trace of any run holds ``sign``."""
    return any(sign in path.read_text() for path in home.glob("runs/*/events.jsonl"))
