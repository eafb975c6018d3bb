"""One run, from a prepared contract to a sealed report.

The order is the guarantee. The manifest is written before anything acts; the patch and its events are on disk before
the judge starts; the report is computed from the run directory alone; the seal comes last. A fault of the harness or
the machine becomes an event and an invalid run. A crash leaves a directory without a seal, which no command treats as a
finished run.
"""

from __future__ import annotations

import os
import stat
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

from proctor.base.canonical import canonical
from proctor.base.clock import new_run_id, utc_text
from proctor.base.dataclass_fields import EMPTY
from proctor.base.errors import ProctorError
from proctor.base.files import write_whole
from proctor.base.json_records import to_json
from proctor.base.reversible_escapes import name_bytes, name_text
from proctor.base.untrusted_directories import erase
from proctor.conduct.briefing import brief
from proctor.conduct.inverted_pools import known_pool, rounds_at_once
from proctor.conduct.machine_setup import Machine
from proctor.conduct.run.agent_monitor import AgentMonitor
from proctor.conduct.run.agent_phase import Acting, run_agent
from proctor.conduct.run.breaker_interventions import Interventions
from proctor.conduct.run.check_monitor import check_watch, keep_baseline, known_baseline, rehearsal
from proctor.conduct.run.control import Control, Interrupted, OperatorWatcher, Watcher
from proctor.conduct.run.model_connection import ModelPlan, model_for
from proctor.conduct.run.trace_monitor import MonitoredTrace
from proctor.conduct.run_manifest import boot_id, manifest, observed_identity, require_complete, require_described
from proctor.contract.digest import resolved
from proctor.contract.model import Contract
from proctor.execute.agents.interface import Agent
from proctor.execute.monitor.breakers.breaker_panel import BreakerPanel
from proctor.execute.monitor.breakers.breaker_settings import Settings, record_of_settings, settings_of
from proctor.execute.monitor.budget import projection
from proctor.execute.monitor.dependency_installs import installs_in
from proctor.execute.monitor.price_table import PriceTable
from proctor.execute.network.network_service import name_mounts
from proctor.execute.prepare import PreparedBase
from proctor.execute.sandbox.interface import Sandbox
from proctor.execute.workspace.layer_stack import Stack
from proctor.execute.workspace.patch import PatchProblem, apply_patch, known_stat
from proctor.execute.workspace.workspace import base_stack
from proctor.judge.checks.acceptance import accept
from proctor.judge.checks.judge_context import BackgroundCleanup, JudgeContext
from proctor.judge.patch_policy.dependency_policy import FILE_BYTES, Files, declares, dependency_findings
from proctor.judge.patch_policy.patch_findings import Finding, findings
from proctor.judge.run_report import conclusion
from proctor.record.redact import Redactor
from proctor.record.report_model import Report
from proctor.record.run_directory import RunDirectory, RunLock
from proctor.record.schema_versions import TRACE
from proctor.record.seal import write_seal
from proctor.record.trace.reader import read_finished_events

STOPPED = "operator"
"""The code of a run that was stopped from the keyboard, by a signal or by ``proctor decide RUN stop``."""


@dataclass(frozen=True)
class RunOutcome:
    """The result of a finished run."""

    run_id: str
    directory: Path
    status: str
    report: Report


def execute_run(
    machine: Machine,
    prepared: PreparedBase,
    agent: Agent,
    *,
    configuration: Mapping[str, Any] = EMPTY,
    watcher: Watcher | None = None,
    prices: PriceTable | None = None,
    envelopes: Mapping[str, Any] = EMPTY,
    rehearse: bool = False,
    model: ModelPlan | None = None,
    redactor: Redactor | None = None,
) -> RunOutcome:
    """Run ``agent`` once on a prepared contract and return the result.

    ``envelopes`` are the settings that limit the run to its share of the spending limits of its task and batch. A run
    that is to ``rehearse`` has its checks watched too, and what they try becomes part of the contract's baseline. A
    ``redactor`` takes secrets out of everything that is recorded.
    """
    run_id = new_run_id(machine.clock, machine.entropy)
    run = RunDirectory(machine.home.runs / run_id, redactor)
    description = agent.describe()
    require_described(description)
    baseline, sources = _baseline(machine, prepared, agent)
    settings = settings_of(prepared.contract, prices=prices, baseline=baseline, **envelopes)
    asked = {**configuration, "watch": record_of_settings(settings), "baseline_runs": list(sources)}
    if model is not None:
        asked["gateway"] = model.record()
    bound = to_json(manifest(machine, prepared, description, run_id, asked, prices.id if prices else None))
    require_complete(bound)
    run.create()
    with RunLock.take(run):
        (watcher or Watcher()).phase(run_id, "binding")
        run.write_json(run.manifest, bound, sync=False)
        run.write_json(run.contract, resolved(prepared.contract), sync=False)
        with MonitoredTrace.create(run.events, machine.clock, machine.entropy) as trace:
            trace.redact = redactor.value if redactor else None
            control = Control(machine.home.decisions / run_id, trace)
            operated = OperatorWatcher(watcher or Watcher(), control)
            post = _watched(machine, prepared.contract, agent, run, trace, settings, control, operated, model)
            trace.append(
                "run.started",
                {
                    **TRACE.head(),
                    "run": run_id,
                    "contract": prepared.content_id,
                    "agent": description.name,
                    "wall_ns": str(machine.clock.wall_ns()),
                    "boot_id": boot_id(),
                },
            )
            trace.sync()
            with machine.scratch("run") as scratch, BackgroundCleanup() as later:
                varied = configuration.get("variation") or EMPTY
                acting = Acting(agent, description)
                with control:
                    _act_and_judge(
                        machine, prepared, acting, run, trace, scratch, operated, post, later, rehearse, varied
                    )
                trace.rest()
                report = _conclude(run, trace)
            _seal(run, trace)
    erase(machine.home.decisions / run_id)
    if rehearse and report.status in ("success", "failure"):
        keep_baseline(machine.home, prepared.content_id, run, prepared.contract)
    operated.phase(run_id, "done")
    return RunOutcome(run_id, run.path, report.status, report)


