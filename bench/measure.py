"""Timing two things side by side, and the rows that come of it.

A row compares what Proctor takes with what the bare work takes, measured in turn in one process, so that a loaded
machine slows both. Medians decide for durations, the best round for rates.
"""

from __future__ import annotations

import json
import os
import statistics
import subprocess
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

PROJECT = Path(__file__).resolve().parent.parent


@dataclass(frozen=True)
class Row:
    """One line of the table; ``passed`` is ``None`` for a line that only informs."""

    name: str
    measured: str
    floor: str
    ratio: str
    bar: str
    passed: bool | None


def environment(**more: str) -> dict[str, str]:
    """This process's environment, with byte code kept: an installed program is not compiled each time it starts."""
    kept = {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}
    return {**kept, **more}


def seconds(work: Callable[[], object]) -> float:
    """How long ``work`` takes."""
    start = time.perf_counter()
    work()
    return time.perf_counter() - start


def side_by_side(measured: Callable[[], object], floor: Callable[[], object], times: int) -> tuple[float, float]:
    """The medians of both in seconds, after one round that is not counted."""
    measured(), floor()
    pairs = [(seconds(measured), seconds(floor)) for _ in range(times)]
    return statistics.median(pair[0] for pair in pairs), statistics.median(pair[1] for pair in pairs)


def apart(module: str, *words: str) -> dict[str, Any]:
    """What a module of these benches prints as JSON in a process of its own, whose memory is its own."""
    command = [sys.executable, "-m", module, *words]
    done = subprocess.run(command, cwd=PROJECT, env=environment(), capture_output=True, text=True, timeout=1200)
    if done.returncode:
        raise AssertionError(done.stderr)
    found: dict[str, Any] = json.loads(done.stdout)
    return found


def microseconds(value: float) -> str:
    return f"{value * 1e6:.1f} µs"


def milliseconds(value: float) -> str:
    return f"{value * 1000:.1f} ms"


def per_second(count: int, duration: float) -> str:
    return f"{count / duration:,.0f}/s"


def ratio(measured: float, floor: float) -> str:
    return f"{measured / floor:.2f} x"
