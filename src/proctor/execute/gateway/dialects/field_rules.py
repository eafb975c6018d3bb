"""Which fields of a request may reach a provider. Pure.

A dialect lists the fields that it knows:

    passed    forwarded as they are
    state     name what a provider has kept of earlier requests: refused
    tools     let the provider act outside the sandbox: stripped, refused or passed, as ``provider_tools`` says
    routing   let the provider choose another model or company: refused

Every other field is unknown: stripped, refused or passed, as ``unknown_fields`` says. Whatever is stripped or passed by
such a policy is recorded with the request. The same holds inside those passed fields whose parts can change what a
provider bills or does (``parts``); conversations and tools are read by the dialects themselves.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field

from proctor.execute.gateway.dialects.interface import Body, Refused, Rules

STRIP, REFUSE = "strip", "refuse"
MOST_NAMED = 20
NAME_CHARACTERS = 60
_SNAKE = re.compile(r"_?[a-z0-9]+(_[a-z0-9]+)+")


@dataclass(frozen=True)
class Fields:
    """The fields of a request that a dialect knows."""

    passed: frozenset[str]
    state: frozenset[str] = frozenset()
    tools: frozenset[str] = frozenset()
    routing: frozenset[str] = frozenset()
    parts: Mapping[str, frozenset[str]] = field(default_factory=dict)


_STREAM = frozenset(("include_usage", "include_obfuscation"))
_CACHE = frozenset(("type", "ttl"))

CHAT = Fields(
    passed=frozenset(
        (
            *(
                "messages",
                "model",
                "stream",
                "stream_options",
                "max_tokens",
                "max_completion_tokens",
                "n",
                "stop",
                "seed",
            ),
            *("tools", "tool_choice", "parallel_tool_calls", "functions", "function_call", "response_format"),
            *("temperature", "top_p", "top_k", "top_a", "min_p", "frequency_penalty", "presence_penalty"),
            *("repetition_penalty", "logit_bias", "logprobs", "top_logprobs", "prediction", "verbosity"),
            *("reasoning", "reasoning_effort", "include_reasoning", "thinking", "enable_thinking", "thinking_budget"),
            *("chat_template_kwargs", "user", "metadata", "safety_identifier", "usage"),
            *("prompt_cache_key", "prompt_cache_retention", "cache_control", "store"),
        )
    ),
    state=frozenset(("previous_response_id", "conversation")),
    tools=frozenset(
        ("web_search_options", "web_search", "enable_search", "search_options", "search_parameters", "plugins")
    ),
    routing=frozenset(("models", "route", "provider", "transforms", "fallbacks")),
    parts={
        "stream_options": _STREAM,
        "reasoning": frozenset(("effort", "max_tokens", "exclude", "enabled", "summary")),
        "thinking": frozenset(("type", "budget_tokens", "clear_thinking")),
        "response_format": frozenset(("type", "json_schema", "schema", "grammar")),
        "prediction": frozenset(("type", "content")),
        "usage": frozenset(("include",)),
        "cache_control": _CACHE,
    },
)

RESPONSES = Fields(
    passed=frozenset(
        (
            *(
                "input",
                "instructions",
                "model",
                "stream",
                "stream_options",
                "max_output_tokens",
                "include",
                "truncation",
            ),
            *(
                "tools",
                "tool_choice",
                "parallel_tool_calls",
                "max_tool_calls",
                "reasoning",
                "text",
                "temperature",
                "top_p",
            ),
            *("top_logprobs", "user", "metadata", "client_metadata", "safety_identifier"),
            *("prompt_cache_key", "prompt_cache_retention", "store"),
        )
    ),
    state=frozenset(("previous_response_id", "conversation", "background", "prompt")),
    routing=CHAT.routing,
    parts={
        "stream_options": _STREAM,
        "reasoning": frozenset(("effort", "summary", "generate_summary", "encrypted_content")),
        "text": frozenset(("format", "verbosity")),
    },
)

ANTHROPIC = Fields(
    passed=frozenset(
        (
            *(
                "messages",
                "model",
                "stream",
                "max_tokens",
                "system",
                "stop_sequences",
                "metadata",
                "tools",
                "tool_choice",
            ),
            *("temperature", "top_p", "top_k", "thinking", "output_config", "output_format", "context_management"),
            "cache_control",
        )
    ),
    state=frozenset(("container",)),
    tools=frozenset(("mcp_servers",)),
    routing=CHAT.routing,
    parts={
        "thinking": frozenset(("type", "budget_tokens", "display")),
        "output_config": frozenset(("effort", "format", "task_budget")),
        "context_management": frozenset(("edits",)),
        "metadata": frozenset(("user_id",)),
        "tool_choice": frozenset(("type", "name", "disable_parallel_tool_use")),
        "cache_control": _CACHE,
    },
)

GEMINI = Fields(
    passed=frozenset(("contents", "tools", "toolConfig", "safetySettings", "systemInstruction", "generationConfig")),
    state=frozenset(("cachedContent",)),
    parts={
        "toolConfig": frozenset(("functionCallingConfig",)),
        "systemInstruction": frozenset(("parts", "role")),
    },
)
"""By their names in camel case; names in snake case mean the same."""

GEMINI_CONFIG = Fields(
    passed=frozenset(
        (
            *("candidateCount", "maxOutputTokens", "stopSequences", "seed", "temperature", "topP", "topK"),
            *("presencePenalty", "frequencyPenalty", "responseMimeType", "responseSchema", "responseJsonSchema"),
            *("_responseJsonSchema", "responseLogprobs", "logprobs", "thinkingConfig", "mediaResolution"),
        )
    ),
    routing=frozenset(("routingConfig", "modelSelectionConfig", "modelConfig")),
    parts={"thinkingConfig": frozenset(("thinkingBudget", "includeThoughts", "thinkingLevel"))},
)


def filter_fields(body: Body, fields: Fields, rules: Rules, *, spelled: bool = False) -> list[str]:
    """Take fields out of ``body`` that may not reach the provider, or refuse the request; what was done.

    With ``spelled``, names in snake case are looked up in camel case.
    """
    changes = _filter(body, fields, rules, spelled)
    if len(changes) > MOST_NAMED:
        return [*changes[:MOST_NAMED], f"stripped or passed {len(changes) - MOST_NAMED} more"]
    return changes


def _filter(body: Body, fields: Fields, rules: Rules, spelled: bool, within: str = "") -> list[str]:
    """The same without a bound on the number of messages; ``within`` names the field whose parts these are."""
    changes: list[str] = []
    for name, value in list(body.items()):
        known = camel_case(name) if spelled else name
        shown = within + name[:NAME_CHARACTERS]
        if known in fields.passed:
            if known in fields.parts and isinstance(value, dict):
                body[name] = dict(value)
                changes += _filter(body[name], Fields(fields.parts[known]), rules, spelled, f"{shown}.")
            continue
        policy, code, why = _policy(known, fields, rules)
        if policy == STRIP or value in (None, False, "", []):
            del body[name]
            changes.append(f"stripped {shown}")
        elif policy == REFUSE:
            raise Refused(code, f"{shown} {why}", 400 if code in ("server-state", "unknown-field") else 403)
        else:
            changes.append(f"passed {shown}")
    return changes


def filter_edits(body: Body, rules: Rules) -> list[str]:
    """Treat edits of a context as unknown that do more than leave parts of it out: a summary is billed apart."""
    context = body.get("context_management")
    edits = context.get("edits") if isinstance(context, dict) else None
    if not isinstance(edits, list):
        return []
    kept = [one for one in edits if isinstance(one, dict) and str(one.get("type")).startswith("clear_")]
    if len(kept) == len(edits):
        return []
    if rules.unknown_fields == REFUSE:
        raise Refused("unknown-field", "context_management.edits has an edit that is not known here")
    if rules.unknown_fields != STRIP:
        return ["passed edits of context_management"]
    body["context_management"] = {**body["context_management"], "edits": kept}
    return ["stripped edits of context_management"]


def camel_case(name: str) -> str:
    """A name such as ``max_output_tokens`` as ``maxOutputTokens``; one that is not in snake case as it is."""
    if not _SNAKE.fullmatch(name):
        return name
    first, *others = name[1:].split("_")
    return name[:1] + first + "".join(part[:1].upper() + part[1:] for part in others)


def _policy(name: str, fields: Fields, rules: Rules) -> tuple[str, str, str]:
    """What becomes of a field that is not passed by itself: the policy, the code of a refusal, and its reason."""
    if name in fields.state:
        return REFUSE, "server-state", "names what the provider has kept; send the whole conversation"
    if name in fields.routing:
        return REFUSE, "routing", "lets the provider choose another model, which is not allowed here"
    if name in fields.tools:
        return rules.provider_tools, "provider-tool", "leaves the sandbox and is not allowed here"
    return rules.unknown_fields, "unknown-field", "is not known here"
