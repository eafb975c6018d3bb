"""Stop, pause and resume a running run by request.

A request is a small file below the home's ``decisions`` directory, in a folder of the run: a user who may write there
may act. Its name is a number that is given once, so that requests of several operators have one order. A running run
looks for requests and writes one ``operator.acted`` for each, even if it cannot fulfil it. A request whose signature
does not hold is not fulfilled.

A pause freezes the agent's sandbox and holds its model calls. The time is not the agent's. The pause ends when an
operator resumes or stops the run. A stop ends the agent at once; a run that is being judged is not stopped any more.
"""

from __future__ import annotations

import os
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Any, Protocol, Self

from proctor.base.canonical import canonical, parse
from proctor.base.errors import InfrastructureFault, ProctorError
from proctor.base.files import read_bounded, write_whole
from proctor.base.frozen import frozen, replace
from proctor.record.rundir import RunDirectory
from proctor.record.signed_acts import signature_problem
from proctor.record.trace.event import Event
from proctor.record.trace.read import read_finished_events

if TYPE_CHECKING:
    from proctor.conduct.watched import WatchedTrace

SCHEMA = 1
STOP, PAUSE, RESUME = "stop", "pause", "resume"
ACTIONS = (STOP, PAUSE, RESUME)
FOLDER = "requests"
REQUEST_BYTES = 1 << 20
LOOK_SECONDS = 0.1
NO_AGENT = "no agent acts at the moment"
ASKING = "the run waits for an answer, and its agent does not run until then"
JUDGING = "the agent has ended, and its patch is being judged"


@frozen
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
        """What a signature covers, besides the run and the number."""
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

    is_asking: bool
    """Whether the run waits for the answer of an operator."""

    @property
    def acting(self) -> bool:
        """Whether there is an agent to act on."""

    def pause(self, request: Request, control: Control) -> None:
        """Pause the agent until ``control`` has a request to resume, or the run ends."""

    def give_up(self) -> None:
        """End the agent, because something could not be done."""


class Control:
    """Takes the requests to one run for the time of a ``with`` block."""

    def __init__(self, directory: Path, trace: WatchedTrace) -> None:
        self._directory = directory  # named after the run
        self._trace = trace
        self._seen: set[int] = set()
        self._over = threading.Event()
        self._changed = threading.Condition()
        self._paused = False
        self._resume: Request | None = None
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

    def wait_for_resume(self, ended: Callable[[], bool]) -> Request | None:
        """The request that ends a pause; ``None`` if the run has ``ended`` before."""
        with self._changed:
            while self._resume is None and not self.stopped and not ended():
                self._changed.wait(LOOK_SECONDS)
            request, self._resume, self._paused = self._resume, None, False
            return request

    def _work(self) -> None:
        while not self._over.wait(LOOK_SECONDS):
            for request in self._new():
                try:
                    self._take(request)
                except (ProctorError, OSError) as error:
                    self._fail(error)

    def _fail(self, error: ProctorError | OSError) -> None:
        """A request could not be fulfilled: the run has a fault, and its agent does not go on."""
        message = str(error) if isinstance(error, ProctorError) else f"{type(error).__name__}: {error}"
        with suppress(ProctorError, OSError):  # a run that cannot write its trace fails by that
            self._trace.append("run.fault", {"message": message, "phase": "taking a request"})
        if self.interventions is not None:
            with suppress(ProctorError, OSError):  # the fault is recorded, and later requests must be answered
                self.interventions.give_up()

    def _new(self) -> Iterator[Request]:
        for number in _numbers(self._directory):
            if number not in self._seen:  # a lower number can become visible after a higher one
                self._seen.add(number)
                request = _read(self._directory, number)
                if request is not None:
                    yield request

    def _take(self, request: Request) -> None:
        problem = signature_problem(
            self._directory.name, request.number, request.act(), request.signer, request.signature
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
        with self._changed:
            problem = "the run is paused already" if self._paused else NO_AGENT if acting is None else ""
            if acting is not None and acting.is_asking:
                problem = ASKING
            self._paused = self._paused or not problem
        if problem or acting is None:
            self.record(request, problem)
        else:
            self._trace.later(lambda: acting.pause(request, self))

    def _end_pause(self, request: Request) -> None:
        with self._changed:
            taken = self._paused and self._resume is None
            if taken:
                self._resume = request
                self._changed.notify_all()
        if not taken:
            self.record(request, "the run is not paused")
