"""The rules of the other tools that exports use, as JSON Schemas that refuse every key that is not listed.

They are written from the documentation of the formats, with the fields that Proctor writes: a new field needs an entry
here, and a look at the peer's own validator (``make peers``).
"""

from __future__ import annotations

from typing import Any

Schema = dict[str, Any]

TEXT: Schema = {"type": "string"}
NUMBER: Schema = {"type": "number"}
WHOLE: Schema = {"type": "integer"}
FLAG: Schema = {"type": "boolean"}
ANY: Schema = {"type": "object"}
TIME: Schema = {"type": "string", "pattern": r"^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?Z$"}
COUNT: Schema = {"type": "integer", "minimum": 0}


def many(item: Schema, least: int = 0) -> Schema:
    return {"type": "array", "items": item, "minItems": least}


def record(needed: dict[str, Schema], others: dict[str, Schema] | None = None) -> Schema:
    """An object with these keys and no others."""
    return {
        "type": "object",
        "properties": {**needed, **(others or {})},
        "required": sorted(needed),
        "additionalProperties": False,
    }


def one_of(*values: Any) -> Schema:
    return {"enum": list(values)}


# ATIF v1.8

_ATIF_RESULT = record({"source_call_id": TEXT, "content": TEXT}, {"extra": ANY})
_ATIF_CALL = record({"tool_call_id": TEXT, "function_name": TEXT, "arguments": ANY}, {"extra": ANY})
_ATIF_METRICS = record({}, {
    "prompt_tokens": WHOLE, "completion_tokens": WHOLE, "cached_tokens": WHOLE, "cost_usd": NUMBER, "extra": ANY,
})  # fmt: skip
_ATIF_COMMON = {"step_id": {"type": "integer", "minimum": 1}, "timestamp": TIME, "message": TEXT}
_ATIF_AGENT_STEP = record(
    {**_ATIF_COMMON, "source": one_of("agent")},
    {
        "model_name": TEXT,
        "reasoning_content": TEXT,
        "tool_calls": many(_ATIF_CALL, 1),
        "observation": record({"results": many(_ATIF_RESULT, 1)}),
        "metrics": _ATIF_METRICS,
        "llm_call_count": COUNT,
        "extra": ANY,
    },
)
_ATIF_OTHER_STEP = record({**_ATIF_COMMON, "source": one_of("system", "user")}, {"extra": ANY})
ATIF = record(
    {
        "schema_version": one_of("ATIF-v1.8"),
        "session_id": TEXT,
        "trajectory_id": TEXT,
        "agent": record(
            {"name": TEXT, "version": TEXT}, {"model_name": TEXT, "tool_definitions": many(ANY), "extra": ANY}
        ),
        "steps": many({"oneOf": [_ATIF_AGENT_STEP, _ATIF_OTHER_STEP]}, 1),
        "final_metrics": record(
            {"total_steps": COUNT},
            {
                "total_prompt_tokens": WHOLE,
                "total_completion_tokens": WHOLE,
                "total_cached_tokens": WHOLE,
                "total_cost_usd": NUMBER,
            },
        ),
        "extra": ANY,
    }
)

# Harbor task 1.4

_NO_NETWORK = {"network_mode": one_of("no-network"), "build_timeout_sec": NUMBER, "os": one_of("linux")}
HARBOR_TASK = record(
    {
        "schema_version": one_of("1.4"),
        "artifacts": many(TEXT, 1),
        "task": record(
            {
                "name": {"type": "string", "pattern": "^[a-zA-Z0-9][a-zA-Z0-9._-]*/[a-zA-Z0-9][a-zA-Z0-9._-]*$"},
                "version": {"type": "string", "minLength": 1},
                "description": TEXT,
                "keywords": many(TEXT),
            }
        ),
        "metadata": ANY,
        "agent": record({"timeout_sec": NUMBER}),
        "environment": record({**_NO_NETWORK, "memory_mb": WHOLE, "workdir": TEXT}, {"storage_mb": WHOLE}),
        "verifier": record(
            {
                "timeout_sec": NUMBER,
                "environment_mode": one_of("separate"),
                "environment": record({**_NO_NETWORK, "memory_mb": WHOLE}),
            }
        ),
    }
)

# Harbor job: trials as the viewer reads them

