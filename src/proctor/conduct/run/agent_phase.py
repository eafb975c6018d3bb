"""The agent's half of a run: the agent acts, and its changes become a patch.

An agent acts in a sandbox of its own, opened under watch, with the network that its contract allows; an agent that only
hands over a patch needs none. At the end, every process of the agent has ended and its sandbox is closed; only the
bytes of the patch are used further. An intervention that closes the sandbox is a normal end of the agent. If the
sandbox is lost while the agent acts, the agent counts as killed from outside: its patch is recorded, but not judged.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from proctor.base.canonical import sha256
from proctor.base.clock import seconds_text
from proctor.base.dataclass_fields import EMPTY
from proctor.base.errors import InfrastructureFault, UsageFault
from proctor.base.files import write_whole
from proctor.base.reversible_escapes import name_text
from proctor.conduct.briefing import Briefing
from proctor.conduct.machine_setup import Machine
from proctor.conduct.run.agent_context import Live, Span, make_scene
from proctor.conduct.run.agent_monitor import AgentMonitor
from proctor.conduct.run.trace_monitor import MonitoredTrace
from proctor.execute.agents.interface import BRIEFING, Agent, AgentContext, AgentDescription, Ending, Run
from proctor.execute.network.network_events import Exchange, Lookup
from proctor.execute.network.network_service import NetworkService
from proctor.execute.prepare import PreparedBase, declared_mounts, limits_of, secret_directories
from proctor.execute.sandbox.interface import (
    Command,
    CommandLost,
    CommandResult,
    Mount,
    Output,
    Sandbox,
    SandboxPlan,
    Sealed,
)
from proctor.execute.workspace.diff import Change, Changes
from proctor.execute.workspace.file_tree import Entry, entry_with
from proctor.execute.workspace.layer_store import whole_state
from proctor.execute.workspace.patch import (
    Application,
    FileStat,
    PatchProblem,
    apply_patch,
    make_patch,
    parse_stat,
)
from proctor.execute.workspace.workspace import Workspace, base_stack
from proctor.judge.patch_policy.excluded_paths import ExcludedPaths, exclude_paths
from proctor.record.run_directory import RunDirectory
from proctor.record.schema_versions import CHANGES
from proctor.record.trace.writer import TraceWriter


@dataclass(frozen=True)
class Attempt:
    """The result of an agent: its patch and what the patch changes."""

    patch: bytes
    changes: Changes
    ending: Ending


@dataclass(frozen=True)
class Acting:
    """An agent and the description in its manifest; the agent is not asked for its description again."""

    agent: Agent
    description: AgentDescription


def run_agent(
    machine: Machine,
    prepared: PreparedBase,
    acting: Acting,
    briefing: Briefing,
    run: RunDirectory,
    trace: MonitoredTrace,
    scratch: Path,
    live: Live,
    post: AgentMonitor | None,
) -> Attempt:
    """Let an agent act once and record its patch in the run directory.

    An agent killed from outside counts as a fault of the machine: its patch is recorded but not judged.
    """
    span = Span(machine.clock, trace, acting.description)
    agent = acting.agent
    if post is not None:
        made = act_in_sandbox(machine, prepared, agent, briefing, trace, scratch, live, post, span)
        ending, patch, changes, dropped = made.ending, made.patch, made.changes, made.dropped
        measured = patch
    else:
        environment = {**prepared.environment, **briefing.variables}
        with span:
            ending = agent.act(make_scene(prepared, briefing, environment, _refused))
        patch = ending.patch or b""
        changes, measured = _changes_of(prepared, patch, scratch)
        dropped = ()
        for change in changes.changes:
            trace.append("workspace.mutation", _change(change))
    trace.append(
        "agent.finished",
        {
            "reason": ending.reason,
            "exit_code": ending.exit_code,
            "wall_seconds": seconds_text(span.wall_ns),
        },
    )
    if ending.trajectory is not None:
        _keep_trajectory(run, trace, ending.trajectory)
    if ending.reason == "not-started":
        raise UsageFault(f"the agent could not be started: {ending.problem}", hint="check --agent and --agent-files")
    _record(run, trace, patch, changes, dropped, parse_stat(measured))
    if ending.reason == "killed":
        raise InfrastructureFault(ending.problem)
    return Attempt(patch, changes, ending)


def _keep_trajectory(run: RunDirectory, trace: TraceWriter, notes: Output) -> None:
    """Keep what the agent noted itself, as it is."""
    trace.append(
        "agent.trajectory",
        {
            "sha256": notes.sha256,
            "bytes": notes.total_bytes,
            "kept_bytes": len(notes.prefix),
            "blob": run.write_blob(notes.prefix, cut=notes.total_bytes > len(notes.prefix)),
        },
    )


def _refused(command: Command, ends: tuple[int, int] | None = None) -> CommandResult:
    raise TypeError(f"an agent without a sandbox cannot run {command.arguments[0]!r}")


def _changes_of(prepared: PreparedBase, patch: bytes, scratch: Path) -> tuple[Changes, bytes]:
    """What a handed-over patch changes, and the patch as Proctor itself would have made it, whose lines can be counted.

    Nothing when it does not apply, which the judge then says.
    """
    if not patch:
        return Changes(), b""
    base = base_stack(prepared.layers)
    try:
        application: Application = apply_patch(patch, base.file, scratch=scratch)
    except PatchProblem:
        return Changes(), b""
    changes = []
    after = {path: entry_with(path, mode, data) for path, mode, data in application.writes}
    for path in sorted({*after, *application.removals}):
        found = base.file(path)
        before = entry_with(path, *found) if found else None
        new = after.get(path)
        if before != new:
            kind = "added" if before is None else "modified" if new else "deleted"
            changes.append(Change(path, kind, before, new))
    listed, written = Changes(tuple(changes)), {path: data for path, _, data in application.writes}
    return listed, make_patch(listed, base.read, written.get, scratch=scratch)


def _record(
    run: RunDirectory,
    trace: TraceWriter,
    patch: bytes,
    changes: Changes,
    dropped: tuple[Mapping[str, str], ...],
    stats: Iterable[FileStat],
) -> None:
    """Write the patch and the list of changes, each with its size."""
    shown = run.write_bytes(run.patch, patch)
    sizes = {stat.path: stat for stat in stats}
    listed = [{**_change(change), "lines": _lines(sizes.get(change.path))} for change in changes.changes]
    run.write_json(run.changes, {**CHANGES.head(), "changes": listed, "dropped": list(dropped)}, sync=False)
    trace.append(
        "patch.extracted",
        {"sha256": sha256(shown), "bytes": len(shown), "files": len(listed), "dropped": list(dropped)},
    )
    trace.sync()


def _change(change: Change) -> dict[str, Any]:
    """A change as records hold it."""
    return {
        "path": name_text(change.path),
        "change": change.change,
        "before": _side(change.before),
        "after": _side(change.after),
    }


def _lines(stat: FileStat | None) -> dict[str, Any]:
    """How many lines a change adds and deletes; a file that was only moved has none."""
    if stat is None:
        return {"added": 0, "deleted": 0, "binary": False}
    return {"added": stat.added_lines, "deleted": stat.deleted_lines, "binary": stat.binary}


def _side(entry: Entry | None) -> dict[str, Any] | None:
    return None if entry is None else {"sha256": entry.sha256, "bytes": entry.size, "mode": f"{entry.mode:o}"}


PREFIX_BYTES = 16 << 10


@dataclass(frozen=True)
class Made:
    """What an agent made in its sandbox: how it ended, its patch, what that changes, and what was left out of it."""

    ending: Ending
    patch: bytes
    changes: Changes
    dropped: tuple[Mapping[str, str], ...]


def act_in_sandbox(
    machine: Machine,
    prepared: PreparedBase,
    agent: Agent,
    briefing: Briefing,
    trace: MonitoredTrace,
    scratch: Path,
    live: Live,
    post: AgentMonitor,
    span: Span,
) -> Made:
    """Let ``agent`` act in a sandbox of its own, for the time of ``span``, and take out what it made."""
    overlays = machine.backend(prepared.contract).overlays()
    workspace = Workspace.create(prepared.layers, scratch / "agent", overlays=overlays)
    try:
        try:
            with _unchanged(agent.mounts()):
                ending = _acted(machine, prepared, agent, briefing, trace, scratch, live, post, workspace, span)
        finally:
            trace.rest()
        unwanted = ExcludedPaths(prepared.contract, prepared)
        changes = workspace.changes(counts=unwanted.counts)
        post.close_chains(changes)
        kept, dropped = exclude_paths(unwanted, changes)
        patch = make_patch(kept, workspace.read_base, workspace.read, scratch=scratch)
        written = (workspace.read(change.path) for change in kept.changes if change.after)
        post.scan_patch(patch, (data for data in written if data and b"\0" in data))
        _note_termination(trace, ending, prepared.contract.budget.wall_seconds)
        return Made(ending, patch, kept, dropped)
    finally:
        workspace.discard()


@contextmanager
def _unchanged(mounts: tuple[Mount, ...]) -> Iterator[None]:
    """Make sure that what an agent brings along is what was verified, and stays so for the time of a ``with`` block."""
    sealed = [mount.sealed or Sealed(mount.source, whole_state(mount.source)) for mount in mounts]
    _compare(sealed, "before")
    yield
    _compare(sealed, "while")


def _compare(sealed: Iterable[Sealed], when: str) -> None:
    for one in sealed:
        if whole_state(one.path) != one.state:
            raise InfrastructureFault(
                f"the agent's files were changed {when} it acted", where=str(one.path), hint="start the run again"
            )


def _acted(
    machine: Machine,
    prepared: PreparedBase,
    agent: Agent,
    briefing: Briefing,
    trace: MonitoredTrace,
    scratch: Path,
    live: Live,
    post: AgentMonitor,
    workspace: Workspace,
    span: Span,
) -> Ending:
    contract = prepared.contract
    backend = machine.backend(contract)
    note = scratch / "briefing.md"
    write_whole(note, briefing.text.encode(), sync=False)
    with (
        post.canaries_watched() as watch_canaries,
        post.server(scratch / "stages") as server,
        _network(prepared, post, scratch / "network") as network,
        post.reach_model(post) as open_model,
    ):
        plan = SandboxPlan(
            workspace=workspace.view(),
            limits=limits_of(contract.budget),
            mounts=(
                Mount(note, BRIEFING),
                *agent.mounts(),
                *declared_mounts(contract),
                *network.mounts,
                *server,
            ),
            workspace_writable=not post.stages.begins_closed,
            masked=secret_directories(contract),
            files=post.canaries.files,
            guard=post.guard() if backend.watched else None,
        )
        with backend.open(plan) as sandbox, _announced(live, sandbox):
            try:
                with post.over(sandbox, workspace):
                    access: Mapping[str, str] = EMPTY
                    if backend.watched:
                        watch_canaries(sandbox)
                        access = network.start(sandbox).environment
                    environment = {**post.canaries.variables, **prepared.environment, **briefing.variables, **access}
                    run = _logged(sandbox, trace, post)
                    model = open_model(sandbox)
                    scene = make_scene(
                        prepared, briefing, environment, run, model, sandbox.run, trace.append, sandbox.active_ns
                    )
                    return _ending(agent, scene, sandbox, post, span)
            except InfrastructureFault as fault:
                if not span.begun:
                    raise
                # The agent's changes are in layers on the host, whatever has become of its sandbox.
                return Ending("killed", problem=str(fault))


def _ending(agent: Agent, scene: AgentContext, sandbox: Sandbox, post: AgentMonitor, span: Span) -> Ending:
    """Let ``agent`` act for the time of ``span``."""
    try:
        with span:
            ending = agent.act(scene)
    except InfrastructureFault:
        if not post.interventions.closed:
            raise
        return Ending("terminated")
    if post.interventions.closed:
        return Ending("terminated", ending.exit_code)
    return _unless_killed(ending, sandbox, post)


def _unless_killed(ending: Ending, sandbox: Sandbox, post: AgentMonitor) -> Ending:
    """``ending``, or an ending with the reason ``killed`` if the agent was killed from outside."""
    if ending.reason not in ("finished", "failed") or post.interventions.killed_calls:
        return ending
    used = sandbox.usage()
    number = post.deaths.from_outside(ending.exit_code, used)
    if not number:
        return ending
    why = "the machine had no memory left" if used.machine_oom_kills else "from outside the sandbox"
    return replace(ending, reason="killed", problem=f"the agent was killed by signal {number}: {why}")


@contextmanager
def _network(prepared: PreparedBase, post: AgentMonitor, scratch: Path) -> Iterator[NetworkService]:
    """The network of the contract; its summary is recorded at the end."""
    scratch.mkdir()
    contract = prepared.contract

    def notify(event: Exchange | Lookup) -> None:
        post.trace.append(event.event, event.payload())
        if isinstance(event, Lookup):
            post.note_canaries("canary-leak", event.name, "a name that was asked for")
        else:
            for canary in event.canaries:
                where = f"a request to {event.host}"
                post.note_canary("canary-leak", f"the canary {canary} in {where}", address=f"{event.host}:{event.port}")

    spot = post.canaries.names_in
    service = NetworkService(contract.policy.network, scratch, notify, directory=contract.directory, spot=spot)
    try:
        yield service
    finally:
        summary = service.close()
    recorded = summary.cassette is not None and summary.mode == "record"
    if recorded and post.trace.redact is not None:
        # bodies are packed and encoded as servers like it, so that no rule can say what is in them
        why = (*summary.why, "no cassette is stored if secrets are redacted")
        summary, recorded = replace(summary, replayable=False, why=why, sha256=""), False
    kept = post.keep(summary.cassette.read_bytes()) if recorded and summary.cassette else ""
    post.trace.append("network.closed", {**summary.payload(), "blob": kept})


@contextmanager
def _announced(live: Live, sandbox: Sandbox) -> Iterator[None]:
    live(sandbox)
    try:
        yield
    finally:
        live(None)


def _note_termination(trace: MonitoredTrace, ending: Ending, wall_seconds: int) -> None:
    """Record why an agent was ended before its time, with a pointer to what shows it."""
    if trace.ended is not None:
        trip = trace.ended.trip
        code, rationale, evidence = trip.code, trip.rationale, trace.ended.alert
    elif ending.reason == "timed-out":
        code, evidence = "wall-ceiling", trace.count - 1
        rationale = f"the agent used its {wall_seconds} s of wall-clock time"
    else:
        return
    trace.append("run.terminated", {"code": code, "rationale": rationale, "evidence": f"events.jsonl#{evidence}"})
    trace.sync()


def _logged(sandbox: Sandbox, trace: MonitoredTrace, post: AgentMonitor) -> Run:
    def run(command: Command, ends: tuple[int, int] | None = None) -> CommandResult:
        post.wrappers.update(command.wrappers)
        try:
            finished = sandbox.run(command, ends)
        except CommandLost as lost:
            trace.append("tool.invocation", _invocation(command, lost.finished))
            raise
        try:
            post.settle(sandbox)
            post.look()
        finally:  # a breaker may have closed the sandbox as the command ended
            trace.append("tool.invocation", _invocation(command, finished))
            trace.sync()
        return finished

    return run


def _invocation(command: Command, finished: CommandResult) -> dict[str, Any]:
    """The payload that records one command."""
    return {
        "purpose": "agent",
        "command": list(command.arguments),
        "directory": command.directory,
        "exit_code": finished.exit_code,
        "started": finished.started,
        "timed_out": finished.timed_out,
        "wall_seconds": seconds_text(finished.wall_ns),
        "cpu_seconds": seconds_text(finished.cpu_ns),
        "stdout": _stream(finished.stdout),
        "stderr": _stream(finished.stderr),
    }


def _stream(output: Output) -> dict[str, Any]:
    return {
        "sha256": output.sha256,
        "bytes": output.total_bytes,
        "prefix": name_text(output.prefix[:PREFIX_BYTES]),
    }
