"""The agent's half of a run: briefing, acting under a ceiling, and taking the patch out of what was left behind.

When this is done every process of the agent's is dead and its sandbox is gone; the patch bytes are all that goes on.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from proctor.base.canonical import sha256
from proctor.base.clock import seconds_text
from proctor.base.errors import InfrastructureFault, UsageFault
from proctor.base.names import name_text
from proctor.conduct.briefing import Briefing
from proctor.conduct.machine import Machine
from proctor.conduct.sandboxed import act_in_sandbox
from proctor.conduct.scene import Live, make_scene
from proctor.conduct.span import Span
from proctor.conduct.watch_post import WatchPost
from proctor.conduct.watched import WatchedTrace
from proctor.execute.agents.interface import Agent, AgentDescription, Ending
from proctor.execute.prepare import Prepared
from proctor.execute.sandbox.interface import Command, Finished, Output
from proctor.execute.workspace.diff import Change, Changes
from proctor.execute.workspace.patch import (
    Application,
    FileStat,
    PatchProblem,
    apply_patch,
    make_patch,
    parse_stat,
)
from proctor.execute.workspace.tree import Entry, entry_with
from proctor.execute.workspace.workspace import base_stack
from proctor.record.rundir import RunDirectory
from proctor.record.trace.log import TraceWriter
from proctor.record.versions import CHANGES


@dataclass(frozen=True)
class Attempt:
    """What an agent left behind: its patch and what the patch changes."""

    patch: bytes
    changes: Changes
    ending: Ending


@dataclass(frozen=True)
class Acting:
    """An agent and the description in its manifest; the agent is not asked for its description again."""

    agent: Agent
    description: AgentDescription


def attempt(
    machine: Machine,
    prepared: Prepared,
    acting: Acting,
    briefing: Briefing,
    run: RunDirectory,
    trace: WatchedTrace,
    scratch: Path,
    live: Live,
    post: WatchPost | None,
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


def _refused(command: Command, ends: tuple[int, int] | None = None) -> Finished:
    raise TypeError(f"an agent without a sandbox cannot run {command.arguments[0]!r}")


def _changes_of(prepared: Prepared, patch: bytes, scratch: Path) -> tuple[Changes, bytes]:
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
    """How many lines a change adds and deletes; a file that only moved away has none of its own."""
    if stat is None:
        return {"added": 0, "deleted": 0, "binary": False}
    return {"added": stat.added_lines, "deleted": stat.deleted_lines, "binary": stat.binary}


def _side(entry: Entry | None) -> dict[str, Any] | None:
    return None if entry is None else {"sha256": entry.sha256, "bytes": entry.size, "mode": f"{entry.mode:o}"}
