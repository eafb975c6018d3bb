"""Made-up records into the index: how fast, in how much memory, and whether a hundred times as many cost more each.

Every size has a process of its own, so that its memory is its own. What it takes to make the records up is not counted.
The floor is writing the same records down as lines of JSON.
"""

from __future__ import annotations

import json
import resource
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import orjson

from bench.measure import Row, apart, microseconds, per_second, ratio, seconds
from bench.synthetic import synthetic_rows

SIZES, QUICK_SIZES = (10_000, 100_000, 1_000_000), (10_000, 100_000)
BAR = 50_000
MEMORY_BAR = 2 << 30
LINEAR_BAR = 1.5
"""The most processor time that a record may take at the largest size, against what one takes at the size before."""


def measure(directory: Path, *, quick: bool) -> list[Row]:
    sizes = QUICK_SIZES if quick else SIZES
    found = [apart("bench.index", str(count), str(directory / f"{count}.parquet")) for count in sizes]
    *_, before, last = found
    rows = [
        Row(
            f"ingest {one['count']:,} records",
            per_second(one["count"], one["ingest"]),
            per_second(one["floor_count"], one["floor"]),
            ratio(one["ingest"] / one["count"], one["floor"] / one["floor_count"]),
            f">= {BAR:,}/s" if one is last else "",
            one["count"] / one["ingest"] >= BAR if one is last else None,
        )
        for one in found
    ]
    each = [one["busy"] / one["count"] for one in (last, before)]
    grown = f"one of {before['count']:,}"
    return [
        *rows,
        Row(f"one record of {last['count']:,}", microseconds(each[0]), microseconds(each[1]), ratio(each[0], each[1]),
            f"<= {LINEAR_BAR} x {grown}", each[0] <= LINEAR_BAR * each[1]),
        Row("memory for it", f"{last['memory'] / (1 << 20):,.0f} MiB", "", "", "< 2 GiB", last["memory"] < MEMORY_BAR),
        Row("a second of the processor", per_second(last["count"], last["busy"]), "", "", "", None),
        Row("read it as a table", f"{last['read']:.2f} s", "", "", "", None),
        Row("ask it in SQL", f"{last['ask']:.2f} s", "", "", "", None),
    ]  # fmt: skip


def alone(count: int, path: Path) -> dict[str, Any]:
    """Seconds and bytes for ``count`` records."""
    import proctor.cli.main  # noqa: F401  as in every command, which sets how often garbage is looked for
    from proctor.study.index.parquet_file import connect, ingest, read_table
    from proctor.study.index.sql_query import RunsDatabase

    connect().close()
    making, busy_making = 0.0, 0.0

    def rows() -> Iterator[dict[str, Any]]:
        nonlocal making, busy_making
        start, busy = time.perf_counter(), time.process_time()
        for block in synthetic_rows(count):
            making, busy_making = making + time.perf_counter() - start, busy_making + time.process_time() - busy
            yield from block
            start, busy = time.perf_counter(), time.process_time()

    def ask() -> None:
        with RunsDatabase.over(path) as question:
            sql = "select agent, avg(success), sum(cost_usd) from runs group by agent order by agent"
            if len(list(question.ask(sql).rows)) != 20:
                raise AssertionError("not every agent is in the answer")

    busy = time.process_time()
    whole = seconds(lambda: ingest(rows(), path))
    busy = time.process_time() - busy
    memory = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024
    block = next(iter(synthetic_rows(min(count, 50_000))))
    with open(path.with_suffix(".jsonl"), "wb") as lines:
        floor = seconds(lambda: lines.writelines(orjson.dumps(row) + b"\n" for row in block))
    read = seconds(lambda: read_table(path))
    memory = max(memory, resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024)
    spent = {"ingest": whole - making, "busy": busy - busy_making, "floor": floor, "read": read, "ask": seconds(ask)}
    return {"count": count, "floor_count": len(block), "memory": memory, **spent}


if __name__ == "__main__":
    print(json.dumps(alone(int(sys.argv[1]), Path(sys.argv[2]))))
