"""Inspect logs (EvalLog 2): one ``.eval`` archive with one sample for each run.

The archive is a zip of JSON with deflate, and its members are in the order in which Inspect writes them. A run with a
verdict has the score C or I. A run without one has an error and no score. Ids follow from the run, and times are those
of its events.
"""

from __future__ import annotations

import io
import zipfile
from collections import Counter
from collections.abc import Iterator, Sequence
from typing import Any

from proctor.author.export.interface import Exported, ExportedFile, Loss
from proctor.author.export.recorded_run import NANOSECONDS, Message, ModelCall, Notice, RecordedRun, Usage, iso
from proctor.author.export.run_losses import (
    arguments_of,
    common_losses,
    conversation_losses,
    derived_id,
    json_text,
)

VERSION = 2
SCORER = "proctor"
EPOCH = (1980, 1, 1, 0, 0, 0)
NO_MODEL = "none/none"
"""The model of a run without one, as Inspect names it."""

STOPS = {
    "stop": "stop",
    "end_turn": "stop",
    "STOP": "stop",
    "completed": "stop",
    "stop_sequence": "stop",
    "tool_calls": "tool_calls",
    "tool_use": "tool_calls",
    "function_call": "tool_calls",
    "length": "max_tokens",
    "max_tokens": "max_tokens",
    "MAX_TOKENS": "max_tokens",
    "max_output_tokens": "max_tokens",
    "content_filter": "content_filter",
    "refusal": "content_filter",
}


def archive(run: RecordedRun) -> bytes:
    """The ``.eval`` archive of a run."""
    sample = _sample(run)
    summaries = [_summary(run, sample)]
    header = _header(run)
    reductions = _reductions(run)
    members = {
        "_journal/start.json": {"version": VERSION, "eval": header["eval"], "plan": header["plan"]},
        f"samples/{run.contract}_epoch_{run.repeat}.json": sample,
        "_journal/summaries/1.json": summaries,
        "summaries.json": summaries,
        "reductions.json": reductions,
        "header.json": header,
    }
    made = io.BytesIO()
    with zipfile.ZipFile(made, "w") as zipped:
        for name, value in members.items():
            information = zipfile.ZipInfo(name, EPOCH)
            information.compress_type = zipfile.ZIP_DEFLATED
            information.create_system = 3
            information.external_attr = 0o644 << 16
            zipped.writestr(information, json_text(value).rstrip(b"\n"), compresslevel=6)
    return made.getvalue()


def _header(run: RecordedRun) -> dict[str, Any]:
    valid = run.valid
    header: dict[str, Any] = {
        "version": VERSION,
        "status": "success" if valid else "error",
        "eval": {
            "eval_id": derived_id(run.id, "eval", length=22),
            "run_id": run.id,
            "created": iso(run.started),
            "task": run.contract,
            "task_id": run.manifest.contract.version,
            "task_version": run.manifest.contract.version,
            "task_display_name": run.contract,
            "solver": run.manifest.agent.name,
            "dataset": {"name": run.contract, "samples": 1, "sample_ids": [run.contract], "shuffled": False},
            "model": run.model or NO_MODEL,
            "config": {"epochs": 1},
            "packages": {"proctor": run.manifest.harness.version},
            "metadata": {"proctor": run.identity()},
            "scorers": [{"name": SCORER}],
        },
        "plan": {"name": "plan", "steps": [{"solver": run.manifest.agent.name, "params": {}, "params_passed": {}}]},
        "results": _results(run),
        "stats": {
            "started_at": iso(run.started),
            "completed_at": iso(run.ended),
            "model_usage": _model_usage(run),
            "role_usage": {},
        },
        "invalidated": False,
        "tags": [],
        "metadata": {},
    }
    if not valid:
        header["error"] = _error(run)
    return header


def _results(run: RecordedRun) -> dict[str, Any]:
    scored = int(run.valid)
    metrics = {"accuracy": {"name": "accuracy", "value": float(run.report.success)}} if scored else {}
    score = {"name": SCORER, "scorer": SCORER, "scored_samples": scored, "unscored_samples": 1 - scored}
    return {"total_samples": 1, "completed_samples": scored, "scores": [{**score, "metrics": metrics}]}


def _reductions(run: RecordedRun) -> list[dict[str, Any]]:
    if not run.valid:
        return []
    sample = {"sample_id": run.contract, "value": float(run.report.success), "answer": _answer(run)}
    return [{"scorer": SCORER, "samples": [sample]}]


def _error(run: RecordedRun) -> dict[str, str]:
    message = "; ".join(run.report.problems) or run.report.status
    return {"message": message, "traceback": message, "traceback_ansi": message}