_HARBOR_AGENT = record({"name": TEXT}, {"model_name": TEXT})
HARBOR_TRIAL_CONFIG = record(
    {"task": record({"path": TEXT}), "trial_name": TEXT, "trials_dir": TEXT, "agent": _HARBOR_AGENT}
)
_HARBOR_TIMES = record({"started_at": TIME, "finished_at": TIME})
_HARBOR_TOKENS = {"n_input_tokens": WHOLE, "n_cache_tokens": WHOLE, "n_output_tokens": WHOLE, "cost_usd": NUMBER}
_UUID: Schema = {"type": "string", "pattern": "^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$"}
HARBOR_TRIAL = record(
    {
        "id": _UUID,
        "task_name": TEXT,
        "trial_name": TEXT,
        "trial_uri": TEXT,
        "task_id": record({"path": TEXT}),
        "task_checksum": {"type": "string", "pattern": "^[0-9a-f]{64}$"},
        "config": HARBOR_TRIAL_CONFIG,
        "agent_info": record(
            {"name": TEXT, "version": TEXT}, {"model_info": record({"name": TEXT}, {"provider": TEXT})}
        ),
        "agent_result": record({"metadata": ANY}, _HARBOR_TOKENS),
        "started_at": TIME,
        "finished_at": TIME,
        "agent_execution": _HARBOR_TIMES,
    },
    {
        "verifier_result": record({"rewards": record({"reward": one_of(0, 1)})}),
        "exception_info": record(
            {"exception_type": TEXT, "exception_message": TEXT, "exception_traceback": TEXT, "occurred_at": TIME}
        ),
    },
)
_HARBOR_IDS: Schema = {"type": "object", "additionalProperties": many(TEXT)}
_HARBOR_EVALUATION = record(
    {
        "n_trials": COUNT,
        "n_errors": COUNT,
        "reward_stats": record({"reward": _HARBOR_IDS}),
        "exception_stats": _HARBOR_IDS,
    }
)
HARBOR_JOB = record(
    {
        "id": _UUID,
        "started_at": TIME,
        "finished_at": TIME,
        "n_total_trials": COUNT,
        "stats": record(
            {
                "n_completed_trials": COUNT,
                "n_errored_trials": COUNT,
                "evals": {"type": "object", "additionalProperties": _HARBOR_EVALUATION},
            },
            _HARBOR_TOKENS,
        ),
    }
)

# SWE-bench 5

_ROW = {
    "instance_id": TEXT,
    "repo": {"type": "string", "pattern": "^[^/]+/[^/]+$"},
    "version": TEXT,
    "base_commit": TEXT,
    "environment_setup_commit": TEXT,
    "image": {"type": "string", "pattern": r"^swebench/sweb\.eval\.x86_64\.[a-z0-9._-]+:latest$"},
    "log_parser": one_of("parse_log_pytest"),
    "eval_type": one_of("pass_and_fail"),
}
SWEBENCH_TASK = record({**_ROW, "datasets": many(TEXT, 1), "split": one_of("test")})
SWEBENCH_INSTANCE = record(
    {
        **_ROW,
        **dict.fromkeys(("patch", "test_patch", "eval_script", "problem_statement", "hints_text"), TEXT),
        **dict.fromkeys(("FAIL_TO_PASS", "PASS_TO_PASS"), TEXT),
    }
)
SWEBENCH_PREDICTION = record({"instance_id": TEXT, "model_name_or_path": TEXT, "model_patch": TEXT})
_LISTS = record({"success": many(TEXT), "failure": many(TEXT)})
SWEBENCH_INSTANCE_REPORT = record(
    {
        "patch_is_None": FLAG,
        "patch_exists": FLAG,
        "patch_successfully_applied": FLAG,
        "resolved": FLAG,
        "infra_failure": FLAG,
        "infra_failure_reason": {"type": ["string", "null"]},
        "tests_status": record({"FAIL_TO_PASS": _LISTS, "PASS_TO_PASS": _LISTS}),
    }
)
_COUNTED = (
    *("total", "submitted", "completed", "resolved", "unresolved", "infra_failure", "ambiguous_failure"),
    *("empty_patch", "error"),
)
_LISTED = (
    *("completed", "incomplete", "empty_patch", "submitted", "resolved", "unresolved", "infra_failure"),
    *("ambiguous_failure", "error"),
)
SWEBENCH_REPORT = record(
    {
        **{f"{name}_instances": COUNT for name in _COUNTED},
        **{f"{name}_ids": many(TEXT) for name in _LISTED},
        "failure_reasons": {"type": "object", "additionalProperties": TEXT},
        "schema_version": one_of(2),
    }
)

# OTLP/JSON: 64-bit integers are text, ids are hexadecimal digits

