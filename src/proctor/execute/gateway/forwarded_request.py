"""From an agent's request to the forwarded one: read, bounded, changed by the rules. Pure.

The forwarded body is always written again, so that a repeated key means the same here and at the provider. The
difference from the original is recorded as the top-level fields that were set or removed; both together give the
forwarded bytes again (:func:`rebuilt`).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any
from urllib.parse import parse_qsl, urlencode

import orjson

from proctor.execute.gateway.dialects.dialect_routes import find_dialect
from proctor.execute.gateway.dialects.interface import GENERATE, Body, Refused, Route, Rules
from proctor.execute.gateway.dialects.provider_json import count_media, parse_request
from proctor.execute.gateway.gateway_settings import Settings
from proctor.execute.gateway.sources.interface import ForwardedRequest

_HEADERS = ("accept", "anthropic-version", "anthropic-beta", "user-agent", "x-goog-api-client")
_QUERY = {"gemini": ("alt", "sse"), "anthropic": ("beta", "true")}
_LEAVING = ("web-search", "web-fetch", "code-execution", "mcp-", "files-api", "skills")
"""Parts of the names of beta features that leave the sandbox or lean on state."""


@dataclass(frozen=True)
class Prepared:
    """A request that may be forwarded; ``difference`` is JSON text, ``limit`` an output limit by the budget."""

    forward: ForwardedRequest
    changes: list[str]
    difference: str
    limit: int | None = None


def rules_of(settings: Settings) -> Rules:
    return Rules(settings.models, settings.provider_tools, settings.unknown_fields, settings.output_tokens)


def prepare(
    route: Route,
    data: bytes,
    headers: Mapping[str, str],
    query: str,
    settings: Settings,
    limit: int | None = None,
) -> Prepared:
    """The request to forward; ``Refused`` where it may not be. ``limit`` is the output that the budget allows."""
    dialect = find_dialect(route.dialect)
    rules = rules_of(settings)
    original = parse_request(data)
    body = dict(original)
    changes = dialect.prepare(body, route, rules)
    if type(body.get("stream")) not in (bool, type(None)):
        raise Refused("malformed", "stream must be true or false")
    if limit is not None:
        changes.append(f"set {dialect.limit(body, limit)} to {limit}, which is what the budget still allows")
    elif rules.output_tokens and route.kind == GENERATE and dialect.asked(body, route).max_output is None:
        changes.append(f"set {dialect.limit(body, rules.output_tokens)} to {rules.output_tokens}")
    difference = _difference(original, body)
    body = _apply(original, difference)
    path = dialect.forwarded_path(route, rules)
    asked = replace(dialect.asked(body, route), media=count_media(body))
    if route.model:
        asked = replace(asked, model=path.rpartition("/")[2].partition(":")[0])
    requested = route.model or original["model"]
    if asked.model != requested:
        changes.append(f"set the model to {asked.model[:100]!r}, asked for as {requested[:100]!r}")
    forward = ForwardedRequest(
        dialect=route.dialect,
        kind=route.kind,
        path=path,
        query=_query(route, query),
        headers=_headers(headers, settings),
        body=body,
        data=orjson.dumps(body),
        asked=asked,
    )
    return Prepared(forward, changes, orjson.dumps(difference).decode(), limit)


def rebuilt(original: bytes, difference: str) -> bytes:
    """The forwarded bytes, from the records."""
    return orjson.dumps(_apply(orjson.loads(original), orjson.loads(difference)))


def _difference(before: Body, after: Body) -> dict[str, Any]:
    changed = {name: value for name, value in after.items() if name not in before or before[name] != value}
    return {"removed": [name for name in before if name not in after], "set": changed}


def _apply(before: Body, difference: dict[str, Any]) -> Body:
    kept = {name: value for name, value in before.items() if name not in difference["removed"]}
    return {**kept, **difference["set"]}


def _query(route: Route, query: str) -> str:
    """The few parameters that are used; a key that a client adds there is dropped."""
    allowed = _QUERY.get(route.dialect)
    return urlencode([pair for pair in parse_qsl(query[:2000]) if pair == allowed][:1])


def _headers(headers: Mapping[str, str], settings: Settings) -> dict[str, str]:
    passed = {name: headers[name][:1000] for name in _HEADERS if name in headers}
    features = passed.pop("anthropic-beta", "")
    if settings.provider_tools != "allow":
        names = [name.strip() for name in features.split(",")]
        features = ",".join(name for name in names if not any(part in name for part in _LEAVING))
    return {**passed, "anthropic-beta": features} if features else passed
