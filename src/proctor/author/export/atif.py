"""Agent Trajectory Interchange Format v1.8: one trajectory for each run.

A message is a step, in the order of the record. The results of tools are observations of the step that called them. A
run without a model has the commands that the harness ran as steps, with no model call. Alerts, interventions and acts
of operators have no place among steps: they are in ``extra`` of the trajectory.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from proctor.author.export.interface import Exported, ExportedFile, Loss
from proctor.author.export.recorded_run import Message, RecordedRun, ToolUse, Usage, iso
from proctor.author.export.run_losses import arguments_of, common_losses, conversation_losses, json_text

VERSION = "ATIF-v1.8"
SOURCES = {"system": "system", "developer": "system", "user": "user", "assistant": "agent"}
"""The source of a step for each role; any other role counts as the user's side."""


def trajectory(run: RecordedRun) -> dict[str, Any]:
    """The trajectory of a run."""
    steps = [{"step_id": number, **step} for number, step in enumerate(_steps(run), 1)]
    found: dict[str, Any] = {
        "schema_version": VERSION,
        "session_id": run.id,
        "trajectory_id": run.id,
        "agent": _agent(run),
        "steps": steps,
        "final_metrics": _final_metrics(run, len(steps)),
        "extra": {
            "proctor": {
                **run.identity(),
                "verdict": run.verdict(),
                "notices": [notice.record() for notice in run.notices],
                "patch_bytes": len(run.patch),
            }
        },
    }
    return found


def _agent(run: RecordedRun) -> dict[str, Any]:
    agent = run.manifest.agent
    found: dict[str, Any] = {"name": agent.name, "version": agent.digest[:19] or "unknown"}
    if run.model:
        found["model_name"] = run.model
    tools = sorted({name for call in run.calls for name in call.tools})
    if tools:
        found["tool_definitions"] = [{"name": name} for name in tools]
    found["extra"] = {"kind": agent.kind, "settings": dict(agent.settings)}
    return found


def _steps(run: RecordedRun) -> Iterator[dict[str, Any]]:
    if not run.messages:
        yield {"timestamp": iso(run.agent_started), "source": "user", "message": run.briefing}
        for one in run.invocations:
            name = f"invocation-{one.seq}"
            result = {"source_call_id": name, "content": one.output, "extra": {"exit_code": one.exit_code}}
            yield {
                "timestamp": iso(one.t),
                "source": "agent",
                "message": "",
                "llm_call_count": 0,
                "tool_calls": [
                    {
                        "tool_call_id": name,
                        "function_name": "command",
                        "arguments": {"command": list(one.command), "directory": one.directory},
                    }
                ],
                "observation": {"results": [result]},
                "extra": {"event": one.seq},
            }
        return
    usages = {call.number: call.usage for call in run.calls}
    models = {call.number: call.answered_by or call.model for call in run.calls}
    for message in run.messages:
        yield _step(message, usages, models)


def _step(message: Message, usages: Mapping[int, Usage | None], models: Mapping[int, str]) -> dict[str, Any]:
    source = SOURCES.get(message.role, "user")
    step: dict[str, Any] = {"timestamp": iso(message.t), "source": source, "message": message.text}
    step["extra"] = {"event": message.seq, "call": message.call}
    if source != "agent":
        if message.role not in SOURCES:
            step["extra"]["role"] = message.role
        return step
    step["llm_call_count"] = 1 if message.answer else 0
    if message.answer and models.get(message.call):
        step["model_name"] = models[message.call]
    if message.reasoning:
        step["reasoning_content"] = message.reasoning
    if message.tools:
        step["tool_calls"] = [
            {
                "tool_call_id": use.id,
                "function_name": use.name or "unknown",
                "arguments": arguments_of(use.arguments),
                "extra": {"event": use.seq},
            }
            for use in message.tools
        ]
        results = [_result(use) for use in message.tools if use.result]
        if results:
            step["observation"] = {"results": results}
    usage = usages.get(message.call)
    if message.answer and usage:
        step["metrics"] = _metrics(usage)
    return step


def _result(use: ToolUse) -> dict[str, Any]:
    assert use.result is not None
    extra = {"event": use.result.seq, "failed": use.result.failed}
    return {"source_call_id": use.id, "content": use.result.text, "extra": extra}


def _metrics(usage: Usage) -> dict[str, Any]:
    found: dict[str, Any] = {
        "prompt_tokens": usage.input_tokens,
        "completion_tokens": usage.output_tokens,
        "cached_tokens": usage.cached_tokens,
        "extra": {"reasoning_tokens": usage.reasoning_tokens, "estimated": usage.estimated},
    }
    if usage.usd is not None:
        found["cost_usd"] = float(usage.usd)
    return found


def _final_metrics(run: RecordedRun, steps: int) -> dict[str, Any]:
    found: dict[str, Any] = {"total_steps": steps}
    used = [call.usage for call in run.calls if call.usage]
    if used:
        found["total_prompt_tokens"] = sum(one.input_tokens for one in used)
        found["total_completion_tokens"] = sum(one.output_tokens for one in used)
        found["total_cached_tokens"] = sum(one.cached_tokens for one in used)
    cost = run.report.usage.cost
    if cost is not None and cost.usd is not None:
        found["total_cost_usd"] = float(cost.usd)
    return found


class AtifFormat:
    """Writes ``RUN.json`` for each run."""

    name, version = "atif", VERSION

    def export(self, runs: Sequence[RecordedRun]) -> tuple[Exported, ...]:
        """The runs, each with its losses."""
        return tuple(
            Exported(
                run.id,
                (ExportedFile(f"{run.id}.json", json_text(trajectory(run), indent=1)),),
                (*common_losses(run), *conversation_losses(run), *patch_losses(run), *trajectory_losses(run)),
            )
            for run in runs
        )

    def index(self, runs: Sequence[RecordedRun]) -> tuple[ExportedFile, ...]:
        """No files about all runs."""
        return ()


def patch_losses(run: RecordedRun) -> Iterator[Loss]:
    """The patch has no place in a trajectory."""
    if run.patch:
        yield Loss("patch", {"bytes": len(run.patch)})


def trajectory_losses(run: RecordedRun) -> Iterator[Loss]:
    """What a trajectory loses besides."""
    if any(call.tools for call in run.calls):
        yield Loss("tool-schemas", {"tools": len({name for call in run.calls for name in call.tools})})


FORMAT = AtifFormat()
