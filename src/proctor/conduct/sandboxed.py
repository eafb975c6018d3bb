"""An agent's own sandbox: opened under watch, with the network that its contract allows, and turned into a patch.

When this is done every process of the agent's is dead, its sandbox is gone, and what it left in the workspace is a
patch. An intervention that closes the sandbox ends the agent; that is an ending like any other. If the sandbox is lost
while the agent acts, the agent counts as killed from outside: its patch is taken and recorded, and not judged.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from proctor.base.clock import seconds_text
from proctor.base.errors import InfrastructureFault
from proctor.base.files import write_whole
from proctor.base.names import name_text
from proctor.conduct.briefing import Briefing
from proctor.conduct.machine import Machine
from proctor.conduct.scene import Live, make_scene
from proctor.conduct.span import Span
from proctor.conduct.watch_post import WatchPost
from proctor.conduct.watched import WatchedTrace
from proctor.execute.agents.interface import BRIEFING, Agent, Ending, Run, Scene
from proctor.execute.network.service import NetworkService
from proctor.execute.network.told import Exchange, Lookup
from proctor.execute.prepare import Prepared, declared_mounts, limits_of, secret_directories
from proctor.execute.sandbox.bubblewrap.box import Box
from proctor.execute.sandbox.interface import (
    Command,
    CommandLost,
    Finished,
    Mount,
    Output,
    Sandbox,
    SandboxPlan,
    Sealed,
)
from proctor.execute.workspace.diff import Changes
from proctor.execute.workspace.inventory import whole_state
from proctor.execute.workspace.patch import make_patch
from proctor.execute.workspace.workspace import Workspace
from proctor.judge.dropped import Unwanted, drop_unwanted

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
    prepared: Prepared,
    agent: Agent,
    briefing: Briefing,
    trace: WatchedTrace,
    scratch: Path,
    live: Live,
    post: WatchPost,
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
        unwanted = Unwanted(prepared.contract, prepared)
        changes = workspace.changes(counts=unwanted.counts)
        post.close_chains(changes)
        kept, dropped = drop_unwanted(unwanted, changes)
        patch = make_patch(kept, workspace.read_base, workspace.read, scratch=scratch)
        written = (workspace.read(change.path) for change in kept.changes if change.after)
        post.read_patch(patch, (data for data in written if data and b"\0" in data))
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
    prepared: Prepared,
    agent: Agent,
    briefing: Briefing,
    trace: WatchedTrace,
    scratch: Path,
    live: Live,
    post: WatchPost,
    workspace: Workspace,
    span: Span,
) -> Ending:
    contract = prepared.contract
    note = scratch / "briefing.md"
    write_whole(note, briefing.text.encode(), sync=False)
    with (
        post.canaries_watched() as watch_canaries,
        post.desk(scratch / "stages") as desk,
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
                *desk,
            ),
            workspace_writable=not post.climbing.begins_closed,
            masked=secret_directories(contract),
            files=post.canaries.files,
            guard=post.guard(),
        )
        with machine.backend(contract).open(plan) as sandbox, _announced(live, sandbox):
            try:
                with post.over(sandbox, workspace):
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


def _ending(agent: Agent, scene: Scene, sandbox: Box, post: WatchPost, span: Span) -> Ending:
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


def _unless_killed(ending: Ending, sandbox: Sandbox, post: WatchPost) -> Ending:
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
def _network(prepared: Prepared, post: WatchPost, scratch: Path) -> Iterator[NetworkService]:
    """The network of the contract; how it came out is told at the end."""
    scratch.mkdir()
    contract = prepared.contract

    def tell(told: Exchange | Lookup) -> None:
        post.trace.append(told.event, told.payload())
        if isinstance(told, Lookup):
            post.note_canaries("canary-leak", told.name, "a name that was asked for")
        else:
            for canary in told.canaries:
                where = f"a request to {told.host}"
                post.note_canary("canary-leak", f"the canary {canary} in {where}", address=f"{told.host}:{told.port}")

    spot = post.canaries.names_in
    service = NetworkService(contract.policy.network, scratch, tell, directory=contract.directory, spot=spot)
    try:
        yield service
    finally:
        summary = service.close()
    recorded = summary.cassette is not None and summary.mode == "record"
    if recorded and post.trace.redact is not None:
        # bodies are packed and encoded as servers like it, so that no rule can say what is in them
        why = (*summary.why, "no cassette is kept where secrets are taken out")
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


def _logged(sandbox: Box, trace: WatchedTrace, post: WatchPost) -> Run:
    def run(command: Command, ends: tuple[int, int] | None = None) -> Finished:
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


def _invocation(command: Command, finished: Finished) -> dict[str, Any]:
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
