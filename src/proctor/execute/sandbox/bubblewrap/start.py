"""From a plan to a running pid 1: control groups, the record of the session, the guardian, the handshake.

What is started here ends with the harness: see ``native/guardian.c``. If a step fails, everything is removed again and
the message says what the machine refused.
"""

from __future__ import annotations

import os
import select
import socket
import subprocess
from collections.abc import Iterator
from contextlib import ExitStack
from dataclasses import replace
from pathlib import Path

from proctor.base.errors import InfrastructureFault, MissingIsolation
from proctor.execute.sandbox import sandbox_records
from proctor.execute.sandbox.bubblewrap import bwrap_arguments, init_protocol
from proctor.execute.sandbox.cgroup import Group
from proctor.execute.sandbox.guard_process import LiveGuard
from proctor.execute.sandbox.interface import SETUP, UNPRIVILEGED, Limits, SandboxPlan

HELLO_SECONDS = 60
END_SECONDS = 60
MESSAGE_BYTES = 4096
PATH = {"PATH": "/usr/bin:/bin"}


class StartedSandbox:
    """The processes outside and what ties them to us: the guardian, its lifeline, the control socket, the record."""

    def __init__(self, group: Group, record: Path) -> None:
        self.group = group
        self.record = record
        self.guardian: subprocess.Popen[bytes] | None = None
        self.lifeline = -1
        self.errors = -1
        self.control: socket.socket | None = None
        self.init_pid = 0
        self.guard: LiveGuard | None = None

    def cut(self) -> None:
        """Cut the lifeline: the guardian ends everything."""
        lifeline, self.lifeline = self.lifeline, -1
        if lifeline >= 0:
            try:
                os.write(lifeline, b"\0")  # a process forked from this one may hold the lifeline open as well
            except BrokenPipeError:
                pass
            os.close(lifeline)

    def end(self) -> None:
        """Close the lifeline, wait until everything has ended, and remove the groups and the record."""
        if self.control is not None:
            self.control.close()
        self.cut()
        if self.guardian is not None:
            if not _ends(self.guardian.pid, END_SECONDS):
                self.guardian.kill()
            self.guardian.wait()
        if self.guard is not None:
            self.guard.close()
        if self.errors >= 0:
            os.close(self.errors)
            self.errors = -1
        self.group.remove()
        self.record.unlink(missing_ok=True)

    def message(self) -> str:
        """What the guardian or bwrap said before it gave up."""
        text = b""
        while len(text) < MESSAGE_BYTES:
            more = os.read(self.errors, MESSAGE_BYTES)
            if not more:
                break
            text += more
        return text.decode("utf-8", "replace").strip() or "bubblewrap gave no reason"


def _ends(pid: int, seconds: float) -> bool:
    """Whether the child ``pid`` ends within ``seconds``; its end is noticed at once, and it is not reaped."""
    handle = os.pidfd_open(pid)
    try:
        poll = select.poll()
        poll.register(handle, select.POLLIN)
        return bool(poll.poll(int(seconds * 1000)))
    finally:
        os.close(handle)


def start(
    plan: SandboxPlan,
    program: str,
    group: Group,
    record_directory: Path,
    name: str,
) -> StartedSandbox:
    """Bring a sandbox up and wait until pid 1 answers.

    ``program`` is the absolute path of bubblewrap.
    """
    session = sandbox_records.Session(
        name,
        os.getpid(),
        sandbox_records.start_time(os.getpid()),
        sandbox_records.boot_id(),
        tuple(str(directory) for directory in group.directories),
    )
    guarded = StartedSandbox(group, sandbox_records.write(record_directory, session))
    try:
        group.create(plan.limits)
        _spawn(guarded, plan, program)
        assert guarded.guardian is not None
        pid = guarded.guardian.pid
        sandbox_records.write(
            record_directory, replace(session, guardian_pid=pid, guardian_start=sandbox_records.start_time(pid))
        )
        _greet(guarded, plan)
    except BaseException:
        guarded.end()
        raise
    return guarded


