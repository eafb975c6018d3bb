"""Anthropic Messages, with the counting of tokens."""

from __future__ import annotations

from typing import Any

from proctor.execute.gateway.dialects.field_rules import ANTHROPIC, filter_edits, filter_fields
from proctor.execute.gateway.dialects.interface import (
    COUNT,
    GENERATE,
    Body,
    Call,
    Message,
    ModelAnswer,
    ModelRequest,
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
    map_model,
    maximum,
    objects,
    opaque,
    refuse_remote,
    text,
)
from proctor.execute.monitor.price_table import tier_of

VERSION = "2023-06-01"

_PATHS = {"/v1/messages": GENERATE, "/v1/messages/count_tokens": COUNT}
_OWN = ("custom", "bash_", "text_editor_", "computer_", "memory_", "tool_search_tool_")
"""Beginnings of the types of tools that the agent runs itself."""

_KINDS = {400: "invalid_request_error", 401: "authentication_error", 403: "permission_error", 404: "not_found_error"}


class Anthropic:
    """``POST /v1/messages``."""

    name = "anthropic"

    def route(self, method: str, path: str) -> Route | None:
        kind = _PATHS.get(path) if method == "POST" else None
        return Route(self.name, kind, path) if kind else None

    def asked(self, body: Body, route: Route) -> ModelRequest:
        messages = [Message("system", _text(body["system"]))] if body.get("system") else []
        for item in objects(body.get("messages")):
            messages += _messages(item)
        most = maximum(body, "max_tokens")
        return ModelRequest(
            model=text(body.get("model")),
            messages=tuple(messages),
            tools=tuple(_tool(tool) for tool in objects(body.get("tools"))),
            max_output=most,
            more_output=max(0, budget(inner(body, "thinking").get("budget_tokens")) - (most or 0)),
            stream=body.get("stream") is True,
        )

    def prepare(self, body: Body, route: Route, rules: Rules) -> list[str]:
        changes = filter_fields(body, ANTHROPIC, rules) + filter_edits(body, rules)
        refuse_remote([body.get("messages"), body.get("system")], rules)
        changes += filter_tools(body, rules, lambda tool: (text(tool.get("type")) or "custom").startswith(_OWN), _kind)
        body["model"] = map_model(text(body.get("model")), rules)
        maximum(body, "max_tokens")
        return changes

    def limit(self, body: Body, tokens: int) -> str:
        body["max_tokens"] = tokens
        return "max_tokens"

    def forwarded_path(self, route: Route, rules: Rules) -> str:
        return route.path

    def answered(self, body: Any) -> ModelAnswer:
        collector = AnthropicCollector()
        body = body if isinstance(body, dict) else {}
        collector.feed({"type": "message_start", "message": body})
        for place, block in enumerate(objects(body.get("content"))):
            collector.feed({"type": "content_block_start", "index": place, "content_block": block})
        collector.feed({"type": "message_delta", "delta": body, "usage": body.get("usage")})
        if body.get("type") == "error" or body.get("error"):
            collector.feed({**body, "type": "error"})
        return collector.answered()

    def collector(self, changes: list[str]) -> AnthropicCollector:
        return AnthropicCollector()

    def error(self, status: int, code: str, message: str) -> Body:
        kind = _KINDS.get(status, "api_error" if status >= 500 else "invalid_request_error")
        return {"type": "error", "error": {"type": kind, "message": message, "code": code}}

    def headers(self, key: str) -> dict[str, str]:
        return {"x-api-key": key, "anthropic-version": VERSION}


