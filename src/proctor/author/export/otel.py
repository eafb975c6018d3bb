"""OTLP/JSON with the GenAI attributes of OpenTelemetry: one file with the spans of one run.

A run is a span ``invoke_agent``; a call of a model is a span ``chat`` below it, and a call of a tool a span
``execute_tool``. Ids are hexadecimal digits that follow from the run and the event, 64-bit integers are text. A request
repeats the conversation; its span has only the messages that were new.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from proctor.author.export.interface import Exported, ExportedFile, Loss
from proctor.author.export.recorded_run import Message, ModelCall, RecordedRun, ToolUse
from proctor.author.export.run_losses import (
    arguments_of,
    clean,
    common_losses,
    conversation_losses,
    derived_id,
    json_text,
)

SCHEMA_URL = "https://opentelemetry.io/schemas/1.41.0"
INTERNAL, CLIENT = 1, 3
ERROR = 2
PROVIDERS = {"chat": "openai", "responses": "openai", "anthropic": "anthropic", "gemini": "gcp.gemini"}
"""The name of the provider that speaks a dialect, where the model's name does not say it."""

KNOWN_PROVIDERS = {"openai": "openai", "anthropic": "anthropic", "google": "gcp.gemini"}
FINISH = {"tool_calls": "tool_call", "tool_use": "tool_call", "end_turn": "stop", "max_tokens": "length"}
SYSTEM = ("system", "developer")


def spans(run: RecordedRun) -> dict[str, Any]:
    """The request to an OTLP endpoint that has the spans of a run."""
    resource = {"service.name": "proctor", "service.version": run.manifest.harness.version}
    scope = {"name": "proctor", "version": run.manifest.harness.version}
    return {
        "resourceSpans": [
            {
                "resource": {"attributes": _attributes(resource)},
                "scopeSpans": [{"scope": scope, "schemaUrl": SCHEMA_URL, "spans": [*_spans(run)]}],
            }
        ]
    }


def _spans(run: RecordedRun) -> Iterator[dict[str, Any]]:
    trace, root = derived_id(run.id), derived_id(run.id, "agent", length=16)
    yield _agent_span(run, trace, root)
    messages: dict[int, list[Message]] = {}
    for message in run.messages:
        messages.setdefault(message.call, []).append(message)
    for call in run.calls:
        yield _chat_span(run, call, messages.get(call.number, []), trace, root)
    for message in run.messages:
        for use in message.tools:
            yield _tool_span(run, use, trace, root)
    for one in run.invocations if not run.calls else ():
        yield {
            **_head(trace, derived_id(run.id, one.seq, length=16), "execute_tool command", INTERNAL, root),
            "startTimeUnixNano": str(one.t),
            "endTimeUnixNano": str(one.t),
            "attributes": _attributes(
                {
                    "gen_ai.operation.name": "execute_tool",
                    "gen_ai.tool.name": "command",
                    "gen_ai.tool.type": "extension",
                    "gen_ai.tool.call.arguments": _json({"command": list(one.command), "directory": one.directory}),
                    "gen_ai.tool.call.result": one.output,
                    "proctor.event": one.seq,
                    "proctor.exit_code": one.exit_code,
                }
            ),
            "status": {},
        }


def _head(trace: str, span: str, name: str, kind: int, parent: str = "") -> dict[str, Any]:
    found: dict[str, Any] = {"traceId": trace, "spanId": span, "name": clean(name), "kind": kind}
    return {**found, "parentSpanId": parent} if parent else found


