"""OpenAI Chat Completions, and the many compatible servers."""

from __future__ import annotations

from typing import Any

from proctor.execute.gateway.dialects.field_rules import CHAT, filter_fields
from proctor.execute.gateway.dialects.interface import (
    GENERATE,
    MODELS,
    Body,
    Call,
    Message,
    ModelAnswer,
    ModelRequest,
    Refused,
    Result,
    Route,
    Rules,
    Tool,
    Usage,
)
from proctor.execute.gateway.dialects.provider_json import (
    both_counts,
    budget,
    count,
    filter_tools,
    inner,
    json_text,
    keep_one_limit,
    map_model,
    maximum,
    money,
    objects,
    opaque,
    refuse_remote,
    refuse_store,
    text,
)
from proctor.execute.monitor.price_table import tier_of

USAGE_ASKED = "asked for usage at the end of the stream"

_PATHS = {"/v1/chat/completions": GENERATE, "/chat/completions": GENERATE}
_LISTS = ("/v1/models", "/models")
_LIMITS = ("max_completion_tokens", "max_tokens")
_BROKEN = ("error", "insufficient_system_resource")
"""Finish reasons of answers that a provider could not finish."""


class Chat:
    """``POST /v1/chat/completions``."""

    name = "chat"

    def route(self, method: str, path: str) -> Route | None:
        if method == "GET" and path.startswith(_LISTS):
            return Route(self.name, MODELS, path)
        kind = _PATHS.get(path) if method == "POST" else None
        return Route(self.name, kind, "/v1/chat/completions") if kind else None

    def asked(self, body: Body, route: Route) -> ModelRequest:
        return ModelRequest(
            model=text(body.get("model")),
            messages=tuple(_message(item) for item in objects(body.get("messages"))),
            tools=tuple(_tools(body)),
            max_output=maximum(body, *_LIMITS),
            more_output=_more_output(body),
            stream=body.get("stream") is True,
            choices=max(count(body.get("n")), count(body.get("best_of")), 1),
        )

    def prepare(self, body: Body, route: Route, rules: Rules) -> list[str]:
        changes = filter_fields(body, CHAT, rules)
        refuse_store(body)
        refuse_remote(body.get("messages"), rules)
        changes += filter_tools(body, rules, lambda tool: tool.get("type") in ("function", "custom"), _kind)
        body["model"] = map_model(text(body.get("model")), rules)
        if type(body.get("n")) not in (int, type(None)) or (body.get("n") or 1) not in range(1, 129):
            raise Refused("malformed", "n must be a whole number from 1 to 128")
        changes += keep_one_limit(body, *_LIMITS)
        if body.get("stream") is True and inner(body, "stream_options").get("include_usage") is not True:
            body["stream_options"] = {**inner(body, "stream_options"), "include_usage": True}
            changes.append(USAGE_ASKED)
        return changes

    def limit(self, body: Body, tokens: int) -> str:
        name = next((name for name in _LIMITS if body.get(name) is not None), _LIMITS[0])
        body[name] = tokens
        return name

    def forwarded_path(self, route: Route, rules: Rules) -> str:
        return route.path

    def answered(self, body: Any) -> ModelAnswer:
        collector = ChatCollector()
        for choice in objects(body.get("choices")) if isinstance(body, dict) else []:
            collector.add(choice, inner(choice, "message"))
        collector.add_rest(body if isinstance(body, dict) else {})
        return collector.answered()

    def collector(self, changes: list[str]) -> ChatCollector:
        return ChatCollector(hide_usage=USAGE_ASKED in changes)

    def error(self, status: int, code: str, message: str) -> Body:
        kind = {401: "authentication_error", 403: "permission_error", 404: "not_found_error", 429: "rate_limit_error"}
        fallback = "invalid_request_error" if status < 500 else "server_error"
        return {"error": {"message": message, "type": kind.get(status, fallback), "param": None, "code": code}}

    def headers(self, key: str) -> dict[str, str]:
        return {"Authorization": f"Bearer {key}"}


