"""The reference pages are what the code says today."""

from __future__ import annotations

import subprocess
import sys
from importlib import import_module
from pathlib import Path

import click

from proctor.cli.main import COMMANDS, command_module


def test_the_reference_pages_are_current(project: Path) -> None:
    done = subprocess.run(
        [sys.executable, "tools/reference.py", "--check"], cwd=project, capture_output=True, text=True, timeout=120
    )
    assert (done.returncode, done.stderr) == (0, "")


def test_an_unknown_argument_is_refused(project: Path) -> None:
    done = subprocess.run([sys.executable, "tools/reference.py", "-x"], cwd=project, capture_output=True, timeout=120)
    assert done.returncode == 2


def test_the_commands_of_every_group_are_there(project: Path) -> None:
    page = (project / "docs/reference/commands.md").read_text()
    for name in COMMANDS:
        command = import_module(command_module(name)).command
        inner = command.commands if isinstance(command, click.Group) else {}
        assert f"\n## proctor {name}\n" in page
        for word, one in inner.items():
            assert f"\n### proctor {name} {word}\n" in page and f"Usage: proctor {name} {word}" in page, one
    assert page.count("\n### ") >= 15
