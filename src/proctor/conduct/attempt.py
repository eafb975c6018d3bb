"""The agent's half of a run: briefing, acting under a ceiling, and taking the patch out of what was left behind.

When this is done every process of the agent's is dead and its sandbox is gone; the patch bytes are all that goes on.
"""

from __future__ import annotations

import hashlib
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from proctor.base.canonical import sha256
from proctor.base.clock import seconds_text
from proctor.base.errors import InfrastructureFault, UsageFault
from proctor.base.files import write_whole
from proctor.base.frozen import frozen
from proctor.base.names import name_text
from proctor.conduct.briefing import Briefing
from proctor.conduct.machine import Machine
from proctor.conduct.watch_post import WatchPost
from proctor.conduct.watched import WatchedTrace
from proctor.execute.agents.interface import BRIEFING, Agent, Ending, Scene
from proctor.execute.prepare import Prepared, declared_mounts, limits_of
from proctor.execute.sandbox.interface import Command, Finished, Mount, Output, Sandbox, SandboxPlan
from proctor.execute.workspace.diff import Change, Changes
from proctor.execute.workspace.patch import Application, PatchProblem, apply_patch, make_patch
from proctor.execute.workspace.tree import Entry
from proctor.execute.workspace.workspace import Workspace, base_stack
from proctor.judge.dropped import drop_unwanted
from proctor.record.rundir import RunDirectory
from proctor.record.trace.log import TraceWriter

Live = Callable[[Sandbox | None], None]
"""Told of the sandbox in which an agent acts, so that an interrupt can end it; ``None`` when it is gone."""


@frozen
class Attempt:
    """What an agent left behind: its patch and what the patch changes."""

    patch: bytes
    changes: Changes
    ending: Ending


def attempt(
    machine: Machine,
    prepared: Prepared,
    agent: Agent,
    briefing: Briefing,
    run: RunDirectory,
    trace: WatchedTrace,
    scratch: Path,
    live: Live,
    post: WatchPost,
) -> Attempt:
    """Let ``agent`` act once and record its patch in the run directory."""
    start = machine.clock.steady_ns()
    description = agent.describe()
    trace.append(
        "agent.started",
        {"name": description.name, "kind": description.kind, "command": list(description.command)},
    )
    if agent.needs_sandbox:
        ending, patch, changes, dropped = _in_sandbox(machine, prepared, agent, briefing, trace, scratch, live, post)
    else:
        scene = _scene(prepared, briefing, _refused, time.monotonic() + prepared.contract.budget.wall_seconds)
        ending = agent.act(scene)
        patch = ending.patch or b""
        changes, dropped = _changes_of(prepared, patch), ()
    trace.append(
        "agent.finished",
        {
            "reason": ending.reason,
            "exit_code": ending.exit_code,
            "wall_seconds": seconds_text(machine.clock.steady_ns() - start),
        },
    )
    if ending.reason == "not-started":
        raise UsageFault(f"the agent could not be started: {ending.problem}", hint="check --agent and --agent-files")
    _record(run, trace, patch, changes, dropped)
    return Attempt(patch, changes, ending)


def _in_sandbox(
    machine: Machine,
    prepared: Prepared,
    agent: Agent,
    briefing: Briefing,
    trace: WatchedTrace,
    scratch: Path,
    live: Live,
    post: WatchPost,
) -> tuple[Ending, bytes, Changes, tuple[Mapping[str, str], ...]]:
    contract = prepared.contract
    note = scratch / "briefing.md"
    write_whole(note, briefing.text.encode(), sync=False)
    workspace = Workspace.create(prepared.layers, scratch / "agent", overlays=machine.backend.overlays())
    try:
        plan = SandboxPlan(
            workspace=workspace.view(),
            limits=limits_of(contract.budget),
            mounts=(Mount(note, BRIEFING), *agent.mounts(), *declared_mounts(contract)),
            guard=post.guard(),
        )
        with machine.backend.open(plan) as sandbox, _announced(live, sandbox), post.over(sandbox, workspace):
            deadline = time.monotonic() + contract.budget.wall_seconds
            scene = _scene(prepared, briefing, _logged(sandbox, trace), deadline)
            ending = _acted(agent, scene, post)
        trace.rest()
        _note_termination(trace, ending, contract.budget.wall_seconds)
        kept, dropped = drop_unwanted(contract, prepared, workspace.changes())
        read_base = base_stack(prepared.layers).file
        patch = make_patch(kept, lambda path: _data(read_base(path)), lambda path: workspace.read(path) or b"")
        post.read_patch(patch)
        return ending, patch, kept, dropped
    finally:
        workspace.discard()


