"""From a plan to a container whose pid 1 answers: the record, the place, the engine's requests, the handshake.

When the harness ends, pid 1 sees the end of its socket and ends, and the container with it, unless it is paused. The
stopped container, the mounts and the place remain until the next sweep, which finds them by the record.
"""

from __future__ import annotations

import os
import signal
import socket
import struct
import time
from pathlib import Path
from typing import Any

from proctor.base.errors import InfrastructureFault, MissingIsolation
from proctor.execute.sandbox import sandbox_records
from proctor.execute.sandbox.bubblewrap.start import StartedSandbox, watch
from proctor.execute.sandbox.container import container_cleanup, host_directory
from proctor.execute.sandbox.container.container_cgroup import ContainerGroup
from proctor.execute.sandbox.container.create_request import HiddenPath, container
from proctor.execute.sandbox.container.engine import Engine, EngineFault
from proctor.execute.sandbox.interface import SandboxPlan

HELLO_SECONDS = 120
STEP_SECONDS = 0.25
END_SECONDS = 30

_CREDENTIALS = struct.Struct("iII")


class StartedContainer(StartedSandbox):
    """The resources of one container on the host; ``end`` removes them."""

    def __init__(self, group: ContainerGroup, record: Path, directory: Path) -> None:
        super().__init__(group, record)
        self.container = group
        self.directory = directory
        self.init_start = ""

    def cut(self) -> None:
        """End everything inside: pid 1 ends with its socket."""
        if self.control is not None:
            try:
                self.control.shutdown(socket.SHUT_RDWR)
            except OSError:
                pass

    def end(self) -> None:
        """Remove the container. If the engine fails, its processes have still ended, and the rest is swept later."""
        if self.container.paused:
            self.container.end_frozen()
        self.cut()
        if self.control is not None:
            self.control.close()
        swept_later = False
        try:
            container_cleanup.remove_container(self.container.engine, self.container.name)
        except InfrastructureFault:
            if not end_for_good(self.init_pid, self.init_start):
                raise
            swept_later = True
        finally:
            if self.guard is not None:
                self.guard.close()
            try:
                host_directory.part(self.directory)
            except InfrastructureFault:
                swept_later = True  # nothing runs any more, and the workspace's layers are elsewhere
        if not swept_later:
            self.record.unlink(missing_ok=True)


def end_for_good(pid: int, start: str) -> bool:
    """Kill pid 1 of a container, and with it everything inside; whether it has ended. This needs no engine."""
    for _ in range(int(END_SECONDS / STEP_SECONDS)):
        if not pid or sandbox_records.start_time(pid) != start:
            return True
        try:
            os.kill(pid, signal.SIGKILL)
        except ProcessLookupError:
            return True
        except PermissionError:
            return False
        time.sleep(STEP_SECONDS)
    return False


def start(
    plan: SandboxPlan, engine: Engine, image: str, records: Path, name: str, hidden: tuple[HiddenPath, ...] = ()
) -> StartedContainer:
    """Bring a container up, without what is ``hidden`` of its image, and wait until pid 1 answers."""
    directory = records / name
    body = container(plan, image, directory, name, hidden, podman=engine.podman())
    session = sandbox_records.Session(
        name,
        os.getpid(),
        sandbox_records.start_time(os.getpid()),
        sandbox_records.boot_id(),
        engine=engine.path,
        place=str(directory),
    )
    contained = StartedContainer(ContainerGroup(engine, name), sandbox_records.write(records, session), directory)
    try:
        listener = host_directory.make(directory, plan)
        try:
            _create(engine, name, body)
            contained.control = _greet(engine, name, listener)
        finally:
            listener.close()
        (directory / "run/proctor/control").unlink()
        contained.init_pid = _peer(contained.control)
        contained.init_start = sandbox_records.start_time(contained.init_pid)
        host_directory.own_home(contained.init_pid)
        host_directory.put_inside(contained.init_pid, plan.files)
        listened = _hear(contained)
        contained.container.enter(contained.init_pid)
        if listened >= 0:
            if not contained.container.open_to_us:
                raise MissingIsolation("a container whose control group cannot be frozen cannot be watched")
            watch(contained, plan, listened, maps_users=False)
    except BaseException:
        contained.end()
        raise
    return contained


def _create(engine: Engine, name: str, body: dict[str, Any]) -> None:
    try:
        engine.call("POST", "/containers/create", {"name": name}, body)
        engine.call("POST", f"/containers/{name}/start")
    except EngineFault as fault:
        raise MissingIsolation(f"a sandbox cannot be made here: {fault.message}", where=fault.where) from None


def _greet(engine: Engine, name: str, listener: socket.socket) -> socket.socket:
    """The connection of pid 1, the first thing that runs in the container."""
    listener.settimeout(STEP_SECONDS)
    for _ in range(int(HELLO_SECONDS / STEP_SECONDS)):
        try:
            return listener.accept()[0]
        except TimeoutError:
            state = engine.call("GET", f"/containers/{name}/json")["State"]
            if not state.get("Running"):
                why = state.get("Error") or f"pid 1 ended with {state.get('ExitCode')}"
                raise MissingIsolation(f"a sandbox cannot be made here: {why}", where=engine.path) from None
    raise InfrastructureFault(f"the sandbox did not start within {HELLO_SECONDS} s")


def _peer(control: socket.socket) -> int:
    data = control.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, _CREDENTIALS.size)
    return int(_CREDENTIALS.unpack(data)[0])


def _hear(contained: StartedContainer) -> int:
    """What pid 1 says first: an error number, 0 when its filter is in place; the listener of that filter, or -1."""
    assert isinstance(contained.control, socket.socket)
    contained.control.settimeout(HELLO_SECONDS)
    try:
        message, handles, _, _ = socket.recv_fds(contained.control, 4, 1, socket.MSG_CMSG_CLOEXEC)
    except OSError:
        message, handles = b"", []
    if len(message) != 4:
        raise MissingIsolation("a sandbox cannot be made here: pid 1 ended at once")
    error = struct.unpack("i", message)[0]
    if error:
        raise MissingIsolation(f"the system call filter cannot be installed: {os.strerror(error)}")
    contained.control.settimeout(None)
    return handles[0] if handles else -1
