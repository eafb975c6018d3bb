"""The one place of the command line where environment variables become objects."""

from __future__ import annotations

import os
from pathlib import Path

import click

from proctor.conduct.machine_setup import Machine, find_engine, open_machine
from proctor.contract.model import Contract
from proctor.execute.proctor_home import Home
from proctor.execute.sandbox.container.backend import ContainerBackend
from proctor.execute.sandbox.container.engine import Engine
from proctor.record.run_store import RunStore


def home() -> Home:
    """The home directory that the environment names."""
    return Home.from_environment(os.environ)


def machine(judge_slots: int | None = None) -> Machine:
    """This machine, after a sweep of what interrupted runs left behind; at most ``judge_slots`` checks run at once."""
    return open_machine(home(), judge_slots, lambda problem: click.echo(f"proctor: warning: {problem}", err=True))


def engine() -> Engine:
    """The container engine that the environment names, or one at a usual place."""
    return find_engine(os.environ)


def export_image(contract: Contract, path: Path) -> None:
    """Write the files of the image of ``contract`` to ``path``, a tar archive."""
    ContainerBackend(home().sessions, engine().path, contract.environment.image).export(path)


def run_store() -> RunStore:
    """The runs of the home directory."""
    return RunStore(home().runs)


def key_file(name: str, suffix: str) -> Path:
    """The file of a key: a path, or the name of a key of the home, whose halves end in ``.key`` and ``.pub``."""
    path = Path(name)
    return path if "/" in name or path.exists() else home().keys / f"{name.removesuffix(suffix)}{suffix}"
