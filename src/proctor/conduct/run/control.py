"""Stop, pause and resume a running run by request.

A request is a small file below the home's ``decisions`` directory, in a folder of the run: a user who may write there
may act. Its name is a number that is given once, so that requests of several operators have one order. A running run
looks for requests and writes one ``operator.acted`` for each, even if it cannot fulfil it. A request whose signature
does not hold is not fulfilled.

A pause freezes the agent's sandbox and holds its model calls. The time is not the agent's. The pause ends when an
operator resumes or stops the run. A run that waits for an answer can be paused too: it stays paused after the answer.
A stop ends the agent at once; a run that is being judged is not stopped any more.
"""

from __future__ import annotations

import os
import threading
import time
from collections import deque
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import dataclass, replace
from pathlib import Path
from types import TracebackType
from typing import Any, Protocol, Self

from proctor.base.canonical import canonical, parse
from proctor.base.errors import InfrastructureFault, ProctorError
from proctor.base.files import read_bounded, write_whole
from proctor.conduct.run.trace_monitor import MonitoredTrace
from proctor.execute.sandbox.interface import Sandbox
from proctor.record.run_directory import RunDirectory
from proctor.record.signing.operator_identity import signature_problem
from proctor.record.trace.event import Event
from proctor.record.trace.reader import read_finished_events

SCHEMA = 1
STOP, PAUSE, RESUME = "stop", "pause", "resume"
ACTIONS = (STOP, PAUSE, RESUME)
FOLDER = "requests"
REQUEST_BYTES = 1 << 20
LOOK_SECONDS = 0.1
NO_AGENT = "no agent acts at the moment"
NOT_PAUSED = "the run is not paused"
JUDGING = "the agent has ended, and its patch is being judged"


@dataclass(frozen=True)
class Request:
    """An act that an operator asks for: what, why, under which code, by whom; the ``number`` is its place in order."""

    number: int
    action: str
    why: str
    code: str
    by: str
    signer: str = ""
    signature: str = ""

    def act(self) -> dict[str, str]:
        """What a signature covers, in addition to the run and the number."""
        return {"action": self.action, "why": self.why, "code": self.code, "by": self.by}

    def payload(self, problem: str = "") -> dict[str, Any]:
        """The payload of ``operator.acted``; ``problem`` is why nothing was done."""
        signed = {"signer": self.signer, "signature": self.signature}
        return {**self.act(), "request": self.number, **signed, "done": not problem, "problem": problem}


def next_number(directory: Path) -> int:
    """The number that the next request to the run of ``directory`` would get."""
    return 1 + max(_numbers(directory), default=0)


def give_request(directory: Path, request: Request) -> bool:
    """Leave a request for the run whose decisions are in ``directory``; false if its number is already taken."""
    folder = directory / FOLDER
    folder.mkdir(parents=True, exist_ok=True)
    own = folder / f".{os.urandom(8).hex()}"
    value = {**request.act(), "signer": request.signer, "signature": request.signature}
    write_whole(own, canonical({"schema": SCHEMA, "kind": "proctor.request", **value}))
    try:
        os.link(own, folder / f"{request.number}.json")
    except FileExistsError:
        return False
    finally:
        own.unlink(missing_ok=True)
    return True


def result_of(run: RunDirectory, number: int, seconds: float) -> dict[str, Any] | None:
    """The payload of the event for a request; ``None`` if the run does not take it in time."""
    deadline = time.monotonic() + seconds
    while True:
        for event in read_finished_events(run.events)[0]:
            if event.type == "operator.acted" and event.payload.get("request") == number:
                return dict(event.payload)
        if time.monotonic() >= deadline:
            return None
        time.sleep(LOOK_SECONDS)


def _numbers(directory: Path) -> list[int]:
    try:
        names = [path.stem for path in (directory / FOLDER).iterdir() if path.suffix == ".json"]
    except OSError:
        return []
    return sorted(int(name) for name in names if name.isascii() and name.isdigit())