def _agent_span(run: RecordedRun, trace: str, root: str) -> dict[str, Any]:
    verdict = run.verdict()
    used = [call.usage for call in run.calls if call.usage]
    attributes: dict[str, Any] = {
        "gen_ai.operation.name": "invoke_agent",
        "gen_ai.agent.name": run.manifest.agent.name,
        "gen_ai.conversation.id": run.id,
        "proctor.contract.name": run.contract,
        "proctor.contract.id": run.manifest.contract.id,
        "proctor.run.seal": run.seal,
        "proctor.run.status": verdict["status"],
        "proctor.run.attribution": verdict["attribution"],
        "proctor.gates.passed": [name for name, gate in verdict["gates"].items() if gate["passed"]],
        "proctor.gates.failed": [name for name, gate in verdict["gates"].items() if not gate["passed"]],
        "proctor.agent.digest": run.manifest.agent.digest,
    }
    if run.calls:
        attributes["gen_ai.provider.name"] = _provider(run, run.calls[0])
    if run.model:
        attributes["gen_ai.request.model"] = run.model
    if used:
        attributes["gen_ai.usage.input_tokens"] = sum(one.input_tokens for one in used)
        attributes["gen_ai.usage.output_tokens"] = sum(one.output_tokens for one in used)
    if not run.messages and run.briefing:
        attributes["gen_ai.input.messages"] = _json([_text_message("user", run.briefing)])
    events = [
        {
            "timeUnixNano": str(notice.t),
            "name": notice.type,
            "attributes": _attributes(
                {
                    "proctor.event": notice.seq,
                    "proctor.actor": notice.actor,
                    "proctor.payload": _json(dict(notice.payload)),
                }
            ),
        }
        for notice in run.notices
    ]
    return {
        **_head(trace, root, f"invoke_agent {run.manifest.agent.name}", INTERNAL),
        "startTimeUnixNano": str(run.agent_started),
        "endTimeUnixNano": str(max(run.agent_ended, run.agent_started)),
        "attributes": _attributes(attributes),
        **({"events": events} if events else {}),
        "status": {"code": ERROR, "message": clean(verdict["problems"][0])} if run.is_invalid else {},
    }


def _chat_span(run: RecordedRun, call: ModelCall, messages: Sequence[Message], trace: str, root: str) -> dict[str, Any]:
    attributes: dict[str, Any] = {
        "gen_ai.operation.name": "chat",
        "gen_ai.provider.name": _provider(run, call),
        "gen_ai.conversation.id": run.id,
        "gen_ai.request.model": call.model,
        "proctor.event": call.seq,
        "proctor.dialect": call.dialect,
    }
    if call.answered_by:
        attributes["gen_ai.response.model"] = call.answered_by
    if call.finish:
        attributes["gen_ai.response.finish_reasons"] = [call.finish]
    if call.usage:
        attributes["gen_ai.usage.input_tokens"] = call.usage.input_tokens
        attributes["gen_ai.usage.output_tokens"] = call.usage.output_tokens
    if call.error:
        attributes["error.type"] = call.error
    given = [message for message in messages if not message.answer]
    system = [{"type": "text", "content": one.text} for one in given if one.role in SYSTEM]
    if system:
        attributes["gen_ai.system_instructions"] = _json(system)
    inputs = [_text_message(one.role, one.text) for one in given if one.role not in SYSTEM]
    inputs = [*_results(run, call), *inputs]
    if inputs:
        attributes["gen_ai.input.messages"] = _json(inputs)
    outputs = [_output_message(one, call.finish) for one in messages if one.answer]
    if outputs:
        attributes["gen_ai.output.messages"] = _json(outputs)
    return {
        **_head(trace, derived_id(run.id, call.seq, length=16), f"chat {call.model}", CLIENT, root),
        "startTimeUnixNano": str(call.start),
        "endTimeUnixNano": str(max(call.end, call.start)),
        "attributes": _attributes(attributes),
        "status": {"code": ERROR, "message": clean(call.error)} if call.error else {},
    }


def _results(run: RecordedRun, call: ModelCall) -> Iterator[dict[str, Any]]:
    """The results of tools that a request brought, which are recorded between it and its end."""
    for message in run.messages:
        for use in message.tools:
            if use.result and call.start <= use.result.t <= call.end:
                part = {"type": "tool_call_response", "id": use.id, "response": use.result.text}
                yield {"role": "tool", "parts": [part]}


