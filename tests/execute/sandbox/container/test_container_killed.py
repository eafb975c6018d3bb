"""A harness that is killed leaves no container, no mount and no place behind once somebody has swept."""

from __future__ import annotations

import json
import os
import signal
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from proctor.base.errors import InfrastructureFault
from proctor.execute.sandbox.container import container_cleanup
from proctor.execute.sandbox.container.backend import ContainerBackend
from proctor.execute.sandbox.container.create_request import SESSION_LABEL
from proctor.execute.sandbox.container.engine import Engine
from proctor.execute.sandbox.interface import Limits, SandboxPlan
from proctor.execute.sandbox.sandbox_records import Session, boot_id, start_time, sweep, write
from tests.execute.sandbox.conformance import wait_until
from tests.execute.sandbox.container.test_container import mounts_below
from tests.execute.sandbox.workplace import layer, open_directory, overlay, shell

pytestmark = pytest.mark.container


@pytest.fixture
def top() -> Iterator[Path]:
    with open_directory() as path:
        yield path


def harness(top: Path, engine: str, image: tuple[str, ...], frozen: bool) -> tuple[int, int]:
    """A child that opens a container, starts something in it and waits to be killed; its pid, and pid 1's."""
    reading, writing = os.pipe()
    child = os.fork()
    if child == 0:
        try:
            plan = SandboxPlan(overlay(top / "box", layer(top / "base")), Limits())
            box = ContainerBackend(top / "sessions", engine, image).open(plan)
            shell(box, "for i in 1 2 3; do setsid sleep 1000 >/dev/null 2>&1 & done")
            if frozen:
                box.freeze()
            os.write(writing, b"%d\n" % box.init_pid)
            signal.pause()
        finally:
            os._exit(1)
    os.close(writing)
    with os.fdopen(reading, "rb") as pipe:
        return child, int(pipe.readline())


def containers(engine: str, name: str) -> list[Any]:
    filters = json.dumps({"label": [f"{SESSION_LABEL}={name}"]})
    found: list[Any] = Engine(engine).call("GET", "/containers/json", {"all": "true", "filters": filters})
    return found


@pytest.mark.parametrize("state", ["running", "frozen"])
def test_a_harness_killed(top: Path, engine: str, image: tuple[str, ...], state: str) -> None:
    child, init = harness(top, engine, image, state == "frozen")
    name = next((top / "sessions").glob("*.json")).stem
    assert sweep(top / "sessions") == [] and start_time(init) and containers(engine, name)
    os.kill(child, signal.SIGKILL)
    os.waitpid(child, 0)
    if state == "running":
        wait_until(lambda: start_time(init) == "")
    assert len(sweep(top / "sessions")) == 1
    wait_until(lambda: start_time(init) == "")
    assert containers(engine, name) == [] and mounts_below(top) == []
    assert list((top / "sessions").iterdir()) == [] and sweep(top / "sessions") == []


def record(top: Path, engine: str, name: str = "proctor-1-a") -> Path:
    """A record of a harness that is long gone."""
    (top / "sessions").mkdir()
    session = Session(name, 1, "0", boot_id(), engine=engine, place=str(top / "elsewhere"))
    return write(top / "sessions", session)


def test_an_engine_that_is_gone_takes_its_containers_with_it(top: Path) -> None:
    kept = record(top, str(top / "gone.sock"))
    assert len(sweep(top / "sessions")) == 1 and not kept.exists()


def test_an_engine_that_does_not_answer_is_asked_again_later(top: Path) -> None:
    (top / "deaf.sock").write_bytes(b"")
    kept = record(top, str(top / "deaf.sock"))
    assert sweep(top / "sessions") == [] and kept.exists()


def test_only_the_place_beside_the_record_is_touched(top: Path) -> None:
    (top / "elsewhere").mkdir()
    record(top, str(top / "gone.sock"))
    assert len(sweep(top / "sessions")) == 1 and (top / "elsewhere").exists()


def test_b5_an_engine_in_trouble_at_the_end_costs_no_work(
    top: Path, engine: str, image: tuple[str, ...], monkeypatch: pytest.MonkeyPatch
) -> None:
    """What the agent left lies outside the container; its processes are ended without the engine."""
    box = ContainerBackend(top / "sessions", engine, image).open(
        SandboxPlan(overlay(top / "box", layer(top / "base")), Limits())
    )
    shell(box, "echo done > work; for i in 1 2 3; do setsid sleep 1000 >/dev/null 2>&1 & done")
    name = next((top / "sessions").glob("*.json")).stem

    def fail(*_: Any) -> None:
        raise InfrastructureFault("the container engine broke off")

    with monkeypatch.context() as patched:
        patched.setattr(container_cleanup, "remove_container", fail)
        box.close()
    assert start_time(box.init_pid) == "" and mounts_below(top) == []
    assert (top / "box/upper/workspace/work").read_text() == "done\n"
    assert container_cleanup.remove_session(name, engine, top / "sessions" / name) and containers(engine, name) == []
