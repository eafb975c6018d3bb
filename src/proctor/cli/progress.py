"""Live progress on standard error, and the interrupt that stops a batch in order.

On a terminal one line is redrawn every second and as runs go through their phases; elsewhere each finished run gets a
line. Attempts outside of runs are counted in the same two ways. The first Ctrl-C or SIGTERM ends the agents that act,
seals their runs as stopped, and starts no more. A second one exits at once: the next command removes what is left,
as after a crash. If standard error is closed, the runs continue.
"""

from __future__ import annotations

import os
import signal
import sys
import threading
import time
from contextlib import suppress
from types import FrameType, TracebackType

from proctor.base.errors import ProctorError
from proctor.cli.output import printable
from proctor.cli.terminal import is_terminal, terminal_width
from proctor.conduct.batch.batch_record import Place
from proctor.conduct.batch.batch_runs import BatchResult, BatchWatcher
from proctor.conduct.machine_setup import Machine
from proctor.conduct.run.lifecycle import RunOutcome
from proctor.conduct.session.batch_plan import Plan, fill, resume_command
from proctor.execute.sandbox.interface import Sandbox

INTERRUPTED = 130
"""The exit code of a command that was interrupted and left without its end."""

MOST_LINES = 20
"""How many lines are printed of attempts that are counted, where no line can be redrawn."""


TICK_SECONDS = 1.0
"""How often the line on a terminal is drawn again while nothing else happens."""


class Attempts:
    """Counts the attempts at ``name``, from any thread; ``quiet`` says nothing of them."""

    def __init__(self, name: str, *, quiet: bool = False) -> None:
        self._name = name
        self._quiet = quiet or sys.stderr is None
        self._done = 0
        self._lock = threading.Lock()

    def one_more(self, total: int) -> None:
        """One more of ``total`` is done."""
        with self._lock:
            self._done += 1
            self.tell(self._done, total)

    def tell(self, done: int, total: int) -> None:
        """``done`` of ``total`` are done."""
        if self._quiet:
            return
        message = printable(f"[{done}/{total}] {self._name}")
        if is_terminal(sys.stderr):
            _write(f"\r\x1b[K{_fitting(message)}" + ("\n" if done == total else ""))
        elif done * MOST_LINES // total > (done - 1) * MOST_LINES // total:
            _write(f"{message}\n")


def _fitting(text: str) -> str:
    """``text`` cut to one line of the terminal: a longer one could not be drawn again."""
    width = terminal_width(sys.stderr)
    return text[: width - 1] if width else text


def _write(text: str) -> None:
    with suppress(BrokenPipeError):
        sys.stderr.write(text)
        sys.stderr.flush()


def _write_at_once(text: str) -> None:
    """Write past the stream's buffer, which the code that a signal interrupts may be using."""
    with suppress(OSError):
        os.write(2, text.encode())


