"""The commands of an agent and the changes of its files, from a finished trace. Pure.

For an agent that is a plain program without a model, the commands are those that the harness ran (``tool.invocation``),
with the digests of what they printed. For an agent with a model they are what the model asked for (see ``tool_calls``),
with the result that the model got of each. For any other agent they are the programs that its own process was seen to
start.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from proctor.base.canonical import canonical
from proctor.conduct.replay.output_comparison import Stream, masked
from proctor.conduct.replay.tool_call_commands import asked_commands, is_asked_for
from proctor.execute.monitor.tool_calls_from_processes import Calls
from proctor.execute.sandbox.guard_observations import Observation
from proctor.judge.programs_by_tool_call import events_while_agent_runs, programs_of
from proctor.judge.run_evidence import Evidence
from proctor.record.redact import MARK
from proctor.record.trace.event import Event

Blob = Callable[[str], bytes]
"""Reads a blob of the run by its name."""

State = tuple[str, str] | None
"""Mode and digest of a file; nothing if there is none."""


@dataclass(frozen=True)
class RecordedCommand:
    """One command; its exit code, its streams and the result for the model are ``None`` if they are not recorded."""

    seq: int
    argv: tuple[str, ...]
    directory: str
    exit_code: int | None
    at_ns: int
    wall_ns: int = 0
    stdout: Stream | None = None
    stderr: Stream | None = None
    result_text: str | None = None
    timed_out: bool = False

    @property
    def where(self) -> str:
        return f"events.jsonl#{self.seq}"


@dataclass(frozen=True)
class RecordedChange:
    """One change of one file as it was recorded, and when it was seen at the latest."""

    seq: int
    t: int
    path: str
    before: State
    after: State
    diff: Mapping[str, Any]


Program = tuple[tuple[str, ...], str, int | None]
"""A program that was started: its arguments, its directory, and how it ended."""


def is_plain(evidence: Evidence) -> bool:
    """Whether the agent was a program without a model, which does the same when it is started again."""
    manifest = evidence.manifest
    return manifest["agent"]["kind"] == "command" and not manifest["configuration"].get("model")


def recorded_commands(evidence: Evidence, blob: Blob) -> tuple[RecordedCommand, ...]:
    """The commands of the run's agent, in the order in which they were started."""
    redacted = is_redacted(evidence)
    if is_plain(evidence):
        return tuple(_invocation(event, redacted) for event in evidence.of("tool.invocation"))
    if evidence.manifest["configuration"].get("model"):
        asked = asked_commands(evidence.events, lambda content: _whole(content, blob))
        return tuple(
            RecordedCommand(
                seq=one.seq,
                argv=one.argv,
                directory=one.directory,
                exit_code=one.exit_code,
                at_ns=one.at_ns,
                wall_ns=one.wall_ns,
                result_text=_result_text(one.result, blob, redacted),
            )
            for one in asked
        )
    watch = evidence.manifest["configuration"].get("watch", {})
    calls = Calls(watch.get("call_depth", 1), tuple(watch.get("test_commands", ())))
    begun: dict[int, Event] = {}
    found: dict[int, RecordedCommand] = {}
    for event in evidence.of("guard.exec", "guard.exit", "tool.invocation"):
        calls.see(event, int(event.t))
        for call in calls.started:
            begun[call.number] = event
            found[call.number] = _called(event, None, 0, redacted)
        for call in calls.ended:
            code = event.payload["exit_code"] if event.type == "guard.exit" else None
            found[call.number] = _called(begun[call.number], code, call.wall_ns or 0, redacted)
    return tuple(found[number] for number in sorted(found))


def own_programs(evidence: Evidence) -> int:
    """How many programs the agent started without a tool call of its model, as far as the record shows."""
    if is_plain(evidence) or not evidence.manifest["configuration"].get("model"):
        return 0
    asked = {one.event.seq for one in programs_of(evidence.events) if is_asked_for(one)}
    return sum(
        event.seq not in asked for event in events_while_agent_runs(evidence.events) if event.type == "guard.exec"
    )


def is_redacted(evidence: Evidence) -> bool:
    """Whether secrets were taken out of what the run recorded."""
    return evidence.last("secrets.redacted") is not None


