"""``proctor --help`` against ``python -c pass``: starting must stay instant."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

from bench.measure import Row, environment, milliseconds, ratio, side_by_side

BAR = 5.0


def measure(directory: Path, *, quick: bool) -> list[Row]:
    def help_page() -> None:
        subprocess.run([program, "--help"], check=True, stdout=subprocess.DEVNULL, env=environment())

    def bare() -> None:
        subprocess.run([sys.executable, "-c", "pass"], check=True, env=environment())

    program = Path(sys.executable).with_name("proctor")
    ours, floor = side_by_side(help_page, bare, 5 if quick else 21)
    return [
        Row(
            "proctor --help",
            milliseconds(ours),
            milliseconds(floor),
            ratio(ours, floor),
            f"<= {BAR:g} x python -c pass",
            ours <= BAR * floor,
        )
    ]