@contextmanager
def _announced(live: Live, sandbox: Sandbox) -> Iterator[None]:
    live(sandbox)
    try:
        yield
    finally:
        live(None)


def _acted(agent: Agent, scene: Scene, post: WatchPost) -> Ending:
    """Let the agent act; an intervention that closes its sandbox ends it."""
    try:
        ending = agent.act(scene)
    except InfrastructureFault:
        if not post.interventions.closed:
            raise
        return Ending("terminated")
    return Ending("terminated", ending.exit_code) if post.interventions.closed else ending


def _note_termination(trace: WatchedTrace, ending: Ending, wall_seconds: int) -> None:
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


def _scene(prepared: Prepared, briefing: Briefing, run: Callable[[Command], Finished], deadline: float) -> Scene:
    return Scene(
        contract=prepared.contract,
        briefing=briefing.text,
        environment=prepared.environment,
        run=run,
        seconds_left=lambda: deadline - time.monotonic(),
    )


def _refused(command: Command) -> Finished:
    raise TypeError(f"an agent without a sandbox cannot run {command.arguments[0]!r}")


def _logged(sandbox: Sandbox, trace: TraceWriter) -> Callable[[Command], Finished]:
    def run(command: Command) -> Finished:
        finished = sandbox.run(command)
        trace.append("tool.invocation", invocation(command, finished, "agent"))
        trace.sync()
        return finished

    return run


def invocation(command: Command, finished: Finished, purpose: str) -> dict[str, Any]:
    """The payload that records one command."""
    return {
        "purpose": purpose,
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


PREFIX_BYTES = 16 << 10


def _stream(output: Output) -> dict[str, Any]:
    return {
        "sha256": output.sha256,
        "bytes": output.total_bytes,
        "prefix": name_text(output.prefix[:PREFIX_BYTES]),
    }


def _changes_of(prepared: Prepared, patch: bytes) -> Changes:
    """What a handed-over patch changes; nothing when it does not apply, which the judge then says."""
    if not patch:
        return Changes(())
    read_base = base_stack(prepared.layers).file
    try:
        application: Application = apply_patch(patch, read_base)
    except PatchProblem:
        return Changes(())
    changes = []
    after = {path: _entry(path, mode, data) for path, mode, data in application.writes}
    for path in sorted({*after, *application.removals}):
        found = read_base(path)
        before = _entry(path, *found) if found else None
        new = after.get(path)
        if before != new:
            kind = "added" if before is None else "modified" if new else "deleted"
            changes.append(Change(path, kind, before, new))
    return Changes(tuple(changes))


def _entry(path: bytes, mode: int, data: bytes) -> Entry:
    return Entry(path, mode, len(data), hashlib.sha256(data).hexdigest())


def _record(
    run: RunDirectory,
    trace: TraceWriter,
    patch: bytes,
    changes: Changes,
    dropped: tuple[Mapping[str, str], ...],
) -> None:
    """Write the patch, the list of changes, and one event for each."""
    write_whole(run.patch, patch, sync=False)
    listed = [
        {
            "path": name_text(change.path),
            "change": change.change,
            "before": _side(change.before),
            "after": _side(change.after),
        }
        for change in changes.changes
    ]
    run.write_json(
        run.changes, {"schema": 1, "kind": "proctor.changes", "changes": listed, "dropped": list(dropped)}, sync=False
    )
    for item in listed:
        trace.append("workspace.mutation", item)
    trace.append(
        "patch.extracted",
        {"sha256": sha256(patch), "bytes": len(patch), "files": len(listed), "dropped": list(dropped)},
    )
    trace.sync()


def _side(entry: Entry | None) -> dict[str, Any] | None:
    return None if entry is None else {"sha256": entry.sha256, "bytes": entry.size, "mode": f"{entry.mode:o}"}


def _data(found: tuple[int, bytes] | None) -> bytes:
    return found[1] if found else b""