def _spawn(guarded: StartedSandbox, plan: SandboxPlan, program: str) -> None:
    with ExitStack() as opened:

        def keep(handle: int) -> int:
            opened.callback(os.close, handle)
            return handle

        ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        opened.callback(theirs.close)
        ours.setsockopt(socket.SOL_SOCKET, socket.SO_PASSCRED, 1)
        guarded.control = ours
        lifeline, guarded.lifeline = os.pipe2(os.O_CLOEXEC)
        keep(lifeline)
        guarded.errors, errors = os.pipe2(os.O_CLOEXEC)
        keep(errors)
        files = {path: keep(init_protocol.data("file", content)) for path, content in bwrap_arguments.FILES.items()}
        own = {path: keep(init_protocol.data("file", content)) for path, content in plan.files.items()}
        shown = bwrap_arguments.make_view(plan, init_protocol.PROGRAM, files, own)
        arguments = keep(init_protocol.pack_words("arguments", shown.arguments))
        inside = (
            bwrap_arguments.INIT,
            "serve",
            str(theirs.fileno()),
            *_limits(plan.limits, guarded.group),
            *init_protocol.guard_words(plan.guard),
        )
        kept = (arguments, theirs.fileno(), *files.values(), *own.values())
        launch = keep(
            init_protocol.pack_words(
                "plan",
                (
                    *_outside(plan, guarded.group, shown, lifeline),
                    *(word for handle in kept for word in ("keep", str(handle))),
                    *("exec", program, "--args", str(arguments), "--", *inside),
                ),
            )
        )
        try:
            guarded.guardian = subprocess.Popen(
                [init_protocol.PROGRAM, "launch", str(launch)],
                stdin=subprocess.DEVNULL,
                stdout=subprocess.DEVNULL,
                stderr=errors,
                env=PATH,
                cwd="/",
                pass_fds=(launch, lifeline, *kept),
                start_new_session=True,
            )
        except FileNotFoundError:
            raise InfrastructureFault(
                "the sandbox's helper program has not been built",
                where=str(init_protocol.PROGRAM),
                hint="reinstall Proctor",
            ) from None


def _outside(
    plan: SandboxPlan, group: Group, shown: bwrap_arguments.View, lifeline: int
) -> Iterator[str | bytes | os.PathLike[str]]:
    """The part of the launch plan about the host."""
    yield from ("lifeline", str(lifeline), "user", str(UNPRIVILEGED), str(UNPRIVILEGED))
    for directory in group.directories:
        yield from ("cgroup", directory)
    thawing = group.thawing()
    if thawing:
        yield from ("thaw", *thawing)
    if plan.measured and group.v2:
        yield from ("pressure", group.v2 / "cpu.pressure")
    yield from init_protocol.workspace_words(plan.workspace)
    for name, source in shown.stage:
        yield from ("bind", name, source)


def _limits(limits: Limits, group: Group) -> Iterator[str]:
    """What pid 1 sets for each command; memory and processes only where no control group does it better."""
    yield f"file_bytes={limits.file_bytes}"
    yield f"open_files={limits.open_files}"
    if not group.place.limits_memory:
        yield f"data_bytes={limits.memory_bytes}"
    if not group.place.limits_processes:
        yield f"processes={limits.processes}"


def _greet(guarded: StartedSandbox, plan: SandboxPlan) -> None:
    assert guarded.control is not None and guarded.guardian is not None
    guarded.control.settimeout(HELLO_SECONDS)
    try:
        error, guarded.init_pid, listener = init_protocol.receive_hello(guarded.control)
    except TimeoutError:
        raise InfrastructureFault(f"the sandbox did not start within {HELLO_SECONDS} s") from None
    except (EOFError, ConnectionError):
        reason = guarded.message()
        raise MissingIsolation(
            f"a sandbox cannot be made here: {reason}", hint="proctor doctor says what is missing"
        ) from None
    if error:
        raise MissingIsolation(f"the system call filter cannot be installed: {os.strerror(error)}")
    guarded.control.settimeout(None)
    if listener >= 0:
        watch(guarded, plan, listener)


def watch(guarded: StartedSandbox, plan: SandboxPlan, listener: int, *, maps_users: bool = True) -> None:
    """Start the guard, which owns the listener from here on."""
    assert plan.guard is not None
    writable = tuple(mount.target for mount in plan.mounts if mount.writable)
    if plan.setup_writable:
        writable += (SETUP,)
    file_bytes = plan.limits.file_bytes
    guarded.guard = LiveGuard(plan.guard, listener, guarded.init_pid, writable, file_bytes, maps_users=maps_users)
    guarded.guard.lost = guarded.cut
