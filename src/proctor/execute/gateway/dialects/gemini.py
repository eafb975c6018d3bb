"""Gemini generateContent and streamGenerateContent."""

from __future__ import annotations

import re
from typing import Any

from proctor.execute.gateway.dialects.field_rules import GEMINI, GEMINI_CONFIG, camel_case, filter_fields
from proctor.execute.gateway.dialects.interface import (
    COUNT,
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
    listed,
    map_model,
    maximum,
    objects,
    opaque,
    refuse_remote,
    text,
)

_PATH = re.compile(r"/(v1|v1beta|v1alpha)/models/([A-Za-z0-9._-]{1,100}):([A-Za-z]{1,40})")
_LISTS = ("/v1beta/models", "/v1alpha/models")
_METHODS = {"generateContent": GENERATE, "streamGenerateContent": GENERATE, "countTokens": COUNT}
_OWN = frozenset(("functionDeclarations", "function_declarations", "computerUse", "computer_use"))
_BLOCKED = frozenset(("SAFETY", "RECITATION", "BLOCKLIST", "PROHIBITED_CONTENT", "SPII", "IMAGE_SAFETY"))
_LIMIT = "maxOutputTokens"
_CONFIGS = frozenset(("generationConfig", "generation_config"))
_STATUSES = {400: "INVALID_ARGUMENT", 401: "UNAUTHENTICATED", 403: "PERMISSION_DENIED", 404: "NOT_FOUND"}


class Gemini:
    """``POST /v1beta/models/NAME:generateContent``."""

    name = "gemini"

    def route(self, method: str, path: str) -> Route | None:
        if method == "GET" and path.startswith(_LISTS):
            return Route(self.name, MODELS, path)
        found = _PATH.fullmatch(path) if method == "POST" else None
        kind = _METHODS.get(found[3]) if found else None
        if found is None or kind is None:
            return None
        return Route(
            self.name, kind, f"/{found[1]}/models/{{model}}:{found[3]}", found[2], found[3].startswith("stream")
        )

    def asked(self, body: Body, route: Route) -> ModelRequest:
        system = _either(body, "systemInstruction", "system_instruction")
        messages = [Message("system", _said(_parts(system)))] if system else []
        for item in objects(listed(body.get("contents"))):
            messages += _messages(item)
        config = _config(body)
        choices = config.get("candidateCount")
        return ModelRequest(
            model=route.model,
            messages=tuple(messages),
            tools=tuple(_tools(body)),
            max_output=maximum(config, _LIMIT),
            more_output=_thinking(config),
            stream=bool(route.stream),
            choices=choices if type(choices) is int and choices > 0 else 1,
        )

    def prepare(self, body: Body, route: Route, rules: Rules) -> list[str]:
        changes = filter_fields(body, GEMINI, rules, spelled=True)
        for name in ("contents", "systemInstruction", "system_instruction"):
            refuse_remote(body.get(name), rules)
        changes += filter_tools(body, rules, lambda tool: set(tool) <= _OWN, lambda tool: ", ".join(sorted(tool)))
        map_model(route.model, rules)
        config = _config(body)
        changes += filter_fields(config, GEMINI_CONFIG, rules, spelled=True)
        maximum(config, _LIMIT)
        choices = config.get("candidateCount", 1)
        if type(choices) is not int or not 1 <= choices <= 128:
            raise Refused("malformed", "candidateCount must be a whole number from 1 to 128")
        if config or not _CONFIGS.isdisjoint(body):
            body.pop("generation_config", None)
            body["generationConfig"] = config
        return changes

    def limit(self, body: Body, tokens: int) -> str:
        body["generationConfig"] = {**_config(body), _LIMIT: tokens}
        body.pop("generation_config", None)
        return _LIMIT

    def forwarded_path(self, route: Route, rules: Rules) -> str:
        return route.path.replace("{model}", map_model(route.model, rules))

    def answered(self, body: Any) -> ModelAnswer:
        collector = GeminiCollector()
        for event in objects(body) if isinstance(body, list) else [body if isinstance(body, dict) else {}]:
            collector.feed(event)
        return collector.answered()

    def collector(self, changes: list[str]) -> GeminiCollector:
        return GeminiCollector()

    def error(self, status: int, code: str, message: str) -> Body:
        name = _STATUSES.get(status, "RESOURCE_EXHAUSTED" if status == 429 else "INTERNAL")
        return {"error": {"code": status, "message": message, "status": name, "details": [{"reason": code}]}}

    def headers(self, key: str) -> dict[str, str]:
        return {"x-goog-api-key": key}