def hidden_words(evidence: Evidence, commands: Iterable[RecordedCommand]) -> str:
    """The first command or file of a redacted run that cannot be replayed because of a secret; else empty."""
    if not is_redacted(evidence):
        return ""
    said: list[tuple[str, list[Any]]] = [(" ".join(one.argv), [*one.argv, one.directory]) for one in commands]
    said += [(one.path, [one.path, one.diff]) for one in recorded_steps(evidence)]
    return next((name for name, value in said if MARK in canonical(value)), "")


def _whole(content: Mapping[str, Any], blob: Blob) -> Mapping[str, Any]:
    """The complete text of a part of a conversation."""
    if "text" in content or "blob" not in content:
        return content
    return {**content, "text": blob(str(content["blob"])).decode("utf-8", "replace")}


def _result_text(content: Mapping[str, Any] | None, blob: Blob, redacted: bool) -> str | None:
    """A text of a conversation; nothing where it was hidden."""
    if content is None or not ("text" in content or "blob" in content):
        return None
    text = str(content["text"]) if "text" in content else blob(str(content["blob"])).decode("utf-8", "replace")
    return None if redacted and MARK.decode() in text else text


def _invocation(event: Event, redacted: bool) -> RecordedCommand:
    payload = event.payload
    return RecordedCommand(
        seq=event.seq,
        argv=tuple(payload["command"]),
        directory=payload["directory"],
        exit_code=None if payload["timed_out"] else payload["exit_code"],
        at_ns=0,
        stdout=_stream(payload["stdout"], redacted),
        stderr=_stream(payload["stderr"], redacted),
        timed_out=payload["timed_out"],
    )


def _stream(stream: Mapping[str, Any], redacted: bool) -> Stream:
    prefix = str(stream["prefix"])
    return Stream(str(stream["sha256"]), int(stream["bytes"]), prefix, redacted and MARK.decode() in prefix)


def _called(event: Event, code: int | None, wall_ns: int, redacted: bool) -> RecordedCommand:
    if event.type == "tool.invocation":
        return _invocation(event, redacted)
    payload = event.payload
    at_ns = int(payload.get("at", event.t))
    return RecordedCommand(event.seq, tuple(payload["argv"]), payload["cwd"], code, at_ns, wall_ns)


def recorded_steps(evidence: Evidence) -> tuple[RecordedChange, ...]:
    """Every recorded change of a file, in order."""
    return tuple(
        RecordedChange(
            seq=event.seq,
            t=int(event.t),
            path=event.payload["path"],
            before=_state(event.payload["before"]),
            after=_state(event.payload["after"]),
            diff=event.payload.get("diff", {}),
        )
        for event in evidence.of("workspace.mutation")
    )


def recorded_programs(evidence: Evidence) -> list[Program]:
    """Every program that the guard saw while the agent acted."""
    ended: dict[int, int | None] = {}
    programs: list[Program] = []
    started = [event.payload for event in evidence.of("guard.exec", "guard.exit")]
    for payload in reversed(started):
        if "argv" not in payload:
            ended[payload["pid"]] = payload["exit_code"]
        else:
            programs.append((tuple(payload["argv"]), payload["cwd"], ended.get(payload["pid"])))
    return programs[::-1]


def same_programs(evidence: Evidence, observations: Iterable[Observation]) -> dict[int, int]:
    """The pid of each recorded process, and of the same program now; programs with the same arguments in order."""
    now: dict[tuple[str, ...], list[int]] = {}
    for one in observations:
        if one.kind == "exec":
            now.setdefault(tuple(map(masked, one.argv)), []).append(one.pid)
    numbers = {}
    for event in evidence.of("guard.exec"):
        waiting = now.get(tuple(map(masked, event.payload["argv"])), [])
        if waiting:
            numbers[int(event.payload["pid"])] = waiting.pop(0)
    return numbers


def observed_programs(observations: Iterable[Observation]) -> list[Program]:
    """The same from observations of a guard now."""
    ended: dict[int, int | None] = {}
    programs: list[Program] = []
    for one in reversed(list(observations)):
        if one.kind == "exit":
            ended[one.pid] = one.exit_code
        elif one.kind == "exec":
            programs.append((one.argv, one.cwd, ended.get(one.pid)))
    return programs[::-1]


def _state(side: Mapping[str, Any] | None) -> State:
    return None if side is None else (str(side["mode"]), str(side["sha256"]))