class ChatCollector:
    """Assembles choices, each by its number; the end of a stream is not a separate event here."""

    ended = False

    def __init__(self, *, hide_usage: bool = False) -> None:
        self._hide_usage = hide_usage
        self._texts: dict[int, list[str]] = {}
        self._reasoning: list[str] = []
        self._refusals: list[str] = []
        self._calls: dict[tuple[int, int], tuple[list[str], list[str], list[str]]] = {}
        self._finish = ""
        self._model = self._tier = ""
        self._usage: Usage | None = None
        self._error = ""

    def feed(self, event: Body) -> bool:
        choices = objects(event.get("choices"))
        for choice in choices:
            self.add(choice, inner(choice, "delta"))
        self.add_rest(event)
        return not (self._hide_usage and not choices and event.get("usage"))

    def add(self, choice: Body, part: Body) -> None:
        number = count(choice.get("index"))
        self._texts.setdefault(number, []).append(_text(part.get("content")))
        self._reasoning.append(text(part.get("reasoning_content")) or text(part.get("reasoning")))
        self._refusals.append(text(part.get("refusal")))
        self._finish = text(choice.get("finish_reason")) or self._finish
        if choice.get("error") or self._finish in _BROKEN:
            self._error = json_text(choice.get("error") or {"code": self._finish})
        for place, item in enumerate(objects(part.get("tool_calls"))):
            index = item.get("index")
            ids, names, arguments = self._calls.setdefault(
                (number, index if type(index) is int else place), ([], [], [])
            )
            function = inner(item, "function") or inner(item, "custom")
            ids[:] = [text(item.get("id"))] if item.get("id") else ids
            names.append(text(function.get("name")))
            arguments.append(text(function.get("arguments")) or text(function.get("input")))

    def add_rest(self, event: Body) -> None:
        self._model = text(event.get("model")) or self._model
        self._tier = text(event.get("service_tier")) or self._tier
        if isinstance(event.get("usage"), dict):
            self._usage = _usage(event["usage"])
        if event.get("error"):
            self._error = json_text(event["error"])

    def answered(self) -> ModelAnswer:
        refusal = "".join(self._refusals)
        return ModelAnswer(
            Message(
                "assistant",
                "\n".join("".join(self._texts[number]) for number in sorted(self._texts)) or refusal,
                "".join(self._reasoning),
                tuple(Call(*map("".join, self._calls[key])) for key in sorted(self._calls)),
            ),
            self._finish,
            self._usage,
            refusal or ("content_filter" if self._finish == "content_filter" else ""),
            self._error,
            whole=bool(self._finish) and not self._error,
            model=self._model,
            tier=tier_of(self._tier),
            is_filtered=self._finish == "content_filter",
        )


def _more_output(body: Body) -> int:
    """What may be billed in addition to the answer: the largest reasoning budget, and every byte of a prediction."""
    thought = inner(body, "reasoning").get("max_tokens"), inner(body, "thinking").get("budget_tokens")
    predicted = inner(body, "prediction").get("content")
    return budget(body.get("thinking_budget"), *thought) + (len(json_text(predicted).encode()) if predicted else 0)


def _message(item: Body) -> Message:
    role = text(item.get("role")) or "user"
    content = _text(item.get("content"))
    if role in ("tool", "function"):
        return Message("tool", results=(Result(text(item.get("tool_call_id")) or text(item.get("name")), content),))
    calls = []
    for call in objects(item.get("tool_calls")):
        function = inner(call, "function") or inner(call, "custom")
        arguments = text(function.get("arguments")) or text(function.get("input"))
        calls.append(Call(text(call.get("id")), text(function.get("name")), arguments))
    if item.get("function_call"):
        function = inner(item, "function_call")
        calls.append(Call("", text(function.get("name")), text(function.get("arguments"))))
    return Message(role, content or text(item.get("refusal")), text(item.get("reasoning_content")), tuple(calls))


def _text(content: Any) -> str:
    if isinstance(content, list):
        return "".join(
            text(part.get("text")) or text(part.get("refusal"))
            if isinstance(part, dict) and part.get("type") in ("text", "refusal")
            else opaque(part)
            for part in content
        )
    return text(content)


def _tools(body: Body) -> list[Tool]:
    """The tools, and the functions of earlier versions of the dialect."""
    offered = [inner(item, "function") or inner(item, "custom") for item in objects(body.get("tools"))]
    offered += objects(body.get("functions"))
    return [Tool(text(one.get("name")), inner(one, "parameters")) for one in offered]


def _kind(tool: Body) -> str:
    return text(tool.get("type")) or "?"


def _usage(value: Body) -> Usage | None:
    """The counts of OpenAI; DeepSeek names cache hits in its own way, OpenRouter counts writes to a cache.

    xAI and Gemini leave reasoning out of the completion, but not out of the total.
    """
    counted = both_counts(value.get("prompt_tokens"), value.get("completion_tokens"))
    came = inner(value, "prompt_tokens_details")
    return counted and Usage(
        counted[0],
        max(counted[1], count(value.get("total_tokens")) - counted[0]),
        cached_tokens=count(came.get("cached_tokens")) or count(value.get("prompt_cache_hit_tokens")),
        reasoning_tokens=count(inner(value, "completion_tokens_details").get("reasoning_tokens")),
        cache_write_tokens=count(came.get("cache_write_tokens")),
        usd=money(value.get("cost")),
    )