class GeminiCollector:
    """Puts the parts of candidates together; the last counts of tokens hold, and nothing marks the end."""

    ended = False

    def __init__(self) -> None:
        self._parts: list[Body] = []
        self._finish = ""
        self._usage: Usage | None = None
        self._model = ""
        self._blocked = ""
        self._error = ""

    def feed(self, event: Body) -> bool:
        for candidate in objects(event.get("candidates")):
            self._parts += _parts(inner(candidate, "content"))
            self._finish = text(candidate.get("finishReason")) or self._finish
        if isinstance(event.get("usageMetadata"), dict):
            self._usage = _usage(event["usageMetadata"])
        self._model = text(event.get("modelVersion")) or self._model
        self._blocked = text(inner(event, "promptFeedback").get("blockReason")) or self._blocked
        if event.get("error"):
            self._error = json_text(event["error"])
        return True

    def answered(self) -> ModelAnswer:
        finish = self._finish or self._blocked
        refusal = finish if finish in _BLOCKED or self._blocked else ""
        thought = "".join(text(part.get("text")) for part in self._parts if part.get("thought") is True)
        message = Message("assistant", _said(self._parts), thought, _calls(self._parts))
        whole = bool(finish) and not self._error
        is_filtered = bool(refusal)
        return ModelAnswer(
            message, finish, self._usage, refusal, self._error, whole, self._model, is_filtered=is_filtered
        )


def _messages(item: Body) -> list[Message]:
    parts = _parts(item)
    if item.get("role") == "model":
        return [Message("assistant", _said(parts), calls=_calls(parts))]
    results = []
    for part in parts:
        response = _either(part, "functionResponse", "function_response")
        if response:
            answer = inner(response, "response")
            output = answer.get("output", answer.get("error", answer))
            name = text(response.get("id")) or text(response.get("name"))
            results.append(Result(name, json_text(output), "error" in answer))
    said = _said(parts)
    found = [Message("tool", results=tuple(results))] if results else []
    return [*found, Message("user", said)] if said or not found else found


def _said(parts: list[Body]) -> str:
    said = []
    for part in parts:
        if isinstance(part.get("text"), str):
            said.append("" if part.get("thought") is True else part["text"])
        elif not {"functionCall", "function_call", "functionResponse", "function_response"} & set(part):
            said.append(opaque(part))
    return "".join(said)


def _calls(parts: list[Body]) -> tuple[Call, ...]:
    called = [call for part in parts if (call := _either(part, "functionCall", "function_call"))]
    return tuple(
        Call(text(call.get("id")) or text(call.get("name")), text(call.get("name")), json_text(call.get("args") or {}))
        for call in called
    )


def _parts(content: Any) -> list[Body]:
    parts = content.get("parts") if isinstance(content, dict) else None
    return objects(parts) if isinstance(parts, list) else objects([parts])


def _either(value: Any, *names: str) -> Body:
    return next((found for name in names if (found := inner(value, name))), {})


def _config(body: Body) -> Body:
    """The settings under their names in camel case: a provider takes either, so each is forwarded once."""
    both = *inner(body, "generation_config").items(), *inner(body, "generationConfig").items()
    spelled = sorted(both, key=lambda item: item[0] == camel_case(item[0]))
    return {camel_case(name): value for name, value in spelled}


def _thinking(config: Body) -> int:
    """The budget for reasoning, by its larger name: which one holds is the provider's choice."""
    found = inner(config, "thinkingConfig")
    return budget(found.get("thinkingBudget"), found.get("thinking_budget"))


def _tools(body: Body) -> list[Tool]:
    declared = [
        one
        for tool in objects(listed(body.get("tools")))
        for one in objects(listed(tool.get("functionDeclarations", tool.get("function_declarations"))))
    ]
    return [Tool(text(one.get("name")), _either(one, "parametersJsonSchema", "parameters")) for one in declared]


def _usage(value: Body) -> Usage | None:
    """Counts that are nothing are left out by the provider."""
    counted = both_counts(value.get("promptTokenCount", 0), value.get("candidatesTokenCount", 0))
    if counted is None:
        return None
    thought = count(value.get("thoughtsTokenCount"))
    came = counted[0] + count(value.get("toolUsePromptTokenCount"))
    return Usage(came, counted[1] + thought, count(value.get("cachedContentTokenCount")), thought)