def _read(directory: Path, number: int) -> Request | None:
    """The request with a number; ``None`` if its file does not contain one."""
    try:
        found = parse(read_bounded(directory / FOLDER / f"{number}.json", REQUEST_BYTES))
        names = ("action", "why", "code", "by", "signer", "signature")
        request = Request(number, *(str(found[name]) for name in names))
    except (OSError, InfrastructureFault, ValueError, KeyError, TypeError):
        return None
    return request if request.action in ACTIONS else None


class Pausable(Protocol):
    """What can pause an agent."""

    @property
    def acting(self) -> bool:
        """Whether there is an agent to act on."""

    def pause(self) -> None:
        """Take the next request of the control, a pause, until one to resume follows or the run ends."""

    def give_up(self) -> None:
        """End the agent, because something could not be done."""


class Control:
    """Takes the requests to one run for the time of a ``with`` block."""

    def __init__(self, directory: Path, trace: MonitoredTrace) -> None:
        self.directory = directory
        """Where the decisions about the run are; named after the run."""
        self._trace = trace
        self._seen: set[int] = set()
        self._over = threading.Event()
        self._changed = threading.Condition()
        self._requests: deque[Request] = deque()  # pauses and resumes in turn, until they are taken
        self._paused = False  # once the requests are taken
        self._thread = threading.Thread(target=self._work, name="operator requests")
        self.interventions: Pausable | None = None
        """What acts on the agent's sandbox; nothing for an agent that has none."""
        self.on_stop: Callable[[], None] = lambda: None
        """Ends the current step of the run."""
        self._order = threading.Lock()
        """Held to decide whether a stop or the judging comes first."""
        self._is_judging = False
        self._stopping = False
        self._stop_recorded = threading.Event()
        self._stopped_by: Event | None = None

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._over.set()
        self._thread.join()

    @property
    def stopped(self) -> bool:
        """Whether an operator asked to stop."""
        return self._stopping

    def stopped_by(self) -> Event | None:
        """The event of the request that ended the run, once it is written; ``None`` if no request did."""
        if self._stopping:
            self._stop_recorded.wait()
        return self._stopped_by

    def begin_judging(self) -> bool:
        """Take no stop from now on; false if an operator asked to stop before."""
        with self._order:
            self._is_judging = not self._stopping
            return self._is_judging

    def record(self, request: Request, problem: str = "") -> Event:
        """Write the event of a request; ``problem`` is why nothing was done."""
        event = self._trace.append("operator.acted", request.payload(problem))
        self._trace.sync()
        return event

    def next_request(self, seconds: float = 0) -> Request | None:
        """The next request to pause or to resume; ``None`` if there is none within that time."""
        with self._changed:
            if not self._requests:
                self._changed.wait(seconds)
            return self._requests.popleft() if self._requests else None

    def refuse_requests(self, problem: str) -> None:
        """Record that requests to pause or to resume cannot be fulfilled; the run counts as not paused."""
        with self._changed:
            refused = list(self._requests)
            self._requests.clear()
            self._paused = False
        for request in refused:
            self.record(request, problem)

    def _work(self) -> None:
        while not self._over.wait(LOOK_SECONDS):
            for request in self._new():
                try:
                    self._take(request)
                except (ProctorError, OSError) as error:
                    self._fail(error)

    def _fail(self, error: ProctorError | OSError) -> None:
        """A request could not be fulfilled: the run has a fault, and its agent is ended."""
        message = str(error) if isinstance(error, ProctorError) else f"{type(error).__name__}: {error}"
        with suppress(ProctorError, OSError):  # a run that cannot write its trace fails by that
            self._trace.append("run.fault", {"message": message, "phase": "taking a request"})
        if self.interventions is not None:
            with suppress(ProctorError, OSError):  # the fault is recorded, and later requests must be answered
                self.interventions.give_up()

    def _new(self) -> Iterator[Request]:
        for number in _numbers(self.directory):
            if number not in self._seen:  # a lower number can become visible after a higher one
                self._seen.add(number)
                request = _read(self.directory, number)
                if request is not None:
                    yield request

    def _take(self, request: Request) -> None:
        problem = signature_problem(
            self.directory.name, request.number, request.act(), request.signer, request.signature
        )
        if problem:  # recorded without the signature, so that the evidence of the run stays valid
            self.record(replace(request, signer="", signature=""), problem)
        elif request.action == STOP:
            self._stop(request)
        elif request.action == PAUSE:
            self._pause(request)
        else:
            self._end_pause(request)

    def _stop(self, request: Request) -> None:
        with self._order:
            problem = "the run is being stopped already" if self._stopping else JUDGING if self._is_judging else ""
            self._stopping = self._stopping or not problem
        if problem:
            self.record(request, problem)
            return
        try:
            self._stopped_by = self.record(request)
        finally:
            self._stop_recorded.set()  # nothing waits for an event that cannot be written
            self.on_stop()

    def _pause(self, request: Request) -> None:
        acting = self.interventions if self.interventions and self.interventions.acting else None
        if acting is None:
            self.record(request, NO_AGENT)
        elif self._accept(request, paused=True):
            self._trace.later(acting.pause)
        else:
            self.record(request, "the run is paused already")

    def _end_pause(self, request: Request) -> None:
        if not self._accept(request, paused=False):
            self.record(request, NOT_PAUSED)

    def _accept(self, request: Request, *, paused: bool) -> bool:
        """Keep a request until it is taken; false if it would change nothing."""
        with self._changed:
            if self._paused == paused:
                return False
            self._paused = paused
            self._requests.append(request)
            self._changed.notify_all()
            return True