def _baseline(
    machine: Machine, prepared: PreparedBase, agent: Agent
) -> tuple[frozenset[tuple[str, str, str]], tuple[str, ...]]:
    """What does not count against ``agent``, and the runs that showed it; nothing, where nothing is seen of it."""
    if not agent.needs_sandbox:
        return frozenset(), ()
    return known_baseline(machine.home, prepared.content_id)


def _watched(
    machine: Machine,
    contract: Contract,
    agent: Agent,
    run: RunDirectory,
    trace: MonitoredTrace,
    settings: Settings,
    control: Control,
    watcher: Watcher,
    model: ModelPlan | None,
) -> AgentMonitor | None:
    """Let breakers see the trace, and an agent that gets a sandbox be watched in it."""

    def make() -> BreakerPanel:
        return BreakerPanel(settings)

    if not agent.needs_sandbox:
        if settings.breakers:  # those of packages may trip at any event, and an alert follows its event
            trace.watch(make(), lambda decision: None)
        else:
            trace.watch_later(make)
        return None
    interventions = Interventions(contract, trace, control, watcher.stopped, partial(watcher.asks, run.path.name))
    control.interventions = interventions
    trace.watch(make(), interventions, interventions.give_up)
    post = AgentMonitor(machine, contract, trace, interventions, run.write_blob)
    if model is not None:
        post.reach_model = partial(model_for, model, settings)
    return post


def _conclude(run: RunDirectory, trace: MonitoredTrace) -> Report:
    """The last events and the report."""
    if run.redactor is not None:
        trace.append("secrets.redacted", run.redactor.summary())
    trace.append("cost.projected", projection(trace.catch_up().facts.ledger))
    report = conclusion(run, lambda status: trace.append("run.finished", {"status": status}))
    trace.sync()
    write_whole(run.report, canonical(to_json(report)), sync=False)
    return report


def _seal(run: RunDirectory, trace: MonitoredTrace) -> None:
    write_seal(run, trace)


def _act_and_judge(
    machine: Machine,
    prepared: PreparedBase,
    acting: Acting,
    run: RunDirectory,
    trace: MonitoredTrace,
    scratch: Path,
    watcher: OperatorWatcher,
    post: AgentMonitor | None,
    later: BackgroundCleanup,
    rehearse: bool,
    varied: Mapping[str, Any],
) -> None:
    """Everything between the first event and the verdict; faults become events."""
    run_id = run.path.name
    phase = "binding"

    def enter(name: str) -> None:
        nonlocal phase
        watcher.enter(run_id, name)
        phase = name

    try:
        if not _bind(machine, prepared, trace):
            return
        briefing = brief(prepared.contract, varied)
        trace.append("briefing", {"text": briefing.text, "obligations": briefing.obligations})
        enter("agent")
        live = _forward(watcher, run_id)
        made = run_agent(machine, prepared, acting, briefing, run, trace, scratch, live, post)
        enter("judging")
        violations = _note_policy(machine, prepared, made.patch, run, trace, scratch)
        watch = check_watch(machine, prepared.contract, trace)
        bench = JudgeContext(
            prepared=prepared,
            backend=machine.backend(prepared.contract),
            scratch=scratch,
            trace=trace,
            run=run,
            clock=machine.clock,
            entropy=machine.entropy,
            slot=machine.slots.hold,
            watch=watch,
            later=later,
            pool=known_pool(machine.home, prepared.content_id),
            side_by_side=rounds_at_once(),
            **(_rehearsal(machine, prepared.contract, trace, made.patch, scratch) if rehearse else EMPTY),
        )
        accept(bench, made.patch, confirm=not violations)
    except (Interrupted, ProctorError, OSError) as error:
        if watcher.stopped():
            rationale = f"stopped {watcher.why_stopped()} at {utc_text(machine.clock.wall_ns())}"
            trace.append("run.terminated", {"code": STOPPED, "rationale": rationale, "evidence": watcher.evidence()})
        else:
            message = str(error) if isinstance(error, ProctorError) else f"{type(error).__name__}: {error}"
            trace.append("run.fault", {"message": message, "phase": phase})
    trace.sync()


