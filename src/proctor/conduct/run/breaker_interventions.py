"""What is done about the decisions of the breakers, on the live sandbox of an agent.

Throttling and pausing freeze the sandbox, suspending holds every further change of the workspace, killing ends one
call or all, and a rollback brings the workspace back before anything else is done. An intervention on a sandbox that
has ended meanwhile has nothing left to do; on one that lives, an act that fails is a fault of the run. Everything runs
on the watched trace's own thread, one act after the other.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from dataclasses import replace

from proctor.base.errors import InfrastructureFault
from proctor.conduct.run.checkpoints_and_rollback import WorkspaceCheckpoints
from proctor.conduct.run.control import LOOK_SECONDS, NO_AGENT, Control, Request
from proctor.conduct.run.operator_answers import WITHDRAWN, wait_for_answer
from proctor.conduct.run.trace_monitor import Decision, MonitoredTrace
from proctor.contract.model import Ask, Contract
from proctor.execute.gateway.model_gateway import Gateway
from proctor.execute.monitor.breakers.interface import (
    END,
    KILL,
    KILL_CALL,
    PAUSE,
    QUARANTINE,
    ROLLBACK,
    SAFETY,
    SUSPEND_WRITE,
    THROTTLE,
)
from proctor.execute.sandbox.interface import Sandbox
from proctor.execute.sandbox.process_trees import end_trees
from proctor.record.trace.event import Event

DECIDING = frozenset({KILL, QUARANTINE, ROLLBACK})
"""Actions that must not fail without a word, even when the sandbox has ended."""
SETTLE_SECONDS = 30.0
"""How long an operator's question waits for answers of a model that are under way; what comes later is kept."""