class AnthropicCollector:
    """Puts content blocks together."""

    def __init__(self) -> None:
        self.ended = False
        self._blocks: dict[int, Body] = {}
        self._pieces: dict[int, list[str]] = {}
        self._finish = ""
        self._usage: Body = {}
        self._model = ""
        self._counted = False
        self._error = ""

    def feed(self, event: Body) -> bool:
        kind = event.get("type")
        place = count(event.get("index"))
        if kind == "content_block_start":
            self._blocks[place] = inner(event, "content_block")
        elif kind == "content_block_delta":
            delta = inner(event, "delta")
            piece = text(delta.get("text")) or text(delta.get("partial_json")) or text(delta.get("thinking"))
            self._pieces.setdefault(place, []).append(piece)
        elif kind == "message_start":
            self._usage = inner(inner(event, "message"), "usage")
            self._model = text(inner(event, "message").get("model"))
        elif kind == "message_delta":
            self._finish = text(inner(event, "delta").get("stop_reason")) or self._finish
            counted = {name: value for name, value in inner(event, "usage").items() if value is not None}
            self._usage = {**self._usage, **counted}
            self._counted = bool(self._usage)
        elif kind == "message_stop":
            self.ended = True
        elif kind == "error" or event.get("error"):
            self._error = json_text(event.get("error") or event)
        return True

    def answered(self) -> ModelAnswer:
        said, thought, calls = [], [], []
        for place in sorted(self._blocks):
            block, piece = self._blocks[place], "".join(self._pieces.get(place, ()))
            kind = block.get("type")
            if kind == "text":
                said.append(text(block.get("text")) + piece)
            elif kind == "thinking":
                thought.append(text(block.get("thinking")) + piece)
            elif kind == "tool_use":
                calls.append(
                    Call(text(block.get("id")), text(block.get("name")), piece or json_text(block.get("input")))
                )
            elif kind != "redacted_thinking":
                said.append(opaque(block))
        message = Message("assistant", "".join(said), "".join(thought), tuple(calls))
        usage = _usage(self._usage) if self._counted else None
        refusal = "refusal" if self._finish == "refusal" else ""
        whole = bool(self._finish) and not self._error
        tier = tier_of(text(self._usage.get("service_tier")))
        return ModelAnswer(message, self._finish, usage, refusal, self._error, whole, self._model, tier, bool(refusal))


def _messages(item: Body) -> list[Message]:
    """One message, or several: one message can contain results of tools and text of the user."""
    role, content = text(item.get("role")) or "user", item.get("content")
    if not isinstance(content, list):
        return [Message(role, text(content))]
    collector = AnthropicCollector()
    results, said = [], []
    for place, block in enumerate(objects(content)):
        if block.get("type") == "tool_result":
            failed = block.get("is_error") is True
            results.append(Result(text(block.get("tool_use_id")), _text(block.get("content")), failed))
        elif role == "assistant":
            collector.feed({"type": "content_block_start", "index": place, "content_block": block})
        else:
            said.append(text(block.get("text")) if block.get("type") == "text" else opaque(block))
    if role == "assistant":
        return [collector.answered().message]
    found = [Message("tool", results=tuple(results))] if results else []
    return [*found, Message(role, "".join(said))] if said or not found else found


def _text(content: Any) -> str:
    if isinstance(content, list):
        return "".join(
            text(part.get("text")) if part.get("type") == "text" else opaque(part) for part in objects(content)
        )
    return text(content)


def _tool(tool: Body) -> Tool:
    return Tool(text(tool.get("name")), inner(tool, "input_schema"))


def _kind(tool: Body) -> str:
    return text(tool.get("type")) or "?"


def _usage(value: Body) -> Usage | None:
    """Tokens that were read from or written to a cache count as input, which they are."""
    counted = both_counts(value.get("input_tokens"), value.get("output_tokens"))
    if counted is None:
        return None
    cached, written = count(value.get("cache_read_input_tokens")), count(value.get("cache_creation_input_tokens"))
    return Usage(
        counted[0] + cached + written,
        counted[1],
        cached,
        cache_write_tokens=written,
        cache_write_1h_tokens=count(inner(value, "cache_creation").get("ephemeral_1h_input_tokens")),
    )
