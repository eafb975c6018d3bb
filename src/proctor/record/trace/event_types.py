"""Every type of event, who acts in it, and which keys its payload must have.

The writer refuses a type that is not listed and a payload that lacks a key; more keys are allowed. Readers keep
events of types that they do not know, because a later version may have written them. Durations are decimal strings of
seconds, times are decimal strings of nanoseconds, and a stream is ``{sha256, bytes, prefix}``.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Annotated, Any, NotRequired, TypedDict

from proctor.base.json_records import DIALECT, schema_of
from proctor.record.schema_versions import TRACE
from proctor.record.trace.event import ACTORS
from proctor.record.trace.event_payloads import (
    AgentFinished,
    AgentPermission,
    AgentRested,
    AgentStarted,
    AgentTrajectory,
    Briefing,
    CheckBlocked,
    CheckDecided,
    CheckFinished,
    CheckInverted,
    CostProjected,
    GuardAttempt,
    GuardExec,
    GuardExit,
    GuardHeld,
    GuardLost,
    GuardMore,
    GuardRead,
    GuardSignal,
    Intervention,
    ModelClosed,
    ModelDiverged,
    ModelError,
    ModelHeard,
    ModelMessage,
    ModelRefused,
    ModelReordered,
    ModelRequest,
    ModelResponse,
    ModelSilent,
    ModelUnavailable,
    ModelUsage,
    MonitorAlert,
    MonitorSample,
    NetworkClosed,
    NetworkExchange,
    OperatorActed,
    OperatorAsked,
    OperatorDecided,
    PatchApplied,
    PatchExtracted,
    RunFault,
    RunFinished,
    RunIdentity,
    RunStarted,
    RunTerminated,
    SafetyChecked,
    SafetyFinding,
    SandboxPaused,
    SandboxResumed,
    SecretsRedacted,
    SetupStep,
    StageChanged,
    StageRefused,
    ToolCall,
    ToolInvocation,
    ToolResult,
    WordsHit,
    WorkspaceCheckpoint,
    WorkspaceMutation,
    WorkspaceRestored,
)


class BadEvent(ValueError):
    """An event that the table does not allow; always a mistake of the caller."""


@dataclass(frozen=True)
class EventType:
    """One type: its usual actor, the ``TypedDict`` of its payload, and its description."""

    name: str
    actor: str
    payload: Any
    description: str

    @cached_property
    def fields(self) -> tuple[str, ...]:
        """The keys that the payload requires."""
        return tuple(key for key in self.payload.__annotations__ if key in self.payload.__required_keys__)


_TABLE = (
    EventType("run.started", "harness", RunStarted, "A run begins."),
    EventType(
        "run.identity",
        "harness",
        RunIdentity,
        "The workspace that was found, compared with the one in the manifest.",
    ),
    EventType(
        "setup.step",
        "harness",
        SetupStep,
        "A step of the contract's setup, run now or taken from a layer made before.",
    ),
    EventType("briefing", "harness", Briefing, "The text that the agent was given."),
    EventType("agent.started", "harness", AgentStarted, "The agent begins to act."),
    EventType("agent.rested", "harness", AgentRested, "The agent has ended; its patch is taken next."),
    EventType("agent.finished", "harness", AgentFinished, "The agent has stopped acting."),
    EventType(
        "agent.permission",
        "harness",
        AgentPermission,
        "The agent asked for a permission, and the answer of the policy.",
    ),
    EventType(
        "agent.trajectory",
        "harness",
        AgentTrajectory,
        "The agent's own records, or a message to or from it. Stored as it is; no decision relies on it.",
    ),
    EventType(
        "tool.invocation",
        "agent",
        ToolInvocation,
        "A command that was run in the sandbox, as the harness saw it.",
    ),
    EventType(
        "workspace.mutation",
        "agent",
        WorkspaceMutation,
        "A file of the workspace that was added, modified or deleted.",
    ),
    EventType(
        "patch.extracted",
        "harness",
        PatchExtracted,
        "The patch that was taken from the workspace, and what was left out of it.",
    ),
    EventType(
        "patch.applied",
        "harness",
        PatchApplied,
        "Check 0: the patch on a pristine tree.",
    ),
    EventType(
        "check.inverted",
        "harness",
        CheckInverted,
        "One run of a check with altered tests, after the check had passed.",
    ),
    EventType("check.blocked", "harness", CheckBlocked, "A check that could not be reached."),
    EventType(
        "check.finished",
        "harness",
        CheckFinished,
        "One attempt of a check, on the patched tree or on the base.",
    ),
    EventType(
        "check.decided",
        "harness",
        CheckDecided,
        "The outcome of a check, from its attempts by the contract's rule.",
    ),
    EventType(
        "safety.finding",
        "monitor",
        SafetyFinding,
        "An observation about the policy, with its grade.",
    ),
    EventType("safety.checked", "monitor", SafetyChecked, "The run was compared with the policy."),
    EventType("run.terminated", "harness", RunTerminated, "The run was ended early."),
    EventType("run.fault", "harness", RunFault, "The harness or the machine failed."),
    EventType(
        "secrets.redacted",
        "harness",
        SecretsRedacted,
        "How many different secrets of each kind were replaced in what is recorded, and by which rules.",
    ),
    EventType("run.finished", "harness", RunFinished, "The run has ended and its status is final."),
)

_WATCHED = (
    EventType(
        "guard.exec",
        "agent",
        GuardExec,
        "A program that was about to start, as its process claimed it; `origin` is the one that it comes from.",
    ),
    EventType("guard.exit", "agent", GuardExit, "The end of a program that had started."),
    EventType(
        "guard.attempt",
        "agent",
        GuardAttempt,
        "An attempt at something that the policy covers, successful or not.",
    ),
    EventType(
        "guard.signal",
        "agent",
        GuardSignal,
        "A process sent a fatal signal, or arranged for one; a target of 0 may be any process.",
    ),
    EventType("guard.read", "agent", GuardRead, "A file that was opened for reading."),
    EventType("guard.held", "monitor", GuardHeld, "A write that was delayed."),
    EventType("guard.more", "monitor", GuardMore, "A count of attempts that were too many for one event each."),
    EventType(
        "guard.lost",
        "monitor",
        GuardLost,
        "Records of the guard that were lost because they could not be read in time.",
    ),
    EventType(
        "monitor.sample",
        "monitor",
        MonitorSample,
        "What the sandbox used at one moment.",
    ),
    EventType(
        "monitor.alert",
        "monitor",
        MonitorAlert,
        "An alert of a breaker or a monitor, with its measurement.",
    ),
    EventType("intervention", "monitor", Intervention, "What was done about an alert."),
    EventType(
        "sandbox.paused", "harness", SandboxPaused, "The sandbox was frozen from outside; the agent's time stops."
    ),
    EventType("sandbox.resumed", "harness", SandboxResumed, "The sandbox was thawed again, after so many seconds."),
    EventType("stage.changed", "harness", StageChanged, "The run moved to another stage."),
    EventType(
        "stage.refused",
        "harness",
        StageRefused,
        "The agent asked for a stage that it did not get.",
    ),
    EventType(
        "workspace.checkpoint",
        "harness",
        WorkspaceCheckpoint,
        "A saved state of the workspace, the older ones that were removed for it, or why it could not be saved.",
    ),
    EventType(
        "workspace.restored",
        "harness",
        WorkspaceRestored,
        "The workspace went back to a checkpoint, or why it did not; the mutations that follow show the changes.",
    ),
    EventType(
        "operator.asked",
        "harness",
        OperatorAsked,
        "The run waits until an operator decides.",
    ),
    EventType("operator.decided", "operator", OperatorDecided, "What was decided, and why."),
    EventType(
        "operator.acted",
        "operator",
        OperatorActed,
        "An operator stopped, paused or resumed the run, or could not.",
    ),
    EventType(
        "model.usage",
        "monitor",
        ModelUsage,
        "What one call of a language model used, as the provider counted it.",
    ),
    EventType(
        "cost.projected",
        "monitor",
        CostProjected,
        "What the run has cost up to now, by the price table or schedule that it names.",
    ),
    EventType(
        "network.exchange",
        "agent",
        NetworkExchange,
        "A request that left the sandbox through the proxy, or was refused there.",
    ),
    EventType(
        "network.closed",
        "harness",
        NetworkClosed,
        "A summary of the run's network use, and whether the run can be replayed from its recording.",
    ),
    EventType("words.hit", "monitor", WordsHit, "A text rule matched."),
)

_CONVERSED = (
    EventType(
        "model.request",
        "agent",
        ModelRequest,
        "A call of a language model, as the agent made it and as it was forwarded.",
    ),
    EventType(
        "model.message",
        "agent",
        ModelMessage,
        "A message of a conversation, recorded once: the model's input, or its answer.",
    ),
    EventType(
        "model.response",
        "monitor",
        ModelResponse,
        "What a model answered, with the bytes as they came.",
    ),
    EventType(
        "model.error",
        "monitor",
        ModelError,
        "A call that failed, and the cause: provider, agent or harness.",
    ),
    EventType(
        "model.refused",
        "monitor",
        ModelRefused,
        "A request to the gateway that was not forwarded.",
    ),
    EventType(
        "model.silent",
        "monitor",
        ModelSilent,
        "The provider sends nothing to running calls; the agent's time stops.",
    ),
    EventType("model.heard", "monitor", ModelHeard, "The provider's silence ended, after so many seconds."),
    EventType(
        "model.unavailable",
        "monitor",
        ModelUnavailable,
        "The provider was silent for longer than a run waits; the agent is ended.",
    ),
    EventType(
        "model.diverged",
        "monitor",
        ModelDiverged,
        "A request that is not on the cassette, with the first text that differs.",
    ),
    EventType(
        "model.reordered",
        "monitor",
        ModelReordered,
        "A request that is on the cassette except for the order of lists, with the parts and the count of moved lines.",
    ),
    EventType(
        "model.closed",
        "harness",
        ModelClosed,
        "A summary of the model gateway, and where its recorded calls are stored.",
    ),
    EventType(
        "tool.call",
        "agent",
        ToolCall,
        "A tool call that a model requested, extracted from its answer.",
    ),
    EventType(
        "tool.result",
        "agent",
        ToolResult,
        "The result of a tool call, extracted from the agent's next request.",
    ),
)

EVENT_TYPES: dict[str, EventType] = {kind.name: kind for kind in (*_TABLE, *_WATCHED, *_CONVERSED)}


class EventLine(TypedDict):
    actor: Annotated[str, f"Who acts: {', '.join(ACTORS)}."]
    hash: Annotated[str, "The digest of the event's header and of the hash before it."]
    seq: Annotated[int, "The number of the event, from 0."]
    t: Annotated[str, "The time in nanoseconds since 1970; it always increases."]
    type: Annotated[str, "The type of the event."]
    payload: NotRequired[Annotated[Mapping[str, Any], "What happened; each type has its own keys."]]
    salt: NotRequired[Annotated[str, "Random digits; the digest of the payload covers them."]]
    digest: NotRequired[Annotated[str, "The digest of a payload that a retention act removed."]]


def event_schema(schema: int = TRACE.schema) -> dict[str, Any]:
    """The JSON Schema of a line of ``events.jsonl``. A retention act leaves a digest in the place of the payload."""
    line = schema_of(EventLine, schema)
    line["properties"]["type"]["enum"] = [*EVENT_TYPES]
    line["properties"]["actor"]["enum"] = [*ACTORS]
    payloads = [
        {
            "if": {"properties": {"type": {"const": kind.name}}},
            "then": {"properties": {"payload": {"description": kind.description, **schema_of(kind.payload, schema)}}},
        }
        for kind in EVENT_TYPES.values()
    ]
    return {
        "$schema": DIALECT,
        "$id": f"urn:proctor:event:{schema}",
        "title": "A line of events.jsonl",
        "description": "An event of the trace of a run.",
        **line,
        "oneOf": [{"required": ["payload", "salt"]}, {"required": ["digest"]}],
        "allOf": payloads,
    }


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
