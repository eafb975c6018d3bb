"""Test what works on this machine, with advice for what does not.

First come the requirements of every run (``execute.requirements``), then what some contracts need and what makes
isolation stronger. Only the former can be ``missing``; the latter is at most ``reduced``.
"""

from __future__ import annotations

import os
import shutil
import sys
from collections.abc import Iterator, Mapping

from proctor.base.errors import ProctorError
from proctor.execute.home import Home
from proctor.execute.requirements import MISSING, OK, REDUCED, Finding, requirements
from proctor.execute.sandbox import facts
from proctor.execute.sandbox.cgroup import Place, detect
from proctor.execute.sandbox.container.backend import AS_ROOT, ROOT_ENGINE, cannot_watch, lacks
from proctor.execute.sandbox.container.engine import Engine, find_socket
from proctor.execute.sandbox.interface import UNPRIVILEGED

DELEGATE = "systemd-run --user --scope -p Delegate=yes proctor ..., or run as root"

CLIENTS = (
    ("pip", ("pip", "pip3", "uv"), "inputs from PyPI can be fetched", "apt-get install python3-pip, or install uv"),
    ("npm", ("npm",), "inputs and agents from npm can be fetched", "apt-get install npm"),
    ("node", ("node",), "JavaScript contracts can be run", "apt-get install nodejs"),
)
"""Programs that only some contracts need: the name, the accepted programs, their purpose, how to get one."""


def probe(home: Home) -> tuple[Finding, ...]:
    """Everything worth knowing before the first run. Remembered answers of earlier commands are tested again."""
    facts.forget(home.path)
    needed = requirements(home)
    usable = needed[0].state == OK
    if sys.platform != "linux":
        return (*needed, _privacy(home), *_clients())
    layers = (_overlay(home),) if usable else ()
    return (
        *needed,
        _identity(),
        _privacy(home),
        *layers,
        *control_groups(detect()),
        *_clients(),
        container_engine(os.environ),
    )


def works(findings: tuple[Finding, ...]) -> bool:
    """Whether runs can work on a machine with these ``findings``."""
    return all(finding.state != MISSING for finding in findings)


def _identity() -> Finding:
    if os.geteuid() == 0:
        return Finding("unprivileged user", OK, f"sandboxed processes have uid {UNPRIVILEGED} on the host")
    return Finding("unprivileged user", OK, f"sandboxed processes have your own uid {os.geteuid()} on the host")


def _privacy(home: Home) -> Finding:
    problem = home.shared()
    if not problem:
        return Finding("privacy", OK, f"no other user can write to {home.path}")
    return Finding("privacy", REDUCED, problem, "use a directory of your own: set PROCTOR_HOME")


def _overlay(home: Home) -> Finding:
    problem = facts.overlay_problem(home.path)
    if not problem:
        return Finding("overlay", OK, "workspaces are layers")
    return Finding(
        "overlay", REDUCED, f"workspaces are copied: {problem}", "use a disk file system and Linux 5.11 or later"
    )


def _clients() -> Iterator[Finding]:
    for name, programs, purpose, advice in CLIENTS:
        found = next(filter(None, map(shutil.which, programs)), "")
        if found:
            yield Finding(name, OK, f"{purpose}, with {found}")
        else:
            yield Finding(name, REDUCED, f"none of {', '.join(programs)} on PATH", f"only for some contracts: {advice}")


def container_engine(variables: Mapping[str, str]) -> Finding:
    """Whether there is a container engine. Only contracts with an image need one."""
    name, advice = "container engine", "only for images: apt-get install docker.io, or set DOCKER_HOST"
    try:
        path = find_socket(variables)
        if not path:
            return Finding(name, REDUCED, "none, so images cannot be used", advice)
        engine = Engine(path)
        version, problem = engine.identity(), lacks(engine)
    except ProctorError as error:
        return Finding(name, REDUCED, error.message, error.hint or advice)
    if problem:
        return Finding(name, REDUCED, f"{version}: {problem}", f"only for images: {ROOT_ENGINE}")
    unwatched = cannot_watch()
    if unwatched:
        return Finding(name, REDUCED, f"{version} at {path}: {unwatched}", f"only for images: {AS_ROOT}")
    return Finding(name, OK, f"{version} at {path}")


def control_groups(place: Place) -> Iterator[Finding]:
    """What control groups limit on this machine, and what takes their place where they do not."""
    version = "version 2" if "memory" in place.v2_controllers else "version 1"
    if place.limits_memory:
        yield Finding("memory limit", OK, f"control group {version}")
    else:
        yield Finding("memory limit", REDUCED, "RLIMIT_DATA for each process, not for all together", DELEGATE)
    if place.limits_processes:
        yield Finding("process limit", OK, f"control group {version}")
    else:
        yield Finding("process limit", REDUCED, "RLIMIT_NPROC", DELEGATE)
    if place.freezes:
        yield Finding("freezing", OK, "control group")
    else:
        yield Finding("freezing", REDUCED, "SIGSTOP to every process", DELEGATE)