_OTLP_PLAIN = [record({"stringValue": TEXT}), record({"intValue": {"type": "string", "pattern": r"^-?\d+$"}})]
_OTLP_VALUE: Schema = {
    "oneOf": [*_OTLP_PLAIN, record({"arrayValue": record({"values": many({"oneOf": _OTLP_PLAIN})})})]
}
_OTLP_ATTRIBUTES = many(record({"key": TEXT, "value": _OTLP_VALUE}))
_NANOSECONDS: Schema = {"type": "string", "pattern": r"^\d{19}$"}
_OTLP_EVENT = record({"timeUnixNano": _NANOSECONDS, "name": TEXT, "attributes": _OTLP_ATTRIBUTES})
_OTLP_SPAN = record(
    {
        "traceId": {"type": "string", "pattern": "^[0-9a-f]{32}$"},
        "spanId": {"type": "string", "pattern": "^[0-9a-f]{16}$"},
        "name": {"type": "string", "pattern": "^(invoke_agent|chat|execute_tool) "},
        "kind": one_of(1, 3),
        "startTimeUnixNano": _NANOSECONDS,
        "endTimeUnixNano": _NANOSECONDS,
        "attributes": _OTLP_ATTRIBUTES,
        "status": record({}, {"code": one_of(2), "message": TEXT}),
    },
    {"parentSpanId": {"type": "string", "pattern": "^[0-9a-f]{16}$"}, "events": many(_OTLP_EVENT)},
)
_OTLP_SCOPE = record(
    {"scope": record({"name": TEXT, "version": TEXT}), "schemaUrl": TEXT, "spans": many(_OTLP_SPAN, 1)}
)
OTLP = record(
    {
        "resourceSpans": many(
            record({"resource": record({"attributes": _OTLP_ATTRIBUTES}), "scopeSpans": many(_OTLP_SCOPE, 1)}), 1
        )
    }
)
GEN_AI = frozenset(
    f"gen_ai.{name}"
    for name in (
        *("operation.name", "agent.name", "conversation.id", "provider.name", "request.model", "response.model"),
        *("response.finish_reasons", "usage.input_tokens", "usage.output_tokens", "system_instructions"),
        *("input.messages", "output.messages", "tool.name", "tool.type", "tool.call.id", "tool.call.arguments"),
        "tool.call.result",
    )
)
"""The names of the GenAI conventions that spans may have; other names begin with ``proctor.`` or are ``error.type``."""

# Inspect EvalLog 2