class Progress(BatchWatcher):
    """Shows a batch of ``total`` runs, of which ``done`` were done before; ``resume`` is the command for the rest."""

    def __init__(self, total: int, done: int = 0, *, quiet: bool = False, resume: str = "") -> None:
        self._total = total
        self._done = done
        self._quiet = quiet
        self._resume = resume
        self._why = ""
        self._terminal = is_terminal(sys.stderr) and not quiet
        self._start = time.monotonic()
        self._phases: dict[str, str] = {}
        self._sandboxes: dict[str, Sandbox] = {}
        self._stop = threading.Event()
        self._lock = threading.RLock()
        self._former: dict[int, object] = {}
        self._ended = threading.Event()
        self._clock = threading.Thread(target=self._tick, name="clock", daemon=True)

    def phase(self, run_id: str, phase: str) -> None:
        with self._lock:
            if phase == "done":
                self._phases.pop(run_id, None)
            else:
                self._phases[run_id] = phase
            self._draw()

    def asks(self, run_id: str, code: str, question: str, seconds: int) -> None:
        about = question if question.startswith(f"{code}:") else f"{code}: {question}"
        answer = f"proctor decide {run_id} approve|deny|rollback --why '...'"
        with self._lock:
            self._line(f"{run_id} asks: {about}; {answer}; {seconds} s left", always=True)
            self._draw()

    def live(self, run_id: str, sandbox: Sandbox | None) -> None:
        with self._lock:
            if sandbox is None:
                self._sandboxes.pop(run_id, None)
            else:
                self._sandboxes[run_id] = sandbox
                if self._stop.is_set():
                    sandbox.close()

    def stopped(self) -> bool:
        return self._stop.is_set()

    def why_stopped(self) -> str:
        return self._why

    def finished(self, place: Place, outcome: RunOutcome) -> None:
        with self._lock:
            self._done += 1
            name = outcome.report.contract.name
            who = place.method or outcome.report.agent.name
            self._line(f"[{self._done}/{self._total}] {outcome.run_id}  {name}  {who}  {outcome.status}")
            self._draw()

    def repeats(self, place: Place, outcome: RunOutcome) -> None:
        with self._lock:
            self._total += 1
            self._line(f"{outcome.run_id} is invalid, not because of the agent, and will be repeated")
            self._draw()

    def note(self, line: str) -> None:
        with self._lock:
            self._line(line)
            self._draw()

    def unprepared(self, place: Place, error: ProctorError) -> None:
        with self._lock:
            self._done += 1
            why = error.message.splitlines()[0]
            self._line(f"[{self._done}/{self._total}] {place.contract}: not run: {why}")
            self._draw()

    def __enter__(self) -> Progress:
        if threading.current_thread() is threading.main_thread():
            for number in (signal.SIGINT, signal.SIGTERM):
                self._former[number] = signal.signal(number, self._interrupt)
        if self._terminal:
            self._clock.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        for number, former in self._former.items():
            signal.signal(number, former)  # type: ignore[arg-type]
        self._ended.set()
        if self._terminal:
            self._clock.join()
        self._clear()

    def _tick(self) -> None:
        """Draw the line again every second, to show that a long run is still active."""
        while not self._ended.wait(TICK_SECONDS):
            with self._lock:
                self._draw()

    def _interrupt(self, number: int, frame: FrameType | None) -> None:
        """Ask all to stop; the runs notice at their next step. A second interrupt exits at once."""
        if self._stop.is_set():
            hint = f"; to run the rest: {self._resume}" if self._resume else ""
            _write_at_once(f"\nproctor: stopped without waiting{hint}\n")
            # An exit of Python would first wait for the threads of the runs. A shell reports an end by SIGINT as 130.
            signal.signal(signal.SIGINT, signal.SIG_DFL)
            os.kill(os.getpid(), signal.SIGINT)
            raise SystemExit(INTERRUPTED)  # the first process of a container survives the signal
        self._why = "from the keyboard" if number == signal.SIGINT else f"by {signal.Signals(number).name}"
        self._stop.set()
        _write_at_once(
            "\nstopping: live agents are ended and their runs sealed; press Ctrl-C again to stop without waiting\n"
        )
        threading.Thread(target=self._end_live, name="stop").start()

    def _end_live(self) -> None:
        with self._lock:
            for sandbox in list(self._sandboxes.values()):
                sandbox.close()

    def _line(self, text: str, *, always: bool = False) -> None:
        if (always or not self._quiet) and sys.stderr is not None:
            self._clear()
            _write(printable(text) + "\n")

    def _draw(self) -> None:
        if not self._terminal:
            return
        phases = ", ".join(f"{run[-6:]} {phase}" for run, phase in list(self._phases.items())[:4])
        seconds = int(time.monotonic() - self._start)
        _write("\r\x1b[K" + _fitting(f"{self._done}/{self._total} done, {seconds} s  {phases}"))

    def _clear(self) -> None:
        if self._terminal:
            _write("\r\x1b[K")


def progress_of(plan: Plan, *, quiet: bool) -> Progress:
    """What shows how far the runs of ``plan`` are."""
    total = len(plan.batch.places)
    return Progress(total, total - len(plan.places), quiet=quiet, resume=resume_command(plan.batch))


def fill_with_progress(machine: Machine, plan: Plan, jobs: int, *, quiet: bool) -> BatchResult:
    """Make the runs that are left of ``plan`` and show how far they are."""
    with progress_of(plan, quiet=quiet) as progress:
        return fill(machine, plan, jobs, progress)
