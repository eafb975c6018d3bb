"""Open a home for use: what makes runs on this machine, after a sweep of what dead runs left behind."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping

from proctor.base.clock import SystemClock, system_entropy
from proctor.base.errors import MissingIsolation
from proctor.conduct.machine import Machine
from proctor.conduct.sweep import sweep_home
from proctor.execute.home import Home
from proctor.execute.sandbox.bubblewrap.backend import BubblewrapBackend
from proctor.execute.sandbox.container.backend import ContainerBackend
from proctor.execute.sandbox.container.engine import Engine, find_socket


def open_machine(home: Home, judge_slots: int | None, warn: Callable[[str], None]) -> Machine:
    """This machine with ``home``; ``judge_slots`` is how many checks may run at once, else one per processor.

    ``warn`` gets a sentence if other users can change the home.
    """
    home.create()
    problem = home.shared()
    if problem:
        warn(problem)
    sweep_home(home)

    def containers(layers: tuple[str, ...], hide: tuple[str, ...]) -> ContainerBackend:
        return ContainerBackend(home.sessions, find_engine(os.environ).path, layers, hide)

    return Machine(home, BubblewrapBackend(home.sessions), containers, SystemClock(), system_entropy, judge_slots)


def find_engine(variables: Mapping[str, str]) -> Engine:
    """The container engine that the variables name, or one at a usual place."""
    path = find_socket(variables)
    if not path:
        raise MissingIsolation(
            "no container engine was found", hint="start Docker or podman, or name its socket in DOCKER_HOST"
        )
    return Engine(path)
