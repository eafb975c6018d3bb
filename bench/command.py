"""A command through a live sandbox against the same command as a bare child process."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

from bench.measure import Row, milliseconds, ratio, seconds, side_by_side
from proctor.execute.sandbox.bubblewrap.backend import BubblewrapBackend
from proctor.execute.sandbox.interface import Command, Limits, SandboxPlan, Tree, owner

BAR_SECONDS = 0.005
PROGRAM = ("/usr/bin/python3", "-I", "-S", "-c", "print(1)")


def measure(directory: Path, *, quick: bool) -> list[Row]:
    directory.chmod(0o755)
    tree = directory / "tree"
    for name in ("workspace", "setup"):
        (tree / name).mkdir(parents=True)
        os.chown(tree / name, *owner())
    sessions = directory / "sessions"
    sessions.mkdir()
    backend = BubblewrapBackend(sessions)
    plan = SandboxPlan(workspace=Tree(tree), limits=Limits())
    opened = seconds(lambda: backend.open(plan).close())
    with backend.open(plan) as sandbox:
        command = Command(PROGRAM, {"PATH": "/usr/bin:/bin"})

        def inside() -> None:
            finished = sandbox.run(command)
            assert finished.exit_code == 0 and finished.stdout.prefix == b"1\n", finished

        def bare() -> None:
            subprocess.run(PROGRAM, check=True, capture_output=True, env={"PATH": "/usr/bin:/bin"})

        ours, floor = side_by_side(inside, bare, 11 if quick else 101)
    return [
        Row(
            "command in a sandbox",
            milliseconds(ours),
            milliseconds(floor),
            ratio(ours, floor),
            f"<= floor + {milliseconds(BAR_SECONDS)}",
            ours <= floor + BAR_SECONDS,
        ),
        Row("open and close a sandbox", milliseconds(opened), "", "", "", None),
    ]