def _answer(run: RecordedRun) -> str:
    """The patch, as far as it is text."""
    return run.patch.decode("utf-8", "backslashreplace")


def _score(run: RecordedRun) -> dict[str, Any]:
    failed = [f"{gate.id}: {gate.why}" for gate in run.report.gates if not gate.passed]
    return {
        "value": "C" if run.report.success else "I",
        "answer": _answer(run),
        "explanation": "; ".join(failed) or run.report.status,
        "metadata": run.verdict(),
    }


def _sample(run: RecordedRun) -> dict[str, Any]:
    messages = [*_messages(run)]
    sample: dict[str, Any] = {
        "id": run.contract,
        "epoch": run.repeat,
        "input": run.briefing,
        "target": "",
        "messages": messages,
        "output": _last_output(run),
        "scores": {SCORER: _score(run)} if run.valid else {},
        "metadata": {"proctor": {**run.identity(), "verdict": run.verdict()}},
        "store": {},
        "events": [*_events(run)],
        "model_usage": _model_usage(run),
        "role_usage": {},
        "started_at": iso(run.started),
        "completed_at": iso(run.ended),
        "total_time": _seconds(run.ended - run.started),
        "working_time": _seconds(run.agent_ended - run.agent_started),
        "uuid": derived_id(run.id, "sample", length=22),
        "error_retries": [],
        "attachments": {},
        "turn_count": sum(message.answer for message in run.messages),
    }
    if not run.valid:
        sample["error"] = _error(run)
    return sample


def _summary(run: RecordedRun, sample: dict[str, Any]) -> dict[str, Any]:
    kept = ("id", "epoch", "input", "target", "scores", "model_usage", "role_usage", "started_at", "completed_at")
    found = {name: sample[name] for name in (*kept, "total_time", "working_time", "uuid", "turn_count")}
    found["metadata"] = {"run": run.id}
    found |= {"retries": 0, "completed": True, "message_count": len(sample["messages"])}
    return {**found, "error": _error(run)["message"]} if not run.valid else found


def _messages(run: RecordedRun) -> Iterator[dict[str, Any]]:
    if not run.messages:
        yield {"id": derived_id(run.id, "briefing", length=22), "role": "user", "content": run.briefing}
    for message in run.messages:
        yield from _message(run, message)


def _message(run: RecordedRun, message: Message) -> Iterator[dict[str, Any]]:
    """A message, and the results of its tool calls after it."""
    head = {"id": derived_id(run.id, message.seq, length=22), "metadata": {"event": message.seq, "call": message.call}}
    if message.role == "assistant":
        yield {**head, **_assistant(run, message)}
    else:
        role = "system" if message.role in ("system", "developer") else "user"
        yield {**head, "role": role, "content": message.text}
    for use in message.tools:
        if use.result is not None:
            error = {"error": {"type": "unknown", "message": use.result.text}} if use.result.failed else {}
            yield {
                "id": derived_id(run.id, use.result.seq, length=22),
                "role": "tool",
                "content": use.result.text,
                "tool_call_id": use.id,
                "function": use.name,
                "metadata": {"event": use.result.seq},
                **error,
            }


def _assistant(run: RecordedRun, message: Message) -> dict[str, Any]:
    content: Any = message.text
    if message.reasoning:
        content = [{"type": "reasoning", "reasoning": message.reasoning}, {"type": "text", "text": message.text}]
    found: dict[str, Any] = {"role": "assistant", "content": content}
    if message.answer:
        found |= {"source": "generate", "model": run.model or NO_MODEL}
    if message.tools:
        found["tool_calls"] = [
            {"id": use.id, "function": use.name, "arguments": arguments_of(use.arguments), "type": "function"}
            for use in message.tools
        ]
    return found


def _events(run: RecordedRun) -> Iterator[dict[str, Any]]:
    """The events of the sample in the order of time."""
    found = [(run.started, -1, "init", _init_event(run))]
    messages: dict[int, list[Message]] = {}
    for message in run.messages:
        messages.setdefault(message.call, []).append(message)
        for use in message.tools:
            if use.result is not None:
                event = {
                    "event": "tool",
                    "type": "function",
                    "id": use.id,
                    "function": use.name,
                    "arguments": arguments_of(use.arguments),
                    "result": use.result.text,
                    "completed": iso(use.result.t),
                    "failed": use.result.failed,
                }
                found.append((use.t, use.seq, "tool", event))
    for call in run.calls:
        found.append((call.start, call.seq, "model", _model_event(run, call, messages.get(call.number, []))))
    for one in run.invocations:
        data: dict[str, Any] = {"command": list(one.command), "directory": one.directory, "exit_code": one.exit_code}
        found.append((one.t, one.seq, "info", {"event": "info", "source": "tool.invocation", "data": data}))
    found += [(one.t, one.seq, "info", _notice(one)) for one in run.notices]
    if run.valid:
        event = {"event": "score", "score": _score(run), "scorer": SCORER, "target": ""}
        found.append((run.ended, 1 << 62, "score", event))
    for t, seq, kind, event in sorted(found, key=lambda one: one[:3]):
        yield {
            "uuid": derived_id(run.id, kind, seq, length=22),
            "timestamp": iso(t),
            "working_start": _seconds(max(t - run.started, 0)),
            "metadata": {"event": seq} if 0 <= seq < 1 << 62 else {},
            **event,
        }