class Interrupted(Exception):
    """The operator asked to stop; raised inside a run, never shown."""


class Watcher:
    """Gets reports from a running run, and can stop it. The default watches nothing."""

    def phase(self, run_id: str, phase: str) -> None:
        """The run has entered ``phase``: binding, agent, judging or done."""

    def asks(self, run_id: str, code: str, question: str, seconds: int) -> None:
        """The run waits until a human answers, or until that many seconds have passed."""

    def live(self, run_id: str, sandbox: Sandbox | None) -> None:
        """The sandbox in which the run's agent acts."""

    def stopped(self) -> bool:
        """Whether the operator asked to stop."""
        return False

    def why_stopped(self) -> str:
        """How the operator asked, as in "stopped from the keyboard"."""
        return "by the operator"


class OperatorWatcher(Watcher):
    """A watcher of one run that also stops it when an operator asks ``control`` for it."""

    def __init__(self, watcher: Watcher, control: Control) -> None:
        self._watcher = watcher
        self._control = control
        self._turn = threading.Lock()
        self._sandbox: Sandbox | None = None
        control.on_stop = self._close

    def enter(self, run_id: str, phase: str) -> None:
        """Enter a phase of the run, unless it was stopped before. A run that is being judged takes no stop any more."""
        if self.stopped() or (phase == "judging" and not self._control.begin_judging()):
            raise Interrupted
        self.phase(run_id, phase)

    def phase(self, run_id: str, phase: str) -> None:
        self._watcher.phase(run_id, phase)

    def asks(self, run_id: str, code: str, question: str, seconds: int) -> None:
        self._watcher.asks(run_id, code, question, seconds)

    def live(self, run_id: str, sandbox: Sandbox | None) -> None:
        with self._turn:
            self._sandbox = sandbox
        self._watcher.live(run_id, sandbox)
        if self._control.stopped:
            self._close()

    def stopped(self) -> bool:
        return self._control.stopped or self._watcher.stopped()

    def why_stopped(self) -> str:
        by = self._control.stopped_by()
        return f"by {by.payload['by']} ({by.payload['why']})" if by else self._watcher.why_stopped()

    def evidence(self) -> str:
        """The event that shows why the run was stopped."""
        by = self._control.stopped_by()
        return f"events.jsonl#{by.seq}" if by else ""

    def _close(self) -> None:
        with self._turn:
            if self._sandbox is not None:
                self._sandbox.close()
