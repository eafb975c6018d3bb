"""All dialects, and which of them a path belongs to."""

from __future__ import annotations

from proctor.execute.gateway.dialects.anthropic import Anthropic
from proctor.execute.gateway.dialects.chat import Chat
from proctor.execute.gateway.dialects.gemini import Gemini
from proctor.execute.gateway.dialects.interface import Dialect, Route
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
