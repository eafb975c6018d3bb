"""A live guard: the process ``proctor-init guard``, the thread that takes its records, and the requests to it.

The listener goes to the guard and no copy of it stays here, so that the guard's end closes it. The guard ends with the
harness, because the harness's end of the control socket does. Requests are answered on that socket and never wait for
``tell``, so ``tell`` itself may freeze or release.
"""

from __future__ import annotations

import os
import socket
import struct
import subprocess
import threading
from collections.abc import Callable, Iterator

from proctor.base.errors import InfrastructureFault, MissingIsolation
from proctor.execute.sandbox.bubblewrap import init_protocol
from proctor.execute.sandbox.guard_observations import GuardPlan, Records, observation
from proctor.execute.sandbox.interface import UNPRIVILEGED, WORKSPACE

LET_GO, HOLD, PARK, UNPARK, SETTLE, WRITABLE, PROGRAMS = range(1, 8)
NO_BOUND = (1 << 32) - 1
ANSWER_SECONDS = 60
READ_BYTES = 1 << 18
TEXT_BYTES = 4096
INSIDE_ID = 1000

_REQUEST = struct.Struct("II")
_ANSWER = struct.Struct("I")


class LiveGuard:
    """Implements ``Guard``. ``lost`` is called, once, when the guard ends before ``close``."""

    def __init__(
        self,
        plan: GuardPlan,
        listener: int,
        init_pid: int,
        writable: tuple[str, ...],
        file_bytes: int,
        *,
        maps_users: bool = True,
    ) -> None:
        """``maps_users``: whether the sandbox has a user namespace, in which its processes have other numbers."""
        self._plan = plan
        self._extra = tuple(place for place in writable if place not in plan.writable)
        self._turn = threading.Lock()
        """Held during one request and its answer."""
        self._settled = threading.Condition()
        self._asked = self._seen = 0
        self._closing = False
        self._ended = False
        self.lost: Callable[[], None] = lambda: None
        self._control, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        self._control.settimeout(ANSWER_SECONDS)
        self._records, records = os.pipe2(os.O_CLOEXEC)
        try:
            arguments = (
                *("listener", str(listener), "records", str(records), "control", str(theirs.fileno())),
                *("init", str(init_pid), "file_bytes", str(file_bytes), *_words(plan, self._extra, maps_users)),
            )
            self._process = _spawn(arguments, (listener, records, theirs.fileno()))
        finally:
            theirs.close()
            os.close(records)
            os.close(listener)
        try:
            self._receive()
        except (OSError, EOFError):
            reason = self._end().strip() or "it gave no reason"
            raise MissingIsolation(f"the guard cannot watch the sandbox: {reason}") from None
        self._reader = threading.Thread(target=self._read, name="guard", daemon=True)
        self._reader.start()

    @property
    def alive(self) -> bool:
        return not self._ended and self._process.poll() is None

    @property
    def pid(self) -> int:
        """The guard's process."""
        return self._process.pid

    def hold_writes(self) -> None:
        self._ask(HOLD)

    def release_writes(self) -> None:
        self._ask(LET_GO)

    def allow_writes(self, places: tuple[str, ...]) -> None:
        text = b"".join(os.fsencode(place) + b"\0" for place in (*places, *self._extra))
        if len(text) > TEXT_BYTES:
            raise InfrastructureFault("too many writable places for the guard")
        self._ask(WRITABLE, text=text)

    def allow_programs(self, total: int | None) -> None:
        self._ask(PROGRAMS, NO_BOUND if total is None else min(total, NO_BOUND))

    def park(self, parked: bool) -> None:
        """While the sandbox freezes: hold nothing that the freezer must stop."""
        self._ask(PARK if parked else UNPARK)

    def settle(self) -> None:
        with self._settled:
            self._asked += 1
            number = self._asked
        self._ask(SETTLE, number)
        with self._settled:
            reached = self._settled.wait_for(lambda: self._seen >= number or self._ended, ANSWER_SECONDS)
            if not reached or self._seen < number:
                raise InfrastructureFault("the guard does not report what it has seen")

    def close(self) -> None:
        """Take what is left of the records and end the guard; after the sandbox, and safe to call twice."""
        if self._closing:
            return
        self._closing = True
        self._control.shutdown(socket.SHUT_RDWR)
        if threading.current_thread() is not self._reader:
            self._reader.join(ANSWER_SECONDS)
        self._end()

    def _ask(self, operation: int, argument: int = 0, text: bytes = b"") -> None:
        with self._turn:
            try:
                self._control.send(_REQUEST.pack(operation, argument) + text, socket.MSG_NOSIGNAL)
                self._receive()
            except (OSError, EOFError):
                raise InfrastructureFault("the guard of the sandbox has ended") from None

    def _receive(self) -> None:
        if len(self._control.recv(_ANSWER.size)) < _ANSWER.size:
            raise EOFError

    def _read(self) -> None:
        """Take records until their end; runs on its own thread."""
        records = Records()
        try:
            while data := os.read(self._records, READ_BYTES):
                for fields in records.feed(data):
                    self._take(fields)
        finally:
            with self._settled:
                self._ended = True
                self._settled.notify_all()
            if not self._closing:
                self._process.kill()
                self.lost()

    def _take(self, fields: tuple[bytes, ...]) -> None:
        if fields[1] == b"settled":
            with self._settled:
                self._seen = int(fields[2])
                self._settled.notify_all()
        else:
            self._plan.notify(observation(fields))

    def _end(self) -> str:
        """Close everything and wait for the process; what it said."""
        self._control.close()
        try:
            _, errors = self._process.communicate(timeout=ANSWER_SECONDS)
        except subprocess.TimeoutExpired:
            self._process.kill()
            _, errors = self._process.communicate()
        os.close(self._records)
        return (errors or b"").decode("utf-8", "replace")


def _words(plan: GuardPlan, extra: tuple[str, ...], maps_users: bool) -> Iterator[str]:
    inside = INSIDE_ID if maps_users else UNPRIVILEGED
    yield from ("user", str(UNPRIVILEGED), str(UNPRIVILEGED), "inside", str(inside), "held", WORKSPACE)
    if not maps_users:
        yield "look"
    for place in (*plan.writable, *extra):
        yield from ("writable", place)
    if plan.programs is not None:
        yield from ("programs", str(plan.programs))
    if plan.reads:
        yield "reads"
    if plan.everywhere:
        yield "all_reads"
    for secret in plan.secrets:
        yield from ("secret", secret)
    if plan.hold_writes:
        yield "hold"


def _spawn(arguments: tuple[str, ...], handles: tuple[int, ...]) -> subprocess.Popen[bytes]:
    plan = init_protocol.pack_words("guard", arguments)
    try:
        return subprocess.Popen(
            [init_protocol.PROGRAM, "guard", str(plan)],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.PIPE,
            env={},
            cwd="/",
            pass_fds=(plan, *handles),
            start_new_session=True,
        )
    finally:
        os.close(plan)
