"""A sealed run as the run formats need it: the conversation in order, the calls of models, notices, and the verdict.

The evidence is verified before it is read. Texts that are stored in blobs are read up to a limit. The conversation is
the order in which messages were recorded; a message that several requests repeat was recorded once.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from typing import Any

from proctor.base.clock import RUN_ID, SLUG
from proctor.base.errors import BrokenSeal, UsageFault
from proctor.base.reversible_escapes import name_bytes
from proctor.conduct.recompute import recompute
from proctor.contract.model import Contract
from proctor.judge.run_evidence import read_evidence
from proctor.judge.run_verdict import INVALID
from proctor.record.manifest_model import Manifest, read_manifest
from proctor.record.report_model import Report, read_report
from proctor.record.retain import require_payloads
from proctor.record.run_directory import RunDirectory, is_held
from proctor.record.trace.event import GENESIS, Event
from proctor.record.trace.reader import read_events

PATCH_BYTES = 1 << 30
TEXT_BYTES = 32 << 20
"""The most that is read of a patch, and of one text of the conversation."""

NANOSECONDS = 1_000_000_000
_DIGEST = re.compile(r"[0-9a-f]{64}\Z")

NOTICES = (
    *("monitor.alert", "intervention", "operator.asked", "operator.decided", "operator.acted"),
    *("stage.changed", "stage.refused", "sandbox.paused", "sandbox.resumed", "workspace.restored"),
    *("model.error", "model.refused", "run.terminated", "run.fault"),
)
"""Events that explain what was done to the agent; the formats take them as they are."""

CARRIED = (
    *("run.started", "run.finished", "briefing", "agent.started", "agent.finished", "tool.invocation"),
    *("model.request", "model.message", "model.response", "model.usage", "tool.call", "tool.result"),
    *("patch.extracted", "check.decided", "cost.projected"),
)
"""Other events whose content is in the export."""


@dataclass(frozen=True)
class ToolResult:
    """What a tool gave back."""

    seq: int
    t: int
    text: str
    failed: bool


@dataclass(frozen=True)
class ToolUse:
    """A call of a tool that a model asked for. ``id`` is unique in the run."""

    seq: int
    t: int
    id: str
    name: str
    arguments: str
    result: ToolResult | None = None


@dataclass(frozen=True)
class Usage:
    """The tokens of one call; ``usd`` only if the provider reported it."""

    input_tokens: int
    output_tokens: int
    cached_tokens: int
    reasoning_tokens: int
    usd: str | None
    estimated: bool


@dataclass(frozen=True)
class Message:
    """A message of the conversation; ``answer`` if a model gave it in this run."""

    seq: int
    t: int
    call: int
    role: str
    text: str
    reasoning: str
    answer: bool
    tools: tuple[ToolUse, ...] = ()


@dataclass(frozen=True)
class ModelCall:
    """A request to a model with its end; ``finish`` is empty and ``error`` a class if there was no answer."""

    number: int
    seq: int
    start: int
    end: int
    model: str
    dialect: str
    finish: str
    answered_by: str
    error: str
    usage: Usage | None
    tools: tuple[str, ...]


@dataclass(frozen=True)
class Invocation:
    """A command that the harness ran for the agent."""

    seq: int
    t: int
    command: tuple[str, ...]
    directory: str
    exit_code: int
    output: str


@dataclass(frozen=True)
class Notice:
    """An event of one of the types of ``NOTICES``."""

    seq: int
    t: int
    actor: str
    type: str
    payload: Mapping[str, Any]

    def record(self) -> dict[str, Any]:
        """The notice as data."""
        return {
            "seq": self.seq,
            "time": iso(self.t),
            "actor": self.actor,
            "type": self.type,
            "payload": dict(self.payload),
        }


@dataclass(frozen=True)
class RecordedRun:
    """A run whose evidence is intact."""

    id: str
    seal: str
    manifest: Manifest
    report: Report
    oracle: Contract
    tests: Mapping[str, Mapping[str, str]]
    patch: bytes
    briefing: str
    started: int
    ended: int
    agent_started: int
    agent_ended: int
    messages: tuple[Message, ...]
    calls: tuple[ModelCall, ...]
    invocations: tuple[Invocation, ...]
    notices: tuple[Notice, ...]
    left_out: Mapping[str, int]
    cut_texts: int = 0
    unmatched_results: int = 0
    threads: int = 0

    @property
    def contract(self) -> str:
        """The name of the contract."""
        return self.manifest.contract.name

    @property
    def model(self) -> str:
        """The model that the run was asked to use; empty for none."""
        return self.report.model

    @property
    def repeat(self) -> int:
        """Which repeat of its batch the run is, from 1."""
        return max(self.manifest.configuration.repeat or 1, 1)

    @property
    def valid(self) -> bool:
        """Whether the run has a verdict about the agent."""
        return self.report.endpoint.scorable

    @property
    def is_invalid(self) -> bool:
        """Whether something put the whole run in doubt."""
        return self.report.status == INVALID

    def verdict(self) -> dict[str, Any]:
        """The verdict as data: status, gates and checks."""
        report = self.report
        return {
            "status": report.status,
            "attribution": report.attribution,
            "problems": list(report.problems),
            "gates": {gate.id: {"name": gate.name, "passed": gate.passed, "why": gate.why} for gate in report.gates},
            "checks": {
                check.id: {"gate": check.gate, "outcome": check.outcome, "reason": check.reason}
                for check in report.checks
            },
            "tags": [tag.id for tag in report.tags],
            "score": report.score.value if report.score else None,
        }

    def identity(self) -> dict[str, Any]:
        """What identifies the run and what it was made with, as data."""
        manifest = self.manifest
        return {
            "run": self.id,
            "seal": self.seal,
            "contract": {"name": manifest.contract.name, "id": manifest.contract.id},
            "agent": {"name": manifest.agent.name, "kind": manifest.agent.kind, "digest": manifest.agent.digest},
            "proctor": manifest.harness.version,
            "repository": {"kind": manifest.repository.kind, "identity": manifest.repository.identity},
            "batch": manifest.configuration.batch,
            "repeat": manifest.configuration.repeat,
        }


def iso(nanoseconds: int) -> str:
    """A time as ISO 8601 text in UTC, with microseconds."""
    moment = datetime.fromtimestamp(nanoseconds // NANOSECONDS, UTC)
    return f"{moment:%Y-%m-%dT%H:%M:%S}.{nanoseconds % NANOSECONDS // 1000:06d}Z"


def read_run(run: RunDirectory) -> RecordedRun:
    """The run in a directory; evidence that is not intact is refused."""
    name = run.path.name
    if is_held(run):
        raise UsageFault("the run is still running", where=name, hint=f"wait until it has ended: proctor show {name}")
    verification = recompute(run).verification
    if verification.status == "partial":
        require_payloads(run, "it cannot be exported")
    if verification.status == "unsealed":
        raise BrokenSeal("the run was cut off and has no seal", where=name)
    if verification.status != "intact":
        problem = verification.problems[0]
        raise BrokenSeal(problem.message, where=f"{name}/{problem.where}")
    try:
        found = _Reader(run).recorded(verification.run_id, verification.digest)
    except (KeyError, TypeError, ValueError, AttributeError, IndexError) as error:
        message = f"is not as Proctor writes it: {type(error).__name__}: {error}"
        raise BrokenSeal(message, where=f"{name}/events.jsonl") from None
    if not RUN_ID.fullmatch(found.id) or not SLUG.fullmatch(found.contract):
        raise BrokenSeal("names its run or its contract in a form that no file can have", where=f"{name}/manifest.json")
    return found


class _Reader:
    """Reads one run; counts the texts that are not stored whole."""

    def __init__(self, run: RunDirectory) -> None:
        self.run = run
        self.events = read_events(run.events)
        self.cut = 0

    def recorded(self, run_id: str, seal: str) -> RecordedRun:
        events = self.events
        first, last = int(events[0].t), int(events[-1].t)
        began = [int(event.t) for event in events if event.type == "agent.started"]
        ended = [int(event.t) for event in events if event.type == "agent.finished"]
        briefing = [event for event in events if event.type == "briefing"]
        messages, unmatched = self._messages()
        roots = {
            str(event.payload["lineage"])
            for event in events
            if event.type == "model.message" and event.payload.get("parent") in ("", GENESIS)
        }
        return RecordedRun(
            id=run_id,
            seal=seal,
            manifest=read_manifest(self.run),
            report=read_report(self.run),
            oracle=read_evidence(self.run).contract,
            tests=self._outcomes(),
            patch=self.run.read(self.run.patch, PATCH_BYTES) if self.run.patch.exists() else b"",
            briefing=str(briefing[0].payload.get("text", "")) if briefing else "",
            started=first,
            ended=last,
            agent_started=began[0] if began else first,
            agent_ended=ended[0] if ended else last,
            messages=messages,
            calls=tuple(self._calls()),
            invocations=tuple(self._invocations()),
            notices=tuple(_notices(events)),
            left_out=dict(sorted(Counter(e.type for e in events if e.type not in (*CARRIED, *NOTICES)).items())),
            cut_texts=self.cut,
            unmatched_results=unmatched,
            threads=len(roots),
        )

    def _outcomes(self) -> dict[str, dict[str, str]]:
        """The outcome of every recorded test of each check."""
        if not self.run.results.exists():
            return {}
        checks = self.run.read_json(self.run.results).get("checks", ())
        return {str(entry["id"]): {str(test): str(outcome) for test, outcome in entry["tests"]} for entry in checks}

    def text(self, stored: Mapping[str, Any] | None) -> str:
        """A stored text, as far as the record has it."""
        if not stored:
            return ""
        if "text" in stored:
            return str(stored["text"])
        if "shown" in stored:
            return self.text(stored["shown"])
        if _DIGEST.fullmatch(str(stored.get("blob"))):
            data = self.run.read(self.run.blobs / str(stored["blob"]), TEXT_BYTES)
            return data.decode("utf-8", "backslashreplace")
        self.cut += 1
        return str(stored.get("prefix", ""))

    def _messages(self) -> tuple[tuple[Message, ...], int]:
        """The messages in order with their tool calls and the results of these, and how many results match no call."""
        tools, unmatched = self._tools()
        answered: set[int] = set()
        found: list[Message] = []
        for event in self.events:
            payload = event.payload
            if event.type == "model.response":
                answered.add(int(payload["call"]))
            if event.type != "model.message":
                continue
            call = int(payload["call"])
            text, reasoning = self.text(payload["content"]), self.text(payload.get("reasoning"))
            uses = tuple(tools.get((call, int(payload["index"])), ()))
            if not text and not uses and payload.get("tool_results"):
                continue  # the results are with their calls
            answer = payload["role"] == "assistant" and call in answered
            found.append(
                Message(event.seq, int(event.t), call, str(payload["role"]), text, reasoning, answer, uses),
            )
        return tuple(found), unmatched

    def _tools(self) -> tuple[dict[tuple[int, int], list[ToolUse]], int]:
        """The tool calls by call and message, each with its result."""
        places: dict[tuple[int, int], list[ToolUse]] = {}
        open_: dict[str, list[tuple[tuple[int, int], int]]] = {}
        names: Counter[str] = Counter()
        unmatched = 0
        for event in self.events:
            payload = event.payload
            if event.type == "tool.call":
                given = str(payload["id"])
                names[given] += 1
                unique = given if given and names[given] == 1 else f"{given or 'call'}.{names[given]}"
                place = (int(payload["call"]), int(payload["index"]))
                uses = places.setdefault(place, [])
                arguments = self.text(payload["arguments"])
                uses.append(ToolUse(event.seq, int(event.t), unique, str(payload["name"]), arguments))
                open_.setdefault(given, []).append((place, len(uses) - 1))
            elif event.type == "tool.result":
                waiting = open_.get(str(payload["id"]))
                if not waiting:
                    unmatched += 1
                    continue
                place, number = waiting.pop(0)
                result = ToolResult(event.seq, int(event.t), self.text(payload["content"]), bool(payload["failed"]))
                places[place][number] = replace(places[place][number], result=result)
        return places, unmatched

    def _calls(self) -> Iterable[ModelCall]:
        responses = _by_call(self.events, "model.response")
        errors = _by_call(self.events, "model.error")
        used = _by_call(self.events, "model.usage")
        for event in self.events:
            if event.type != "model.request":
                continue
            payload = event.payload
            number = int(payload["call"])
            response, error = responses.get(number), errors.get(number)
            end = response or error or event
            yield ModelCall(
                number=number,
                seq=event.seq,
                start=int(event.t),
                end=int(end.t),
                model=str(payload["model"]),
                dialect=str(payload["dialect"]),
                finish=str(response.payload["finish"]) if response else "",
                answered_by=str(response.payload.get("model") or "") if response else "",
                error=str(error.payload["class"]) if error and not response else "",
                usage=_usage(used[number].payload) if number in used else None,
                tools=tuple(map(str, payload.get("tools") or ())),
            )

    def _invocations(self) -> Iterable[Invocation]:
        for event in self.events:
            if event.type == "tool.invocation":
                payload = event.payload
                streams = (str(payload[name].get("prefix", "")) for name in ("stdout", "stderr"))
                output = b"".join(map(name_bytes, streams)).decode("utf-8", "backslashreplace")
                yield Invocation(
                    *(event.seq, int(event.t), tuple(map(str, payload["command"])), str(payload["directory"])),
                    *(int(payload["exit_code"]), output),
                )


def _notices(events: Iterable[Event]) -> Iterable[Notice]:
    for event in events:
        if event.type in NOTICES:
            yield Notice(event.seq, int(event.t), event.actor, event.type, event.payload)


def _by_call(events: Iterable[Event], kind: str) -> dict[int, Event]:
    """The last event of a type for each call."""
    return {int(event.payload["call"]): event for event in events if event.type == kind and "call" in event.payload}


def _usage(payload: Mapping[str, Any]) -> Usage:
    return Usage(
        input_tokens=int(payload["input_tokens"]),
        output_tokens=int(payload["output_tokens"]),
        cached_tokens=int(payload.get("cached_tokens") or 0),
        reasoning_tokens=int(payload.get("reasoning_tokens") or 0),
        usd=payload["usd"],
        estimated=bool(payload.get("estimated")),
    )