class Interventions:
    """Acts on the sandbox that is attached at the moment."""

    def __init__(
        self,
        contract: Contract,
        trace: MonitoredTrace,
        control: Control,
        stopped: Callable[[], bool],
        asks: Callable[[str, str, int], None],
    ) -> None:
        self._contract = contract
        self._trace = trace
        self._control = control
        self._stopped = stopped
        self._asks = asks
        self._sandbox: Sandbox | None = None
        self._keeper: WorkspaceCheckpoints | None = None
        self._gone = threading.Event()
        self.gateway: Gateway | None = None
        """The model gateway. While the agent waits for an operator, its calls are settled and none begins."""
        self.closed = False
        """Whether the agent's sandbox was closed by an intervention."""
        self.killed_calls = False
        """Whether an intervention killed processes of the agent."""
        self._is_paused = False
        """Whether an operator paused the agent."""

    @property
    def acting(self) -> bool:
        """Whether there is an agent to act on."""
        return self._sandbox is not None

    def attach(self, sandbox: Sandbox, keeper: WorkspaceCheckpoints | None) -> None:
        """Act on ``sandbox`` from now on; it is ended at once when the run was ended before it came up."""
        self._gone.clear()
        self._sandbox, self._keeper = sandbox, keeper
        if self._trace.ended is not None or self.closed:
            self._close(sandbox)

    def detach(self) -> None:
        """The agent's time is over: wait for nothing any more, but finish what was decided."""
        self._gone.set()
        self._trace.catch_breath()
        self._sandbox = self._keeper = None
        self._is_paused = False
        self._control.refuse_requests(NO_AGENT)

    def on_sandbox(self, act: Callable[[Sandbox], None]) -> None:
        """Do something to the sandbox, where there is still one that an agent acts in."""
        sandbox = self._sandbox
        if sandbox is None:
            return
        try:
            act(sandbox)
        except (InfrastructureFault, OSError):
            if self._matters(sandbox):
                raise

    def give_up(self) -> None:
        """An action failed: the agent must not continue, nor begin."""
        self.closed = True
        if self._sandbox is not None:
            self._close(self._sandbox)

    def keep(self, reason: str, *, changed: bool = False) -> None:
        """Take a checkpoint, where this run has any."""
        keeper = self._keeper
        if keeper is not None:
            self.on_sandbox(lambda _: keeper.take(reason, changed=changed))

    def __call__(self, decision: Decision) -> None:
        sandbox = self._sandbox
        if sandbox is None:
            if decision.trip.action == ROLLBACK:
                self._not_restored(decision, "the agent had ended")
            return
        try:
            self._act(sandbox, decision)
        except (InfrastructureFault, OSError) as error:
            if self._matters(sandbox) or (decision.trip.action in DECIDING and not self._over()):
                raise
            if decision.trip.action == ROLLBACK:
                self._not_restored(decision, str(error))

    def _over(self) -> bool:
        """Whether the agent's time is over, so that nothing has to be done any more."""
        return self.closed or self._gone.is_set()

    def _matters(self, sandbox: Sandbox) -> bool:
        """Whether a failure to act on ``sandbox`` leaves an agent that continues, or that is frozen for ever."""
        return not self._over() and sandbox.alive

    def _act(self, sandbox: Sandbox, decision: Decision) -> None:
        trip = decision.trip
        if trip.action == THROTTLE:
            sandbox.freeze()
            self._gone.wait(float(str(trip.signals.get("delay_seconds", "1"))))
            sandbox.thaw()
        elif trip.action == SUSPEND_WRITE and sandbox.guard is not None:
            sandbox.guard.hold_writes()
        elif trip.action == KILL_CALL:
            self.killed_calls = True
            sandbox.freeze()  # so that nothing starts another process while it is ended
            seen = self._trace.processes_of(int(trip.signals["call"]))
            end_trees(sandbox.init_pid, int(trip.signals["pid"]), seen)
            sandbox.thaw()
        elif trip.action == PAUSE:
            self._ask(sandbox, decision)
        elif trip.action == ROLLBACK:
            self._roll_back(sandbox, decision)
        elif trip.action in (KILL, QUARANTINE):
            self._close(sandbox)

    def _roll_back(self, sandbox: Sandbox, decision: Decision) -> None:
        """Bring the workspace back; then do what the breaker itself wanted, or end the agent."""
        trip = decision.trip
        assert self._keeper is not None
        ends = trip.signals["then"] == END
        self.killed_calls = True  # set before any process of the agent can end
        alive = self._keeper.restore(str(trip.signals["to"]), decision.alert, end=ends)
        if ends:
            self._close(sandbox)
        elif not alive:
            self._end_after_rollback(sandbox, trip.rationale, decision.alert)
        else:
            self._act(sandbox, replace(decision, trip=replace(trip, action=str(trip.signals["otherwise"]))))

    def _not_restored(self, decision: Decision, problem: str) -> None:
        to = str(decision.trip.signals["to"])
        payload = {"checkpoint": to, "alert": decision.alert, "names": 0, "ended": True, "problem": problem}
        self._trace.append("workspace.restored", payload)

    def _end_after_rollback(self, sandbox: Sandbox, rationale: str, alert: int) -> None:
        """Processes that could not be frozen were ended for the rollback."""
        message = f"{rationale}; the workspace was rolled back, and the agent had to be ended for this"
        self._terminate("ended-by-rollback", message, alert)
        self._close(sandbox)

    def _ask(self, sandbox: Sandbox, decision: Decision) -> None:
        trip = decision.trip
        ask = self._question(trip.code)
        sandbox.freeze()
        self._settle_calls()
        asked = self._trace.append(
            "operator.asked",
            {
                "code": trip.code,
                "question": trip.rationale,
                "deadline_seconds": ask.deadline_seconds,
                "alert": decision.alert,
            },
        )
        self._trace.sync()
        self._asks(trip.code, trip.rationale, ask.deadline_seconds)
        keeper = self._keeper
        answer = wait_for_answer(
            self._control.directory, asked.seq, ask, self._ended_while_asking, keeper.ids if keeper else ()
        )
        to = answer.to
        if answer.decision == "rollback" and not to:
            to = self._trace.checkpoint_before(trip.evidence[0])
        self._trace.append("operator.decided", {**answer.payload(), "checkpoint": to})
        self._trace.sync()
        if answer.decision == WITHDRAWN:
            return
        if answer.decision == "rollback" and keeper is not None and to:
            detail = {"to": to}
            self._trace.append("intervention", {"action": "rollback", "alert": decision.alert, "detail": detail})
            if not keeper.restore(to, decision.alert, end=False, thaw=False):
                self._end_after_rollback(
                    sandbox, f"{trip.rationale}; the operator decided: {answer.why}", decision.alert
                )
                return
        if answer.decision in ("approve", "rollback"):
            self._go_on(decision.alert)
            return
        self._intervene(KILL, decision.alert)
        rationale = f"{trip.rationale}; the operator denied: {answer.why}"
        self._terminate("operator-denied", rationale, decision.alert)
        self._close(sandbox)

    def _terminate(self, code: str, rationale: str, alert: int) -> None:
        payload = {"code": code, "rationale": rationale, "evidence": f"events.jsonl#{alert}"}
        self._trace.append("run.terminated", payload)

    def _close(self, sandbox: Sandbox) -> None:
        self.closed = True
        sandbox.close()

    def pause(self) -> None:
        """Pause the agent until an operator resumes or stops the run; the time is not the agent's."""
        request, sandbox = self._control.next_request(), self._sandbox
        if request is None:
            return  # taken while the run waited for an answer
        if sandbox is None or not self._held_for_pause(sandbox):
            self._control.record(request, NO_AGENT)
            self._control.refuse_requests(NO_AGENT)
            return
        self._go_on(self._take(request).seq)

    def _take(self, request: Request) -> Event:
        """Record a request to pause or to resume; the sandbox is frozen, and what follows decides when it is thawed."""
        event = self._control.record(request)
        self._is_paused = request.action == PAUSE
        if self._is_paused:
            self._intervene(PAUSE, event.seq)
        return event

    def _go_on(self, alert: int) -> None:
        """Let the frozen agent continue because of the event ``alert``, or once an operator resumes it."""
        while not self._over_for_operators():
            request = self._control.next_request(LOOK_SECONDS if self._is_paused else 0)
            if request is not None:
                alert = self._take(request).seq
            elif not self._is_paused:
                self._intervene("resume", alert)
                if self.gateway is not None:
                    self.gateway.release()
                self.on_sandbox(lambda sandbox: sandbox.thaw())
                return

    def _over_for_operators(self) -> str:
        """Why neither a question nor a pause matters any more; empty if they do."""
        if self._stopped():
            return "the run was stopped"
        return "the agent had ended before an operator answered" if self._gone.is_set() else ""

    def _ended_while_asking(self) -> str:
        """Take requests to pause and to resume; why the question needs no answer any more."""
        while (request := self._control.next_request()) is not None:
            self._take(request)
        return self._over_for_operators()

    def _settle_calls(self) -> None:
        """Hold the model's calls, and wait for those that are under way."""
        deadline = time.monotonic() + SETTLE_SECONDS
        while self.gateway is not None and not self.gateway.hold(LOOK_SECONDS):
            if self._ended_while_asking() or time.monotonic() >= deadline:
                return

    def _held_for_pause(self, sandbox: Sandbox) -> bool:
        """Freeze the sandbox and hold the model's calls; false if the agent has already ended.

        Calls under way are not waited for: the operator waits for the pause, and the gateway keeps their answers.
        """
        try:
            sandbox.freeze()
        except (InfrastructureFault, OSError):
            if self._matters(sandbox):
                raise
            return False
        if self.gateway is not None:
            self.gateway.hold(0)
        return True

    def _intervene(self, action: str, alert: int) -> None:
        self._trace.append("intervention", {"action": action, "alert": alert, "detail": {}})
        self._trace.sync()

    def _question(self, code: str) -> Ask:
        codes = {code, code.removeprefix(SAFETY)}
        return next(ask for ask in self._contract.policy.ask if codes.intersection(ask.on))
