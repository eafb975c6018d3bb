"""Removes containers: those of a sandbox that closes, and those that a killed harness has left.

A container is found by the label with its session's name, so containers of other programs are never touched.
"""

from __future__ import annotations

import json
import os
import time
from pathlib import Path

from proctor.base.errors import InfrastructureFault, MissingIsolation
from proctor.execute.sandbox.container import host_directory
from proctor.execute.sandbox.container.container_cgroup import ContainerGroup
from proctor.execute.sandbox.container.create_request import SESSION_LABEL
from proctor.execute.sandbox.container.engine import CALL_SECONDS, Engine

REMOVE_SECONDS = 30


def remove_container(engine: Engine, name: str) -> None:
    """Kill and remove the containers of session ``name``, and wait until they are removed.

    Engines answer with an error when a container ends at the very moment in which they look at it, or is being removed
    already, and with nothing while they start again; so what matters is only that none is left in the end.
    """
    deadline = time.monotonic() + REMOVE_SECONDS
    reason = "the container engine does not remove a container"
    while (left := deadline - time.monotonic()) > 0:
        try:
            found = _labelled(engine, name, left)
            if not found:
                return
            for one in found:
                engine.call("DELETE", f"/containers/{one}", {"force": "true", "v": "true"}, seconds=left)
        except (InfrastructureFault, MissingIsolation) as fault:
            reason = fault.message
            time.sleep(0.05)
    raise InfrastructureFault(reason, where=name)


def _thaw(engine: Engine, name: str) -> None:
    """End what a killed harness had frozen by its control group, which the engine does not know about."""
    for one in _labelled(engine, name):
        group = ContainerGroup(engine, one)
        group.enter(int(engine.call("GET", f"/containers/{one}/json")["State"].get("Pid") or 0))
        # Only a group that carries the container's own name is touched: the number may be another's by now.
        if group.directories and all(one in str(directory) for directory in group.directories):
            group.end_frozen()


def _labelled(engine: Engine, name: str, seconds: float = CALL_SECONDS) -> list[str]:
    filters = json.dumps({"label": [f"{SESSION_LABEL}={name}"]})
    found = engine.call("GET", "/containers/json", {"all": "true", "filters": filters}, seconds=seconds) or []
    return [str(one["Id"]) for one in found if (one.get("Labels") or {}).get(SESSION_LABEL) == name]


def remove_session(name: str, socket_path: str, directory: Path) -> bool:
    """Remove what the session ``name`` left; false if its engine fails now and may succeed later."""
    try:
        if os.path.exists(socket_path):
            engine = Engine(socket_path)
            _thaw(engine, name)
            remove_container(engine, name)
        return True
    except InfrastructureFault:
        return False
    finally:
        if directory.name == name:
            host_directory.part(directory)
