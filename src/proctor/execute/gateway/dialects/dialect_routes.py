"""All dialects by name, which of them a path belongs to,
and the list of models in a form that every client can read.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from functools import cache
from typing import Any

from proctor.base.entry_points import DIALECTS as DIALECT_GROUP
from proctor.base.entry_points import PlugIns, lacks_methods
from proctor.execute.gateway.dialects.anthropic import Anthropic
from proctor.execute.gateway.dialects.chat import Chat
from proctor.execute.gateway.dialects.checked_dialect import CheckedDialect
from proctor.execute.gateway.dialects.gemini import Gemini
from proctor.execute.gateway.dialects.interface import Dialect, Refused, Route
from proctor.execute.gateway.dialects.responses import Responses

METHODS = ("route", "asked", "prepare", "limit", "forwarded_path", "answered", "collector", "error", "headers")
DIALECTS: dict[str, Dialect] = {one.name: one for one in (Chat(), Responses(), Anthropic(), Gemini())}


def dialect_problems(dialect: Any, name: str) -> Iterator[str]:
    """What keeps ``dialect``, whose entry point is ``name``, from being used."""
    if isinstance(dialect, type):
        yield "it is a class, not an object: create an instance"
    yield from lacks_methods(dialect, *METHODS)
    if getattr(dialect, "name", None) != name:
        yield f"its name is {getattr(dialect, 'name', None)!r}, that of its entry point is {name!r}"


PLUG_INS: PlugIns[Dialect] = PlugIns(DIALECT_GROUP, "dialect", DIALECTS, dialect_problems)


@cache
def find_dialect(name: str) -> Dialect:
    """The dialect ``name``; one of a package is checked at each call."""
    return DIALECTS.get(name) or CheckedDialect(PLUG_INS.require(name), PLUG_INS)


def route(method: str, path: str, others: Iterable[str] = ()) -> Route | None:
    """Where a request goes; None for a path that neither a built-in dialect nor one of the ``others`` knows."""
    dialects = (*(find_dialect(name) for name in others if name not in DIALECTS), *DIALECTS.values())
    return next((found for dialect in dialects if (found := dialect.route(method, path))), None)


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
