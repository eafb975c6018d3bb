"""The whole report on made-up records: from the index's file to the page, the tables and the data.

Every size has a process of its own, so that its memory is its own. The floor is reading the same file as a table. Work
that does not grow with the records (drawing signs, drawing the page) is most of a small report, so that a record of a
large one may cost less than one of a small one, never much more.
"""

from __future__ import annotations

import json
import resource
import sys
import time
from pathlib import Path
from typing import Any

from bench.measure import Row, apart, microseconds, ratio, seconds
from bench.synthetic import synthetic_table

SIZES, QUICK_SIZES = (10_000, 100_000, 1_000_000), (2_000, 20_000)
SECONDS_BAR = 60
MEMORY_BAR = 2 << 30
LINEAR_BAR = 1.5
"""The most that a record may cost at the largest size, against what one costs at the size before."""


def measure(directory: Path, *, quick: bool) -> list[Row]:
    sizes = QUICK_SIZES if quick else SIZES
    found = [_apart(count, directory / str(count)) for count in sizes]
    *_, before, last = found
    rows = [
        Row(
            f"report on {one['count']:,} records",
            f"{one['report']:.1f} s",
            f"{one['read']:.2f} s",
            ratio(one["report"], one["read"]),
            f"< {SECONDS_BAR} s" if one is last else "",
            one["report"] < SECONDS_BAR if one is last else None,
        )
        for one in found
    ]
    each = [one["report"] / one["count"] for one in (last, before)]
    return [
        *rows,
        Row(f"one record of {last['count']:,} in it", microseconds(each[0]), microseconds(each[1]),
            ratio(each[0], each[1]), f"<= {LINEAR_BAR} x one of {before['count']:,}", each[0] <= LINEAR_BAR * each[1]),
        Row("memory for it", f"{last['memory'] / (1 << 20):,.0f} MiB", "", "", "< 2 GiB", last["memory"] < MEMORY_BAR),
        Row("time of the processor", f"{last['busy']:.1f} s", "", "", "", None),
        Row("size of the page", f"{last['page'] / 1e6:.1f} MB", "", "", "", None),
    ]  # fmt: skip


def _apart(count: int, folder: Path) -> dict[str, Any]:
    """What :func:`alone` finds in a process of its own; the records are made in another."""
    words = str(count), str(folder)
    apart("bench.report", "make", *words)
    return apart("bench.report", "report", *words)


def make(count: int, folder: Path) -> dict[str, Any]:
    """Write the records down."""
    from proctor.study.index.parquet_file import write_table

    folder.mkdir()
    write_table(synthetic_table(count), folder / "runs.parquet")
    return {}


def alone(count: int, folder: Path) -> dict[str, Any]:
    """Seconds and bytes for a report on ``count`` records."""
    import proctor.cli.main  # noqa: F401  as in every command, which sets how often garbage is looked for
    from proctor.present.report_files import PAGE, write_report
    from proctor.study.analysis.findings import findings
    from proctor.study.analysis.question import Extras, Question
    from proctor.study.index.parquet_file import read_table

    start, busy = time.perf_counter(), time.process_time()
    table = read_table(folder / "runs.parquet")
    write_report(findings(table, Question(), Extras(name="made up")), table, folder / "report")
    spent = {"report": time.perf_counter() - start, "busy": time.process_time() - busy}
    memory = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024
    read = seconds(lambda: read_table(folder / "runs.parquet"))
    return {"count": count, "memory": memory, "read": read, "page": (folder / "report" / PAGE).stat().st_size, **spent}


if __name__ == "__main__":
    work = {"make": make, "report": alone}[sys.argv[1]]
    print(json.dumps(work(int(sys.argv[2]), Path(sys.argv[3]))))
