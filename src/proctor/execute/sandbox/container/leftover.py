"""Takes away containers: those of a sandbox that closes, and those that a dead harness has left.

A container is found by the label that carries its session's name, so nothing that somebody else made is ever touched.
"""

from __future__ import annotations

import json
import os
import time
from pathlib import Path

from proctor.base.errors import InfrastructureFault, MissingIsolation
from proctor.execute.sandbox.container import place
from proctor.execute.sandbox.container.engine import Engine, EngineFault
from proctor.execute.sandbox.container.specification import SESSION_LABEL

REMOVE_SECONDS = 60


def remove_container(engine: Engine, name: str) -> None:
    """Kill and remove the containers of session ``name``, and wait until they are gone."""
    deadline = time.monotonic() + REMOVE_SECONDS
    while True:
        found = _labelled(engine, name)
        if not found:
            return
        for one in found:
            _remove(engine, one)
        if time.monotonic() > deadline:
            raise InfrastructureFault("the container engine does not remove a container", where=name)
        if _labelled(engine, name):
            time.sleep(0.05)


def _labelled(engine: Engine, name: str) -> list[str]:
    filters = json.dumps({"label": [f"{SESSION_LABEL}={name}"]})
    found = engine.call("GET", "/containers/json", {"all": "true", "filters": filters}) or []
    return [str(one["Id"]) for one in found if (one.get("Labels") or {}).get(SESSION_LABEL) == name]


def _remove(engine: Engine, identity: str) -> None:
    try:
        engine.call("DELETE", f"/containers/{identity}", {"force": "true", "v": "true"})
    except EngineFault as fault:
        if fault.status not in (404, 409, 500):
            raise
        try:
            engine.call("POST", f"/containers/{identity}/unpause")
        except EngineFault:
            pass  # it was not paused; the caller tries again until it is gone


def remove_session(name: str, socket_path: str, directory: Path) -> bool:
    """Take away what the session ``name`` left; false when its engine does not answer now and may later."""
    answered = True
    if os.path.exists(socket_path):
        try:
            remove_container(Engine(socket_path), name)
        except MissingIsolation:
            answered = False
    if directory.name == name:
        place.part(directory)
    return answered
