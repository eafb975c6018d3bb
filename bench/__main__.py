"""``python -m bench [name ...] [--quick]``: prints a table and exits with 1 when a bar is missed."""

from __future__ import annotations

import argparse
import sys
from importlib import import_module

from bench.measure import Row
from bench.place import place

BENCHES = (
    "run",
    "command",
    "workspace",
    "append",
    "verify",
    "start",
    "guard",
    "gateway",
    "redact",
    "index",
    "report",
    "coverage",
    "inverted",
)
HEADINGS = ("bench", "proctor", "floor", "ratio", "bar", "")


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m bench", description=__doc__)
    parser.add_argument("names", nargs="*", metavar="name", help=f"one of {', '.join(BENCHES)}; all when left out")
    parser.add_argument("--quick", action="store_true", help="fewer repeats")
    options = parser.parse_args()
    unknown = sorted(set(options.names) - set(BENCHES))
    if unknown:
        parser.error(f"there is no bench {unknown[0]!r}; there are {', '.join(BENCHES)}")
    rows: list[Row] = []
    for name in options.names or BENCHES:
        module = import_module(f"bench.{name}")
        with place() as directory:
            rows += module.measure(directory, quick=options.quick)
    show(rows)
    return 1 if any(row.passed is False for row in rows) else 0


def show(rows: list[Row]) -> None:
    """Print ``rows`` as columns."""
    marks = {True: "pass", False: "MISS", None: ""}
    table = [HEADINGS] + [(row.name, row.measured, row.floor, row.ratio, row.bar, marks[row.passed]) for row in rows]
    widths = [max(len(line[column]) for line in table) for column in range(len(HEADINGS))]
    for line in table:
        print("  ".join(cell.ljust(width) for cell, width in zip(line, widths, strict=True)).rstrip())


if __name__ == "__main__":
    sys.exit(main())
