"""Starting stays light: what a command does not need is not loaded."""

from __future__ import annotations

import subprocess
import sys

PROGRAM = """
import sys
from proctor.cli.main import run_command
code = run_command(sys.argv[1:])
print(*sorted(sys.modules), sep="\\n", file=sys.stderr)
sys.exit(code)
"""


def loaded(*arguments: str) -> set[str]:
    """The modules that a command has loaded when it ends."""
    done = subprocess.run(
        [sys.executable, "-c", PROGRAM, *arguments], capture_output=True, text=True, check=True, timeout=120
    )
    return set(done.stderr.split())


def test_help_loads_no_floor_below_the_command_line() -> None:
    own = {name for name in loaded("--help") if name.startswith("proctor.")}
    assert {name.split(".")[1] for name in own} <= {"cli", "base"}


def test_help_loads_nothing_heavy() -> None:
    heavy = {"yaml", "orjson", "asyncio", "sqlite3", "tarfile", "zipfile", "unittest", "urllib.request", "ssl"}
    assert loaded("--help") & heavy == set()


def test_a_command_loads_its_own_module_alone() -> None:
    commands = {name for name in loaded("schema", "--help") if name.startswith("proctor.cli.")}
    assert commands <= {"proctor.cli.main", "proctor.cli.output", "proctor.cli.schema", "proctor.cli.terminal"}