def _tool_span(run: RecordedRun, use: ToolUse, trace: str, root: str) -> dict[str, Any]:
    attributes: dict[str, Any] = {
        "gen_ai.operation.name": "execute_tool",
        "gen_ai.tool.name": use.name,
        "gen_ai.tool.call.id": use.id,
        "gen_ai.tool.type": "function",
        "gen_ai.tool.call.arguments": _json(arguments_of(use.arguments)),
        "proctor.event": use.seq,
    }
    if use.result:
        attributes["gen_ai.tool.call.result"] = use.result.text
    failed = use.result is not None and use.result.failed
    if failed:
        attributes["error.type"] = "tool_failed"
    return {
        **_head(trace, derived_id(run.id, use.seq, length=16), f"execute_tool {use.name}", INTERNAL, root),
        "startTimeUnixNano": str(use.t),
        "endTimeUnixNano": str(use.result.t if use.result else use.t),
        "attributes": _attributes(attributes),
        "status": {"code": ERROR} if failed else {},
    }


def _text_message(role: str, text: str) -> dict[str, Any]:
    return {"role": role, "parts": [{"type": "text", "content": text}]}


def _output_message(message: Message, finish: str) -> dict[str, Any]:
    parts: list[dict[str, Any]] = []
    if message.reasoning:
        parts.append({"type": "reasoning", "content": message.reasoning})
    if message.text:
        parts.append({"type": "text", "content": message.text})
    for use in message.tools:
        arguments = arguments_of(use.arguments)
        parts.append({"type": "tool_call", "id": use.id, "name": use.name, "arguments": arguments})
    return {"role": "assistant", "parts": parts, "finish_reason": FINISH.get(finish, finish or "unknown")}


def _provider(run: RecordedRun, call: ModelCall) -> str:
    """The provider by the name of the model, such as ``openai/NAME``, or by the dialect."""
    named, slash, _ = run.model.partition("/")
    return KNOWN_PROVIDERS.get(named) or PROVIDERS.get(call.dialect) or (named if slash else call.dialect)


def _json(value: Any) -> str:
    return json.dumps(value, sort_keys=True, ensure_ascii=False)


def _attributes(values: Mapping[str, Any]) -> list[dict[str, Any]]:
    return [{"key": key, "value": _value(value)} for key, value in values.items()]


def _value(value: str | int | Iterable[str]) -> dict[str, Any]:
    if isinstance(value, str):
        return {"stringValue": clean(value)}
    if isinstance(value, int):
        return {"intValue": str(value)}
    return {"arrayValue": {"values": [_value(one) for one in value]}}


class OtelFormat:
    """Writes ``RUN.otlp.json`` for each run."""

    name, version = "otel", "OTLP/JSON 1, GenAI 1.41.0"

    def export(self, runs: Sequence[RecordedRun]) -> tuple[Exported, ...]:
        """The runs, each with its losses."""
        return tuple(
            Exported(
                run.id,
                (ExportedFile(f"{run.id}.otlp.json", json_text(spans(run), indent=1)),),
                (*common_losses(run), *conversation_losses(run), *_losses(run)),
            )
            for run in runs
        )

    def index(self, runs: Sequence[RecordedRun]) -> tuple[ExportedFile, ...]:
        """No files about all runs."""
        return ()


def _losses(run: RecordedRun) -> Iterator[Loss]:
    if run.patch:
        yield Loss("patch", {"bytes": len(run.patch)})
    if len(run.calls) > 1:
        yield Loss("repeated-messages", {"calls": len(run.calls)})
    cached = sum(call.usage.cached_tokens + call.usage.reasoning_tokens for call in run.calls if call.usage)
    if cached:
        yield Loss("token-kinds", {"tokens": cached})


FORMAT = OtelFormat()