def _rehearsal(
    machine: Machine, contract: Contract, trace: MonitoredTrace, patch: bytes, scratch: Path
) -> Mapping[str, Any]:
    """The additional context of a run that makes a baseline: a guard, and the address of a name server.

    Only root can watch a container; an ordinary user's validation has no guard. Nor has one in a sandbox of a package
    that cannot be watched.
    """
    if not machine.backend(contract).watched or (contract.environment.image and os.geteuid() != 0):
        return EMPTY
    return {"guard": rehearsal(contract, trace, patch), "mounts": name_mounts(scratch)}


def _bind(machine: Machine, prepared: PreparedBase, trace: MonitoredTrace) -> bool:
    """Compare what was promised with what is there, and record what setup did."""
    expected, observed = observed_identity(machine, prepared)
    match = expected == observed
    trace.append("run.identity", {"expected": expected, "observed": observed, "match": match})
    for step in prepared.setup_steps:
        trace.append("setup.step", {**step, "cached": prepared.setup_cached})
    return match


def _note_policy(
    machine: Machine, prepared: PreparedBase, patch: bytes, run: RunDirectory, trace: MonitoredTrace, scratch: Path
) -> int:
    """Record violations of the contract's rules by the patch; returns how many there are."""
    start = str(machine.clock.wall_ns())
    changes = run.read_json(run.changes)
    source = base_stack((prepared.source,))
    found = findings(prepared.contract, changes, known_stat(patch), lambda path: source.file(path) is not None)
    found += _dependencies(prepared, patch, changes, run, scratch)
    for finding in found:
        trace.append(
            "safety.finding",
            {
                "code": finding.code,
                "grade": finding.grade,
                "message": finding.message,
                "evidence": finding.evidence,
            },
        )
    for alert in trace.violations:
        trace.append(
            "safety.finding",
            {
                "code": alert.payload["code"],
                "grade": "violation",
                "message": alert.payload["message"],
                "evidence": f"events.jsonl#{alert.seq}",
            },
        )
    violations = sum(finding.grade == "violation" for finding in found) + len(trace.violations)
    trace.append("safety.checked", {"start": start, "end": str(machine.clock.wall_ns()), "violations": violations})
    return violations


def _dependencies(
    prepared: PreparedBase, patch: bytes, changes: Mapping[str, Any], run: RunDirectory, scratch: Path
) -> tuple[Finding, ...]:
    """What the policy says about new dependencies; nothing is loaded where it has nothing to say."""
    dependencies = prepared.contract.policy.dependencies
    if dependencies.new == "allow" and not dependencies.registries:
        return ()
    return find_dependencies(prepared, patch, changes, run, scratch)


def _forward(watcher: Watcher, run_id: str) -> Callable[[Sandbox | None], None]:
    return lambda sandbox: watcher.live(run_id, sandbox)


MOST_FILES = 2000
"""How many files of declarations of one tree are read."""

INSTALLED = frozenset({b"node_modules", b"site-packages", b"vendor", b".venv", b"venv", b".tox", b".git"})
"""Directories of what is installed: what dependencies depend on themselves, the project does not declare."""


def find_dependencies(
    prepared: PreparedBase, patch: bytes, changes: Mapping[str, Any], run: RunDirectory, scratch: Path
) -> tuple[Finding, ...]:
    """What the contract's policy has to say about the dependencies that a patch and its agent bring in."""
    stack = base_stack(prepared.layers)

    def base() -> Files:
        with stack.reading(FILE_BYTES) as read:
            found = {name_text(path): read(path) for path in sorted(_declarations(stack))[:MOST_FILES]}
        return {path: one[1] for path, one in found.items() if one}

    listed = {str(item["path"]) for item in changes["changes"] if item["after"] and declares(str(item["path"]))}
    changed: dict[str, bytes] = {}
    if listed:
        try:
            writes = apply_patch(patch, stack.file, scratch=scratch).writes
        except PatchProblem:
            writes = ()
        changed = {name_text(path): data for path, _, data in writes if path in {name_bytes(text) for text in listed}}
    installs = installs_in(read_finished_events(run.events)[0])
    return dependency_findings(prepared.contract.policy, changed, base, installs)


def _declarations(stack: Stack) -> Iterator[bytes]:
    """The paths of the files in a tree that declare dependencies and are small enough to be read."""
    for directory, shown in stack.walk():
        shown[:] = [found for found in shown if found.name not in INSTALLED]
        for found in shown:
            path = directory + b"/" + found.name if directory else found.name
            small = stat.S_ISREG(found.status.st_mode) and found.status.st_size <= FILE_BYTES
            if small and declares(name_text(path)):
                yield path
