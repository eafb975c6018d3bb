"""OpenAI Responses, with nothing kept at the provider."""

from __future__ import annotations

from typing import Any

from proctor.execute.gateway.dialects.field_rules import RESPONSES, filter_fields
from proctor.execute.gateway.dialects.interface import (
    GENERATE,
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
    count,
    filter_tools,
    inner,
    json_text,
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

_OWN = frozenset(("function", "custom", "local_shell", "apply_patch", "computer_use_preview", "computer", "namespace"))
_TEXTS = frozenset(("input_text", "output_text", "text", "summary_text", "reasoning_text"))
_CALLS = frozenset(
    ("function_call", "custom_tool_call", "local_shell_call", "shell_call", "apply_patch_call", "tool_search_call")
)
_REFERENCE = frozenset(("id", "type", "status"))
"""The fields of an item that only names another one."""


class Responses:
    """``POST /v1/responses``."""

    name = "responses"

    def route(self, method: str, path: str) -> Route | None:
        known = method == "POST" and path in ("/v1/responses", "/responses")
        return Route(self.name, GENERATE, "/v1/responses") if known else None

    def asked(self, body: Body, route: Route) -> ModelRequest:
        return ModelRequest(
            model=text(body.get("model")),
            messages=_messages(body),
            tools=tuple(Tool(text(tool.get("name")), inner(tool, "parameters")) for tool in _tools(body)),
            max_output=maximum(body, "max_output_tokens"),
            stream=body.get("stream") is True,
        )

    def prepare(self, body: Body, route: Route, rules: Rules) -> list[str]:
        changes = filter_fields(body, RESPONSES, rules)
        refuse_store(body)
        for item in objects(body.get("input")):
            if item.get("type") == "item_reference" or ("id" in item and set(item) <= _REFERENCE):
                raise Refused("server-state", "an item_reference depends on state that the provider keeps")
        refuse_remote(body.get("input"), rules)
        stripped = filter_tools(body, rules, _is_own, _kind)
        changes += stripped
        choice = inner(body, "tool_choice")
        if stripped and choice and text(choice.get("type")) not in _OWN:
            del body["tool_choice"]
        body["model"] = map_model(text(body.get("model")), rules)
        if body.get("store") is not False:
            body["store"] = False
            changes.append("set store to false")
        maximum(body, "max_output_tokens")
        return changes

    def limit(self, body: Body, tokens: int) -> str:
        body["max_output_tokens"] = tokens
        return "max_output_tokens"

    def forwarded_path(self, route: Route, rules: Rules) -> str:
        return route.path

    def answered(self, body: Any) -> ModelAnswer:
        body = body if isinstance(body, dict) else {}
        items = objects(body.get("output"))
        message = _assistant(items)
        refusal = "".join(text(part.get("refusal")) for item in items for part in objects(item.get("content")))
        finish = text(inner(body, "incomplete_details").get("reason")) or text(body.get("status"))
        failed = {"code": "server_error"} if finish == "failed" else ""
        error = json_text(body.get("error") or failed)
        usage = _usage(body["usage"]) if isinstance(body.get("usage"), dict) else None
        refusal = refusal or ("content_filter" if finish == "content_filter" else "")
        whole = bool(finish) and not error
        named = text(body.get("model")), tier_of(text(body.get("service_tier")))
        return ModelAnswer(message, finish, usage, refusal, error, whole, *named, finish == "content_filter")

    def collector(self, changes: list[str]) -> ResponsesCollector:
        return ResponsesCollector(self)

    def error(self, status: int, code: str, message: str) -> Body:
        kind = "invalid_request_error" if status < 500 else "server_error"
        return {"error": {"message": message, "type": kind, "param": None, "code": code}}

    def headers(self, key: str) -> dict[str, str]:
        return {"Authorization": f"Bearer {key}"}


class ResponsesCollector:
    """Collects finished items, and the text of unfinished ones; the last event holds everything."""

    def __init__(self, dialect: Responses) -> None:
        self.ended = False
        self._dialect = dialect
        self._items: dict[int, Body] = {}
        self._texts: dict[int, list[str]] = {}
        self._reasoning: list[str] = []
        self._final: Body | None = None
        self._model = ""
        self._error = ""

    def feed(self, event: Body) -> bool:
        kind = text(event.get("type"))
        place = count(event.get("output_index"))
        self._model = text(inner(event, "response").get("model")) or self._model
        if kind == "response.output_item.done":
            self._items[place] = inner(event, "item")
        elif kind in ("response.output_text.delta", "response.refusal.delta"):
            self._texts.setdefault(place, []).append(text(event.get("delta")))
        elif kind.startswith("response.reasoning") and kind.endswith(".delta"):
            self._reasoning.append(text(event.get("delta")))
        elif kind in ("response.completed", "response.incomplete", "response.failed"):
            self._final = inner(event, "response")
            self.ended = True
        elif kind == "error" or event.get("error"):
            self._error = json_text(event.get("error") or event)
        return True

    def answered(self) -> ModelAnswer:
        if self._final is not None:
            final = self._final
            if not final.get("output"):
                final = {**final, "output": [self._items[place] for place in sorted(self._items)]}
            return self._dialect.answered(final)
        done = _assistant([self._items[place] for place in sorted(self._items)])
        rest = "".join("".join(self._texts[place]) for place in sorted(self._texts) if place not in self._items)
        message = Message("assistant", done.text + rest, done.reasoning or "".join(self._reasoning), done.calls)
        return ModelAnswer(message, error=self._error, whole=False, model=self._model)


def _messages(body: Body) -> tuple[Message, ...]:
    """The conversation; what the model said in one go is one message, in however many items it came."""
    found: list[Message] = []
    if text(body.get("instructions")):
        found.append(Message("system", text(body.get("instructions"))))
    if isinstance(body.get("input"), str):
        return (*found, Message("user", body["input"]))
    said: list[Body] = []
    for item in objects(body.get("input")):
        kind = text(item.get("type")) or "message"
        if kind in _CALLS or kind == "reasoning" or (kind == "message" and item.get("role") == "assistant"):
            said.append(item)
            continue
        if said:
            found.append(_assistant(said))
            said = []
        if kind.endswith("_output"):
            failed = item.get("status") == "failed"
            found.append(Message("tool", results=(Result(text(item.get("call_id")), _output(item), failed),)))
        elif kind == "message":
            found.append(Message(text(item.get("role")) or "user", _content(item.get("content"))))
        else:
            found.append(Message("user", opaque(item)))
    return (*found, _assistant(said)) if said else tuple(found)


def _assistant(items: list[Body]) -> Message:
    texts, reasoning, calls = [], [], []
    for item in items:
        kind = text(item.get("type")) or "message"
        if kind in _CALLS:
            arguments = item.get("arguments", item.get("input", item.get("action", item.get("operation"))))
            name = text(item.get("name")) or kind.removesuffix("_call")
            calls.append(Call(text(item.get("call_id")) or text(item.get("id")), name, json_text(arguments or "")))
        elif kind == "reasoning":
            reasoning.append(_content(item.get("summary")) + _content(item.get("content")))
        elif kind == "message":
            texts.append(_content(item.get("content")))
    return Message("assistant", "".join(texts), "".join(reasoning), tuple(calls))


def _content(content: Any) -> str:
    if not isinstance(content, list):
        return text(content)
    return "".join(
        text(part.get("text")) if text(part.get("type")) in _TEXTS else text(part.get("refusal")) or opaque(part)
        for part in objects(content)
    )


def _output(item: Body) -> str:
    output = item.get("output", item.get("tools"))
    return _content(output) if isinstance(output, (str, list)) else json_text(output)


def _tools(body: Body) -> list[Body]:
    """The tools, those inside a namespace too."""
    tools = objects(body.get("tools"))
    return [inside for tool in tools for inside in (objects(tool.get("tools")) or [tool])]


def _is_own(tool: Body) -> bool:
    if tool.get("type") == "shell":
        return inner(tool, "environment").get("type") in (None, "local")
    if tool.get("type") == "tool_search":
        return tool.get("execution") == "client"
    if tool.get("type") == "namespace":
        inside = tool.get("tools")
        return isinstance(inside, list) and all(isinstance(one, dict) and _is_own(one) for one in inside)
    return _kind(tool) in _OWN


def _kind(tool: Body) -> str:
    return text(tool.get("type")) or "?"


def _usage(value: Body) -> Usage | None:
    counted = both_counts(value.get("input_tokens"), value.get("output_tokens"))
    came = inner(value, "input_tokens_details")
    return counted and Usage(
        *counted,
        cached_tokens=count(came.get("cached_tokens")),
        reasoning_tokens=count(inner(value, "output_tokens_details").get("reasoning_tokens")),
        cache_write_tokens=count(came.get("cache_write_tokens")),
        usd=money(value.get("cost")),
    )