def _init_event(run: RecordedRun) -> dict[str, Any]:
    sample = {"id": run.contract, "input": run.briefing, "target": ""}
    return {"event": "sample_init", "sample": sample, "state": {}}


def _notice(notice: Notice) -> dict[str, Any]:
    return {"event": "info", "source": notice.type, "data": {"actor": notice.actor, **notice.payload}}


def _model_event(run: RecordedRun, call: ModelCall, messages: Sequence[Message]) -> dict[str, Any]:
    given = [one for message in messages if not message.answer for one in _message(run, message)]
    event: dict[str, Any] = {
        "event": "model",
        "model": run.model or call.model,
        "input": given,
        "tools": [],
        "tool_choice": "auto",
        "config": {},
        "output": _output(run, call, [message for message in messages if message.answer]),
        "completed": iso(call.end),
        "working_time": _seconds(call.end - call.start),
    }
    return {**event, "error": call.error} if call.error else event


def _output(run: RecordedRun, call: ModelCall, answers: Sequence[Message]) -> dict[str, Any]:
    found: dict[str, Any] = {
        "model": call.answered_by or call.model,
        "choices": [
            {
                "message": {"id": derived_id(run.id, one.seq, length=22), **_assistant(run, one)},
                "stop_reason": STOPS.get(call.finish, "unknown"),
            }
            for one in answers
        ],
        "completion": answers[0].text if answers else "",
        "time": _seconds(call.end - call.start),
    }
    if call.usage:
        found["usage"] = _usage(call.usage)
    return found


def _last_output(run: RecordedRun) -> dict[str, Any]:
    """The output of the last call that had an answer."""
    answers = [message for message in run.messages if message.answer]
    calls = {call.number: call for call in run.calls}
    if not answers or answers[-1].call not in calls:
        return {"model": run.model or NO_MODEL, "choices": [], "completion": ""}
    return _output(run, calls[answers[-1].call], answers[-1:])


def _usage(usage: Usage) -> dict[str, Any]:
    found: dict[str, Any] = {
        "input_tokens": usage.input_tokens,
        "output_tokens": usage.output_tokens,
        "total_tokens": usage.input_tokens + usage.output_tokens,
        "input_tokens_cache_read": usage.cached_tokens,
        "reasoning_tokens": usage.reasoning_tokens,
    }
    return {**found, "total_cost": float(usage.usd)} if usage.usd is not None else found


def _model_usage(run: RecordedRun) -> dict[str, Any]:
    total: Counter[str] = Counter()
    for call in run.calls:
        if call.usage:
            total.update({name: value for name, value in _usage(call.usage).items() if name != "total_cost"})
    return {run.model or run.calls[0].model: dict(total)} if total else {}


def _seconds(nanoseconds: int) -> float:
    return round(nanoseconds / NANOSECONDS, 6)


class InspectFormat:
    """Writes ``RUN.eval`` for each run."""

    name, version = "inspect", f"EvalLog {VERSION}"

    def export(self, runs: Sequence[RecordedRun]) -> tuple[Exported, ...]:
        """The runs, each with its losses."""
        return tuple(
            Exported(
                run.id,
                (ExportedFile(f"{run.id}.eval", archive(run)),),
                (*common_losses(run), *conversation_losses(run), *_losses(run)),
            )
            for run in runs
        )

    def index(self, runs: Sequence[RecordedRun]) -> tuple[ExportedFile, ...]:
        """No files about all runs."""
        return ()


def _losses(run: RecordedRun) -> Iterator[Loss]:
    if len(run.calls) > 1:
        yield Loss("repeated-messages", {"calls": len(run.calls)})
    if any(call.tools for call in run.calls):
        yield Loss("tool-schemas", {"tools": len({name for call in run.calls for name in call.tools})})
    cost = run.report.usage.cost
    if cost is not None and cost.usd is not None:
        yield Loss("total-cost", {"usd": cost.usd})


FORMAT = InspectFormat()
