"""What confirming a success costs: judging a reference with inverted tests against judging it without.

Two contracts on a real release: one with a short suite, one whose suite works for five seconds more. The inputs come
from the registries the first time.
"""

from __future__ import annotations

import os
import shutil
import statistics
import subprocess
import sys
from pathlib import Path

from bench.measure import Row, milliseconds, ratio
from proctor.base.canonical import parse
from proctor.record.run_directory import RunDirectory
from proctor.record.trace.reader import read_finished_events

EXAMPLE = Path(__file__).resolve().parent.parent / "examples" / "tabulate-digits-with-commas"
SHORT_BAR_SECONDS = 2.0
LONG_BAR_RATIO = 1.6
SLOW = (
    "import time\n\n\ndef test_slow():\n    start = time.process_time()\n"
    "    while time.process_time() - start < 5:\n        sum(range(1000))\n"
)


def measure(directory: Path, *, quick: bool) -> list[Row]:
    times = 2 if quick else 5
    short, short_floor = _judging(directory / "short", times, slow=False)
    long, long_floor = _judging(directory / "long", times, slow=True)
    return [
        Row(
            "a success, short suite",
            milliseconds(short),
            milliseconds(short_floor),
            ratio(short, short_floor),
            f"<= floor + {SHORT_BAR_SECONDS:g} s",
            short <= short_floor + SHORT_BAR_SECONDS,
        ),
        Row(
            "a success, suite of 5 s and more",
            milliseconds(long),
            milliseconds(long_floor),
            ratio(long, long_floor),
            f"<= {LONG_BAR_RATIO:g}",
            long <= LONG_BAR_RATIO * long_floor,
        ),
    ]


def _judging(directory: Path, times: int, *, slow: bool) -> tuple[float, float]:
    """The median seconds of judging the reference with inverted tests, and without, run by turns."""
    found: dict[str, list[float]] = {"with": [], "without": []}
    for name in found:
        contract = directory / name
        shutil.copytree(EXAMPLE, contract)
        text = (contract / "contract.yaml").read_text()
        if name == "without":
            text = text.replace("    results: pytest\n", "    results: pytest\n    inverted: {draws: 0}\n")
        if slow:
            (contract / "hidden" / "test").mkdir(parents=True)
            (contract / "hidden" / "test" / "test_slow.py").write_text(SLOW)
            text = text.replace("    hidden:\n", "    hidden:\n      - {from: hidden}\n")
        (contract / "contract.yaml").write_text(text)
    home = directory / "home"
    for number in range(times + 1):  # the first of each makes layers and variants
        for name, several in found.items():
            taken = _run(contract=directory / name, home=home)
            if number:
                several.append(taken)
    return statistics.median(found["with"]), statistics.median(found["without"])


def _run(contract: Path, home: Path) -> float:
    """Judge the reference once; the seconds from the applied patch to the last decision."""
    command = [sys.executable, "-m", "proctor", "run", str(contract), "--agent", "reference", "--json"]
    done = subprocess.run(command, env={**os.environ, "PROCTOR_HOME": str(home)}, capture_output=True, check=True)
    (row,) = parse(done.stdout)["runs"]
    assert row["status"] == "success", row
    events = read_finished_events(RunDirectory(home / "runs" / row["run"]).events)[0]
    start = next(int(event.t) for event in events if event.type == "patch.applied")
    end = max(int(event.t) for event in events if event.type == "check.decided")
    return (end - start) / 1e9
