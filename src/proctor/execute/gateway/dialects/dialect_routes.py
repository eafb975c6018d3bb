"""All dialects by name, which of them a path belongs to,
and the list of models in a form that every client can read.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from proctor.execute.gateway.dialects.anthropic import Anthropic
from proctor.execute.gateway.dialects.chat import Chat
from proctor.execute.gateway.dialects.gemini import Gemini
from proctor.execute.gateway.dialects.interface import Dialect, Refused, Route
from proctor.execute.gateway.dialects.responses import Responses

DIALECTS: dict[str, Dialect] = {one.name: one for one in (Chat(), Responses(), Anthropic(), Gemini())}


def route(method: str, path: str) -> Route | None:
    """Where a request goes; None for a path that no dialect knows."""
    return next((found for dialect in DIALECTS.values() if (found := dialect.route(method, path))), None)


def likely(path: str) -> Dialect:
    """The dialect in which to refuse a path that none knows."""
    if path.startswith(("/v1beta", "/v1alpha")):
        return DIALECTS["gemini"]
    return DIALECTS["anthropic" if path.startswith("/v1/messages") else "chat"]


_EPOCH = "1970-01-01T00:00:00Z"


def listing(route: Route, models: Mapping[str, str]) -> dict[str, Any]:
    """The answer to a request for all models or for one; :class:`Refused` if there is no model of that name."""
    names = sorted(name for name in models if name != "*")
    wanted = route.path.partition("/models")[2].strip("/")
    if wanted and models and wanted not in names and "*" not in models:
        raise Refused("model", f"the model {wanted[:100]!r} is not offered here", 404)
    if route.dialect == "gemini":
        return _gemini(wanted) if wanted else {"models": [_gemini(name) for name in names]}
    if wanted:
        return _model(wanted)
    ends = {"first_id": names[0] if names else None, "last_id": names[-1] if names else None, "has_more": False}
    return {"object": "list", "data": [_model(name) for name in names], **ends}


def _model(name: str) -> dict[str, Any]:
    both = {"id": name, "object": "model", "type": "model", "display_name": name}
    return {**both, "created": 0, "created_at": _EPOCH, "owned_by": "proctor"}


def _gemini(name: str) -> dict[str, Any]:
    methods = ["generateContent", "streamGenerateContent", "countTokens"]
    return {"name": f"models/{name}", "displayName": name, "supportedGenerationMethods": methods}
