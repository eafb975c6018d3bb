"""Appending events of about a kilobyte, without syncing, against bare writes of the same lines."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

from bench.measure import Row, per_second, ratio, seconds
from proctor.base.clock import SystemClock, system_entropy
from proctor.record.trace.writer import TraceWriter

BAR = 50_000


def payload(number: int) -> dict[str, Any]:
    """A payload of the size that a command's event has."""
    stream = {"sha256": "a" * 64, "bytes": 4096, "prefix": "collected 20 items\n" * 12}
    return {
        "purpose": "agent",
        "command": ["python3", "-m", "pytest", "-q", f"tests/test_module_{number}.py"],
        "directory": "/workspace",
        "exit_code": 0,
        "started": True,
        "timed_out": False,
        "wall_seconds": "1.250",
        "cpu_seconds": "1.180",
        "stdout": stream,
        "stderr": {"sha256": "b" * 64, "bytes": 0, "prefix": ""},
    }


def fill(path: Path, count: int) -> TraceWriter:
    """A new trace at ``path`` with ``count`` events."""
    trace = TraceWriter.create(path, SystemClock(), system_entropy)
    for number in range(count):
        trace.append("tool.invocation", payload(number))
    return trace


def measure(directory: Path, *, quick: bool) -> list[Row]:
    count, rounds = (10_000, 3) if quick else (50_000, 5)
    payloads = [payload(number) for number in range(count)]
    ours, floors = [], []
    for number in range(rounds):
        trace = TraceWriter.create(directory / f"{number}.jsonl", SystemClock(), system_entropy)
        append = trace.append
        ours.append(seconds(lambda: [append("tool.invocation", item) for item in payloads]))  # noqa: B023
        trace.close()
        lines = trace.path.read_bytes().splitlines(keepends=True)
        handle = os.open(directory / f"{number}.bare", os.O_WRONLY | os.O_CREAT | os.O_APPEND)
        floors.append(seconds(lambda: [os.write(handle, line) for line in lines]))  # noqa: B023
        os.close(handle)
    best, floor = min(ours), min(floors)
    return [
        Row(
            "append an event of 1 kB",
            per_second(count, best),
            per_second(count, floor),
            ratio(best, floor),
            f">= {BAR:,}/s",
            count / best >= BAR,
        )
    ]