_INSPECT_ID = {"type": "string", "pattern": "^[0-9a-f]{22}$"}
_INSPECT_USAGE = record(
    {"input_tokens": WHOLE, "output_tokens": WHOLE, "total_tokens": WHOLE},
    {"input_tokens_cache_read": WHOLE, "reasoning_tokens": WHOLE, "total_cost": NUMBER},
)
_INSPECT_USAGES: Schema = {"type": "object", "additionalProperties": _INSPECT_USAGE}
_INSPECT_PART = {
    "oneOf": [
        record({"type": one_of("text"), "text": TEXT}),
        record({"type": one_of("reasoning"), "reasoning": TEXT}),
    ]
}
_INSPECT_CALL = record({"id": TEXT, "function": TEXT, "arguments": ANY, "type": one_of("function")})
_INSPECT_ASSISTANT = record(
    {"id": _INSPECT_ID, "role": one_of("assistant"), "content": {"anyOf": [TEXT, many(_INSPECT_PART)]}},
    {"source": one_of("generate"), "model": TEXT, "tool_calls": many(_INSPECT_CALL, 1), "metadata": ANY},
)
_INSPECT_ERROR = record({"type": one_of("unknown"), "message": TEXT})
_INSPECT_MESSAGE: Schema = {
    "oneOf": [
        record({"id": _INSPECT_ID, "role": one_of("system", "user"), "content": TEXT}, {"metadata": ANY}),
        record(
            {"id": _INSPECT_ID, "role": one_of("tool"), "content": TEXT, "tool_call_id": TEXT, "function": TEXT},
            {"metadata": ANY, "error": _INSPECT_ERROR},
        ),
        _INSPECT_ASSISTANT,
    ]
}
_INSPECT_CHOICE = record(
    {
        "message": _INSPECT_ASSISTANT,
        "stop_reason": one_of("stop", "max_tokens", "model_length", "tool_calls", "content_filter", "unknown"),
    }
)
_INSPECT_OUTPUT = record(
    {"model": TEXT, "choices": many(_INSPECT_CHOICE), "completion": TEXT}, {"time": NUMBER, "usage": _INSPECT_USAGE}
)
_INSPECT_SCORE = record({"value": one_of("C", "I"), "answer": TEXT, "explanation": TEXT, "metadata": ANY})
_INSPECT_HEAD = {"uuid": _INSPECT_ID, "timestamp": TIME, "working_start": NUMBER, "metadata": ANY}
_INSPECT_EVENT: Schema = {
    "oneOf": [
        record(
            {
                **_INSPECT_HEAD,
                "event": one_of("sample_init"),
                "sample": record({"id": TEXT, "input": TEXT, "target": TEXT}),
                "state": ANY,
            }
        ),
        record(
            {
                **_INSPECT_HEAD,
                "event": one_of("model"),
                "model": TEXT,
                "input": many(_INSPECT_MESSAGE),
                "tools": many(ANY),
                "tool_choice": one_of("auto"),
                "config": ANY,
                "output": _INSPECT_OUTPUT,
                "completed": TIME,
                "working_time": NUMBER,
            },
            {"error": TEXT},
        ),
        record(
            {
                **_INSPECT_HEAD,
                "event": one_of("tool"),
                "type": one_of("function"),
                "id": TEXT,
                "function": TEXT,
                "arguments": ANY,
                "result": TEXT,
                "completed": TIME,
                "failed": FLAG,
            }
        ),
        record({**_INSPECT_HEAD, "event": one_of("info"), "source": TEXT, "data": ANY}),
        record({**_INSPECT_HEAD, "event": one_of("score"), "score": _INSPECT_SCORE, "scorer": TEXT, "target": TEXT}),
    ]
}
_INSPECT_FAULT = record({"message": TEXT, "traceback": TEXT, "traceback_ansi": TEXT})
INSPECT_SAMPLE = record(
    {
        "id": TEXT,
        "epoch": {"type": "integer", "minimum": 1},
        "input": TEXT,
        "target": TEXT,
        "messages": many(_INSPECT_MESSAGE, 1),
        "output": _INSPECT_OUTPUT,
        "scores": {"type": "object", "additionalProperties": _INSPECT_SCORE},
        "metadata": ANY,
        "store": ANY,
        "events": many(_INSPECT_EVENT, 1),
        "model_usage": _INSPECT_USAGES,
        "role_usage": ANY,
        "started_at": TIME,
        "completed_at": TIME,
        "total_time": NUMBER,
        "working_time": NUMBER,
        "uuid": _INSPECT_ID,
        "error_retries": many(ANY),
        "attachments": ANY,
        "turn_count": COUNT,
    },
    {"error": _INSPECT_FAULT},
)
_INSPECT_EVAL = record(
    {
        "eval_id": TEXT,
        "run_id": TEXT,
        "created": TIME,
        "task": TEXT,
        "task_id": TEXT,
        "task_version": TEXT,
        "task_display_name": TEXT,
        "solver": TEXT,
        "dataset": record({"name": TEXT, "samples": WHOLE, "sample_ids": many(TEXT), "shuffled": FLAG}),
        "model": TEXT,
        "config": record({"epochs": WHOLE}),
        "packages": ANY,
        "metadata": ANY,
        "scorers": many(record({"name": TEXT})),
    }
)
_INSPECT_PLAN = record({"name": TEXT, "steps": many(record({"solver": TEXT, "params": ANY, "params_passed": ANY}))})
_INSPECT_METRIC = record({"name": TEXT, "value": NUMBER})
INSPECT_START = record({"version": one_of(2), "eval": _INSPECT_EVAL, "plan": _INSPECT_PLAN})
INSPECT_HEADER = record(
    {
        "version": one_of(2),
        "status": one_of("success", "error"),
        "eval": _INSPECT_EVAL,
        "plan": _INSPECT_PLAN,
        "results": record(
            {
                "total_samples": WHOLE,
                "completed_samples": WHOLE,
                "scores": many(
                    record(
                        {
                            "name": TEXT,
                            "scorer": TEXT,
                            "scored_samples": WHOLE,
                            "unscored_samples": WHOLE,
                            "metrics": {"type": "object", "additionalProperties": _INSPECT_METRIC},
                        }
                    )
                ),
            }
        ),
        "stats": record({"started_at": TIME, "completed_at": TIME, "model_usage": _INSPECT_USAGES, "role_usage": ANY}),
        "invalidated": FLAG,
        "tags": many(TEXT),
        "metadata": ANY,
    },
    {"error": _INSPECT_FAULT},
)
INSPECT_REDUCTIONS = many(
    record({"scorer": TEXT, "samples": many(record({"sample_id": TEXT, "value": NUMBER, "answer": TEXT}))})
)
