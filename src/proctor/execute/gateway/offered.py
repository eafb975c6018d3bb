"""The list of models that agents may ask for, in a form that clients of every dialect can read. Pure."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from proctor.execute.gateway.dialects.interface import Refused, Route

_EPOCH = "1970-01-01T00:00:00Z"


def listing(route: Route, models: Mapping[str, str]) -> dict[str, Any]:
    """The answer to a request for all models or for one; :class:`Refused` when there is none of that name."""
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
