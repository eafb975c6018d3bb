"""Every type of event, who acts in it, and which keys its payload must have.

The writer refuses a type that is not listed and a payload that lacks a key; more keys are allowed. Readers keep
events of types that they do not know, because a later version may have written them. Durations are decimal strings of
seconds, times are decimal strings of nanoseconds, and a stream is ``{sha256, bytes, prefix}``.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from proctor.record.trace.event import ACTORS


class BadEvent(ValueError):
    """An event that the table does not allow; always a mistake of the caller."""


@dataclass(frozen=True)
class EventType:
    """One type: its usual actor, the payload keys that it requires, and its description."""

    name: str
    actor: str
    fields: tuple[str, ...]
    description: str


_TABLE = (
    EventType("run.started", "harness", ("run", "contract", "agent", "wall_ns", "boot_id"), "A run begins."),
    EventType(
        "run.identity",
        "harness",
        ("expected", "observed", "match"),
        "The workspace that was found, compared with the one in the manifest.",
    ),
    EventType(
        "setup.step",
        "harness",
        ("index", "command", "cached", "exit_code", "wall_seconds"),
        "A step of the contract's setup, run now or taken from a layer made before.",
    ),
    EventType("briefing", "harness", ("text", "obligations"), "The text that the agent was given."),
    EventType("agent.started", "harness", ("name", "kind", "command"), "The agent begins to act."),
    EventType("agent.rested", "harness", ("wall_seconds",), "The agent has ended; its patch is taken next."),
    EventType("agent.finished", "harness", ("reason", "exit_code", "wall_seconds"), "The agent has stopped acting."),
    EventType(
        "agent.permission",
        "harness",
        ("title", "kind", "command", "paths", "allowed", "reason"),
        "The agent asked for a permission, and the answer of the policy.",
    ),
    EventType(
        "agent.trajectory",
        "harness",
        ("sha256", "bytes", "kept_bytes", "blob"),
        "The agent's own records, or a message to or from it. Stored as it is; no decision relies on it.",
    ),
    EventType(
        "tool.invocation",
        "agent",
        (
            "purpose",
            "command",
            "directory",
            "exit_code",
            "started",
            "timed_out",
            "wall_seconds",
            "cpu_seconds",
            "stdout",
            "stderr",
        ),
        "A command that was run in the sandbox, as the harness saw it.",
    ),
    EventType(
        "workspace.mutation",
        "agent",
        ("path", "change", "before", "after"),
        "A file of the workspace that was added, modified or deleted.",
    ),
    EventType(
        "patch.extracted",
        "harness",
        ("sha256", "bytes", "files", "dropped"),
        "The patch that was taken from the workspace, and what was left out of it.",
    ),
    EventType(
        "patch.applied",
        "harness",
        ("outcome", "problem", "start", "end", "command", "exit_status", "log"),
        "Check 0: the patch on a pristine tree.",
    ),
    EventType(
        "check.inverted",
        "harness",
        ("check", "round", "command", "exit_code", "start", "end", "verdict", "variants", "failed_controls", "log"),
        "One run of a check with altered tests, after the check had passed.",
    ),
    EventType("check.blocked", "harness", ("check", "reason"), "A check that could not be reached."),
    EventType(
        "check.finished",
        "harness",
        (
            "check",
            "gate",
            "attempt",
            "tree",
            "command",
            "exit_code",
            "start",
            "end",
            "outcome",
            "reason",
            "stdout",
            "stderr",
            "failing",
            "diagnostics",
            "ceiling_seconds",
            "observed_seconds",
        ),
        "One attempt of a check, on the patched tree or on the base.",
    ),
    EventType(
        "check.decided",
        "harness",
        ("check", "outcome", "rule", "attempts", "attribution"),
        "The outcome of a check, from its attempts by the contract's rule.",
    ),
    EventType(
        "safety.finding",
        "monitor",
        ("code", "grade", "message", "evidence"),
        "An observation about the policy, with its grade.",
    ),
    EventType("safety.checked", "monitor", ("start", "end", "violations"), "The run was compared with the policy."),
    EventType("run.terminated", "harness", ("code", "rationale", "evidence"), "The run was ended early."),
    EventType("run.fault", "harness", ("message", "phase"), "The harness or the machine failed."),
    EventType(
        "secrets.redacted",
        "harness",
        ("rules", "kinds", "secrets", "unkept"),
        "How many different secrets of each kind were replaced in what is recorded, and by which rules.",
    ),
    EventType("run.finished", "harness", ("status",), "The run has ended and its status is final."),
)

_WATCHED = (
    EventType(
        "guard.exec",
        "agent",
        ("pid", "parent", "path", "argv", "cwd", "allowed"),
        "A program that was about to start, as its process claimed it; `origin` is the one that it comes from.",
    ),
    EventType("guard.exit", "agent", ("pid", "exit_code", "wall_seconds"), "The end of a program that had started."),
    EventType(
        "guard.attempt",
        "agent",
        ("code", "syscall", "pid", "argv", "detail", "path", "address", "allowed", "errno", "count"),
        "An attempt at something that the policy covers, successful or not.",
    ),
    EventType(
        "guard.signal",
        "agent",
        ("pid", "syscall", "target", "signal", "count"),
        "A process sent a fatal signal, or arranged for one; a target of 0 may be any process.",
    ),
    EventType("guard.read", "agent", ("pid", "path", "count"), "A file that was opened for reading."),
    EventType("guard.held", "monitor", ("pid", "syscall", "path", "count"), "A write that was delayed."),
    EventType("guard.more", "monitor", ("code", "count"), "A count of attempts that were too many for one event each."),
    EventType(
        "guard.lost",
        "monitor",
        ("count",),
        "Records of the guard that were lost because they could not be read in time.",
    ),
    EventType(
        "monitor.sample",
        "monitor",
        (
            "wall_seconds",
            "cpu_seconds",
            "memory_bytes",
            "disk_bytes",
            "inodes",
            "processes",
            "oom_kills",
            "phase",
        ),
        "What the sandbox used at one moment.",
    ),
    EventType(
        "monitor.alert",
        "monitor",
        ("code", "grade", "signals", "stage", "message", "evidence"),
        "An alert of a breaker or a monitor, with its measurement.",
    ),
    EventType("intervention", "monitor", ("action", "alert", "detail"), "What was done about an alert."),
    EventType("sandbox.paused", "harness", ("reason",), "The sandbox was frozen from outside; the agent's time stops."),
    EventType("sandbox.resumed", "harness", ("seconds",), "The sandbox was thawed again, after so many seconds."),
    EventType("stage.changed", "harness", ("from", "to", "reason"), "The run moved to another stage."),
    EventType(
        "stage.refused",
        "harness",
        ("asked", "stage", "reason", "count"),
        "The agent asked for a stage that it did not get.",
    ),
    EventType(
        "workspace.checkpoint",
        "harness",
        ("id", "entries_digest", "files", "bytes", "reason", "dropped", "problem"),
        "A saved state of the workspace, the older ones that were removed for it, or why it could not be saved.",
    ),
    EventType(
        "workspace.restored",
        "harness",
        ("checkpoint", "alert", "names", "ended", "problem"),
        "The workspace went back to a checkpoint, or why it did not; the mutations that follow show the changes.",
    ),
    EventType(
        "operator.asked",
        "harness",
        ("code", "question", "deadline_seconds", "alert"),
        "The run waits until an operator decides.",
    ),
    EventType("operator.decided", "operator", ("decision", "why", "code", "by"), "What was decided, and why."),
    EventType(
        "operator.acted",
        "operator",
        ("action", "why", "code", "by", "request", "done", "problem"),
        "An operator stopped, paused or resumed the run, or could not.",
    ),
    EventType(
        "model.usage",
        "monitor",
        ("model", "input_tokens", "output_tokens", "usd"),
        "What one call of a language model used, as the provider counted it.",
    ),
    EventType(
        "cost.projected",
        "monitor",
        ("method", "usd", "units", "observed_usd", "phase", "phases", "items"),
        "What the run has cost up to now, by the price table or schedule that it names.",
    ),
    EventType(
        "network.exchange",
        "agent",
        ("host", "port", "method", "path", "status", "request", "response", "replayed", "allowed", "reason"),
        "A request that left the sandbox through the proxy, or was refused there.",
    ),
    EventType(
        "network.closed",
        "harness",
        ("mode", "passed", "refused", "lookups", "replayable", "why", "cassette"),
        "A summary of the run's network use, and whether the run can be replayed from its recording.",
    ),
    EventType("words.hit", "monitor", ("rule", "format", "where", "text", "grade"), "A text rule matched."),
)

_CONVERSED = (
    EventType(
        "model.request",
        "agent",
        ("call", "dialect", "model", "path", "stream", "original", "forwarded", "changes", "reserved", "retry_of"),
        "A call of a language model, as the agent made it and as it was forwarded.",
    ),
    EventType(
        "model.message",
        "agent",
        ("call", "index", "role", "content", "tool_calls", "lineage", "parent"),
        "A message of a conversation, recorded once: the model's input, or its answer.",
    ),
    EventType(
        "model.response",
        "monitor",
        ("call", "status", "finish", "body", "tool_calls", "whole", "refusal", "first_byte_seconds", "wall_seconds"),
        "What a model answered, with the bytes as they came.",
    ),
    EventType(
        "model.error",
        "monitor",
        ("call", "class", "status", "detail", "infrastructure"),
        "A call that failed, and the cause: provider, agent or harness.",
    ),
    EventType(
        "model.refused",
        "monitor",
        ("call", "dialect", "path", "code", "detail", "status"),
        "A request to the gateway that was not forwarded.",
    ),
    EventType(
        "model.silent",
        "monitor",
        ("calls", "grace_seconds"),
        "The provider sends nothing to running calls; the agent's time stops.",
    ),
    EventType("model.heard", "monitor", ("seconds",), "The provider's silence ended, after so many seconds."),
    EventType(
        "model.unavailable",
        "monitor",
        ("seconds", "most_seconds"),
        "The provider was silent for longer than a run waits; the agent is ended.",
    ),
    EventType(
        "model.diverged",
        "monitor",
        ("call", "pointer", "expected", "got", "nearest"),
        "A request that is not on the cassette, with the first text that differs.",
    ),
    EventType(
        "model.reordered",
        "monitor",
        ("call", "parts"),
        "A request that is on the cassette except for the order of lists, with the parts and the count of moved lines.",
    ),
    EventType(
        "model.closed",
        "harness",
        ("calls", "refused", "errors", "unplayed", "replayable", "why", "diverged", "outage", "cassette", "blob"),
        "A summary of the model gateway, and where its recorded calls are stored.",
    ),
    EventType(
        "tool.call",
        "agent",
        ("call", "index", "id", "name", "arguments"),
        "A tool call that a model requested, extracted from its answer.",
    ),
    EventType(
        "tool.result",
        "agent",
        ("call", "index", "id", "name", "content", "failed"),
        "The result of a tool call, extracted from the agent's next request.",
    ),
)

EVENT_TYPES: dict[str, EventType] = {kind.name: kind for kind in (*_TABLE, *_WATCHED, *_CONVERSED)}


def check_event(name: str, payload: Mapping[str, object], actor: str | None) -> str:
    """The actor of an event about to be written; :class:`BadEvent` when the table does not allow the event."""
    kind = EVENT_TYPES.get(name)
    if kind is None:
        raise BadEvent(f"unknown event type: {name!r}")
    for key in kind.fields:
        if key not in payload:
            raise BadEvent(f"{name} needs {key!r} in its payload")
    if actor is None:
        return kind.actor
    if actor not in ACTORS:
        raise BadEvent(f"unknown actor: {actor!r}")
    return actor
