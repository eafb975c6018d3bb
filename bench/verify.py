"""Verifying a sealed run directory against parsing and hashing the same lines."""

from __future__ import annotations

import hashlib
from pathlib import Path

import orjson

from bench.append import fill
from bench.measure import Row, per_second, ratio, seconds
from proctor.record.run_directory import RunDirectory
from proctor.record.seal import write_seal
from proctor.record.verify import verify

BAR = 50_000


def measure(directory: Path, *, quick: bool) -> list[Row]:
    count = 10_000 if quick else 50_000
    run = RunDirectory(directory / "run").create()
    write_seal(run, fill(run.events, count))

    def floor() -> None:
        with run.events.open("rb") as lines:
            for line in lines:
                orjson.loads(line)
                hashlib.sha256(line).digest()

    if verify(run).events != count:
        raise AssertionError("not every event was read")
    pairs = [(seconds(lambda: verify(run)), seconds(floor)) for _ in range(3 if quick else 5)]
    ours, bare = min(pair[0] for pair in pairs), min(pair[1] for pair in pairs)
    return [
        Row(
            "verify an event of 1 kB",
            per_second(count, ours),
            per_second(count, bare),
            ratio(ours, bare),
            f">= {BAR:,}/s",
            count / ours >= BAR,
        )
    ]
