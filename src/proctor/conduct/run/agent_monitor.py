"""Watch an agent: guard, samples of its resource use, changes of its files, canaries, checkpoints.

Every observation goes into the watched trace, whose breakers decide. ``stages`` decides when the agent may write.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterable, Iterator
from contextlib import AbstractContextManager, ExitStack, contextmanager
from dataclasses import replace
from functools import partial
from pathlib import Path

from proctor.base.errors import InfrastructureFault
from proctor.conduct.machine_setup import Machine
from proctor.conduct.run.agent_context import Open, OutsidePauses, no_model
from proctor.conduct.run.agent_script_scan import Scripts
from proctor.conduct.run.breaker_interventions import Interventions
from proctor.conduct.run.checkpoints_and_rollback import WorkspaceCheckpoints
from proctor.conduct.run.kills_from_outside import OutsideKills
from proctor.conduct.run.trace_monitor import MonitoredTrace
from proctor.conduct.run.write_permission_stages import StageControl, is_early
from proctor.contract.model import Contract
from proctor.execute.monitor.program_kinds import sends
from proctor.execute.monitor.sensors.canary_files import (
    Canaries,
    CanaryRead,
    CanaryWatch,
    can_watch_files,
    make_canaries,
)
from proctor.execute.monitor.sensors.file_mutations import Mutation, Mutations
from proctor.execute.monitor.sensors.resource_sampling import Alert, Sample, Sampler, SamplingThread, ceilings_of
from proctor.execute.monitor.text_rules.text_scan import Reading, hit_payload, scan_command, scan_patch
from proctor.execute.sandbox.guard_observations import GuardPlan, Observation
from proctor.execute.sandbox.interface import Mount, Sandbox
from proctor.execute.sandbox.stage_change_server import StageServer
from proctor.execute.workspace.diff import Changes
from proctor.execute.workspace.path_patterns import matches
from proctor.execute.workspace.workspace import Workspace

NANOSECONDS = 1_000_000_000
MOST_READS = 100
"""Reads of canaries that are recorded one by one; the rest is counted."""
ALERTED_BY_SAMPLES = ("disk-low", "tmpfs-full")
"""What a sample shows and no breaker decides about."""


class AgentMonitor:
    """One agent's watch."""

    def __init__(
        self,
        machine: Machine,
        contract: Contract,
        trace: MonitoredTrace,
        interventions: Interventions,
        keep: Callable[[bytes], str],
    ) -> None:
        """``keep`` stores bytes with the run and names them."""
        self.reach_model: Callable[[AgentMonitor], AbstractContextManager[Open]] = no_model
        """Makes the way to the model that the agent is to use."""
        self.keep = keep
        self.machine = machine
        self.contract = contract
        self.trace = trace
        self.interventions = interventions
        self.deaths = OutsideKills()
        self.wrappers: set[tuple[str, ...]] = set()
        """Command lines that the harness wrote around those of the agent."""
        self._turn = threading.Lock()
        self._changes: Mutations | None = None
        self._scripts: Scripts | None = None
        self._checkpoints = contract.policy.wanted_checkpoints
        self._keeping = False
        self._kept_calls = 0
        self._kept_ns = 0
        self._allowance = Allowance(trace, interventions)
        self.stages = StageControl(contract.policy.stages, trace, interventions)
        wants_canaries = contract.policy.canaries and machine.backend(contract).watched
        self.canaries = make_canaries(machine.entropy) if wants_canaries else Canaries(())
        self._kernel_watches = can_watch_files()
        """Whether the kernel reports who reads canary files; otherwise the guard does."""

    def guard(self) -> GuardPlan:
        """What the guard of the agent's sandbox is to watch for."""
        policy = self.contract.policy
        return GuardPlan(
            writable=self.stages.places,
            reads=policy.reads == "files",
            everywhere=policy.reads == "all",
            secrets=() if self._kernel_watches else tuple(self.canaries.files),
            hold_writes=self.stages.holds_writes,
            programs=self._allowance.first(),
            notify=self._observe,
        )

    @contextmanager
    def canaries_watched(self) -> Iterator[Callable[[Sandbox], object]]:
        """Record who reads canary files for the time of a ``with`` block, once their sandbox is given."""
        count = 0

        def notify(read: CanaryRead) -> None:
            nonlocal count
            count += 1
            if count <= MOST_READS:
                self.trace.append("guard.attempt", read.payload())

        def watch(sandbox: Sandbox) -> None:
            if self._kernel_watches:
                stack.push(CanaryWatch(self.canaries.files, sandbox.init_pid, notify))

        try:
            with ExitStack() as stack:
                yield watch
        finally:
            if count > MOST_READS:
                self.trace.append("guard.more", {"code": "read-canary", "count": count - MOST_READS})

    @contextmanager
    def server(self, directory: Path) -> Iterator[tuple[Mount, ...]]:
        """Serve requests for stages during a ``with`` block; yields the mounts that show the server inside."""
        if not self.stages.asked_for:
            yield ()
            return
        with StageServer(directory, self.stages.ask) as server:
            yield server.mounts

    @contextmanager
    def over(self, sandbox: Sandbox, workspace: Workspace) -> Iterator[None]:
        """Watch ``sandbox`` for the time of a ``with`` block."""
        keeper = None
        if self._checkpoints is not None:
            keeper = WorkspaceCheckpoints(self._checkpoints, self.trace, workspace, sandbox, self._look_as)
        self.interventions.attach(sandbox, keeper)
        self.stages.begin()
        sampler = Sampler(sandbox, workspace, self.machine.clock, ceilings_of(self.contract.budget))
        self._changes = Mutations(workspace, wanted=self._wanted)
        self._scripts = Scripts(workspace, self.contract.policy.words.off)
        self._kept_ns = self.machine.clock.steady_ns()
        try:
            self.interventions.keep("before the agent acts")
            pauses = OutsidePauses(sandbox, self.trace, lost=partial(self._lost, "the watch for pauses"))
            samples = partial(self._lost, "the samples of the sandbox")
            with pauses, SamplingThread(sampler, self._sampled, lost=samples):
                yield
                self.settle(sandbox)
        finally:
            self.stages.end()
            self.interventions.detach()

    def look(self) -> None:
        """Record the changes of the workspace since the last scan."""
        self._look_as("agent")

    def _look_as(self, actor: str) -> None:
        with self._turn:
            if self._changes is not None:
                self._record_mutations(self._changes.since_last(), actor)

    def close_chains(self, changes: Changes) -> None:
        """Record the rest, so that the chain of every path ends in ``changes``; no process may run any more."""
        with self._turn:
            if self._changes is not None:
                self._record_mutations(self._changes.final(changes))
                self._changes = None

    def _record_mutations(self, mutations: Iterable[Mutation], actor: str = "agent") -> None:
        for mutation in mutations:
            self.trace.append("workspace.mutation", mutation.payload(), actor)

    def _wanted(self, path: bytes) -> bool:
        return not any(matches(path, pattern) for pattern in self.contract.policy.generated)

    def _keep_by_count(self) -> None:
        """Take a checkpoint if the contract's number of calls or seconds has passed."""
        wanted = self._checkpoints
        if wanted is None or self._keeping:
            return
        calls, now = self.trace.calls, self.machine.clock.steady_ns()
        by_calls = wanted.every_calls is not None and calls - self._kept_calls >= wanted.every_calls
        by_time = wanted.every_seconds is not None and now - self._kept_ns >= wanted.every_seconds * NANOSECONDS
        if by_calls or by_time:
            self._kept_calls, self._kept_ns = calls, now
            reason = f"after {calls} tool calls" if by_calls else f"{wanted.every_seconds} s after the one before"
            self._keeping = True
            self.trace.later(lambda: self._keep(reason))

    def _keep(self, reason: str) -> None:
        self._keeping = False
        self.interventions.keep(reason, changed=True)

    def _observe(self, observation: Observation) -> None:
        if observation.kind == "script":
            if self._scripts is not None:
                self._scripts.keep(observation)
            return
        if observation.kind == "attempt" and self.stages.asked_for and is_early(observation):
            observation = replace(observation, code="write-early")
        self.deaths.see(observation)
        self.trace.append(f"guard.{observation.kind}", observation.payload())
        if observation.kind == "exec":
            off = self.contract.policy.words.off
            if tuple(observation.argv) not in self.wrappers:
                self._read_words(scan_command(observation.argv, off=off, cut=observation.cut))
            for said in self._scripts.read(observation) if self._scripts else ():
                self._read_words(said)
            code = "canary-leak" if sends(observation.argv) else "canary-used"
            self.note_canaries(code, " ".join(observation.argv), "a command line", observation)
            self._keep_by_count()
            self._allowance.count_start()
        if observation.kind == "attempt" and observation.code in ("dns", "network"):
            self.note_canaries("canary-leak", observation.detail, "a name that was asked for", observation)
        if observation.kind == "held":
            self.stages.held(observation)

    def scan_patch(self, patch: bytes, binaries: Iterable[bytes]) -> None:
        """Apply the text rules to the lines that a patch adds; ``binaries`` are the files that it holds compressed."""
        text = patch.decode("utf-8", "replace")
        self._read_words(scan_patch(text, off=self.contract.policy.words.off))
        for data in (patch, *binaries):
            self.note_canaries("canary-leak", data, "the patch")

    def note_canaries(self, code: str, data: bytes | str, where: str, observation: Observation | None = None) -> None:
        """Record every planted secret that turns up in ``data``."""
        for hit in self.canaries.spot(data):
            self.note_canary(code, f"the canary {hit.canary} ({hit.form}) in {where}", observation)

    def note_canary(self, code: str, detail: str, observation: Observation | None = None, *, address: str = "") -> None:
        """Record that a planted secret was used inside or in the agent's own prompts, or that it leaks."""
        self.trace.append(
            "guard.attempt",
            {
                "code": code,
                "syscall": "",
                "pid": observation.pid if observation else 0,
                "argv": list(observation.argv) if observation else [],
                "detail": detail,
                "path": "",
                "address": address,
                "allowed": True,
                "errno": "",
                "count": 1,
            },
        )

    def _read_words(self, reading: Reading) -> None:
        for hit in reading.hits:
            self.trace.append("words.hit", hit_payload(hit))

    def _sampled(self, sample: Sample, alerts: tuple[Alert, ...]) -> None:
        self.look()
        self._keep_by_count()
        event = self.trace.append("monitor.sample", sample.payload("agent"))
        for alert in alerts:
            if alert.code in ALERTED_BY_SAMPLES:
                self.trace.append(
                    "monitor.alert",
                    {
                        "code": alert.code,
                        "grade": alert.grade,
                        "signals": dict(alert.signals),
                        "stage": self.trace.stage,
                        "message": alert.message,
                        "evidence": [event.seq],
                    },
                )

    def _lost(self, watch: str, problem: str) -> None:
        """A watch has ended: an agent that continues is ended, since its time and use are not known."""

        def fail(sandbox: Sandbox) -> None:
            raise InfrastructureFault(f"{watch} ended: {problem}")

        self.trace.later(lambda: self.interventions.on_sandbox(fail))

    def settle(self, sandbox: Sandbox) -> None:
        """Wait until the guard has reported everything; a sandbox that has ended has nothing more to report."""
        if sandbox.guard is None:
            return
        try:
            sandbox.guard.settle()
        except InfrastructureFault:
            if not self.interventions.closed:
                raise


class Allowance:
    """The number of programs that the guard of one sandbox may let start."""

    def __init__(self, trace: MonitoredTrace, interventions: Interventions) -> None:
        self._trace = trace
        self._interventions = interventions
        self._started = 0
        self._granted: int | None = None

    def first(self) -> int | None:
        """The number that a new guard may let start at once; ``None`` is no bound."""
        self._started = 0
        self._granted = lead(self._trace.programs_left)
        return self._granted

    def count_start(self) -> None:
        """One more program was recorded, and the breakers have seen it: allow more if needed."""
        self._started += 1
        if self._granted is None or self._trace.ended is not None:
            return
        left = self._trace.programs_left
        ahead = self._granted - self._started
        if left is not None and left // 4 < ahead <= left:
            return
        more = lead(left)
        self._granted = total = None if more is None else self._started + more
        self._trace.later(lambda: self._interventions.on_sandbox(lambda sandbox: _allow(sandbox, total)))


def lead(left: int | None) -> int | None:
    """How far programs may be ahead of the breakers when ``left`` more are allowed."""
    return None if left is None else (left + 1) // 2


def _allow(sandbox: Sandbox, total: int | None) -> None:
    if sandbox.guard is not None:
        sandbox.guard.allow_programs(total)
