"""What an answer's status and content type say: whether it can be used, and whose fault it is if not. Pure."""

from __future__ import annotations

from collections.abc import Mapping

from proctor.execute.gateway.telling import Failure

STREAM, WHOLE = "stream", "whole"

_STREAMS = ("text/event-stream",)
_WHOLES = ("application/json",)
_PASSED = ("retry-after", "retry-after-ms", "x-should-retry", "request-id", "x-request-id")
_OVERLOADED = (502, 503, 504, 529)


def form_of(headers: Mapping[str, str]) -> str | None:
    """How the body of a good answer is read; None when it is not what a provider sends."""
    kind = headers.get("content-type", "").partition(";")[0].strip().lower()
    if kind in _STREAMS:
        return STREAM
    return WHOLE if kind in _WHOLES else None


def failure_of(status: int, words: str) -> Failure:
    """What a status other than 200 means."""
    if status == 429:
        kind = "rate-limit"
    elif status in (401, 402, 403):
        kind = "credentials"
    elif 400 <= status < 500:
        kind = "rejected"
    else:
        kind = "upstream" if status >= 500 else "malformed"
    outage = ": the provider is overloaded or down" if status in _OVERLOADED else ""
    return Failure(kind, f"status {status}{outage}: {words}", status)


def passed_headers(headers: Mapping[str, str]) -> dict[str, str]:
    """The headers of an answer that the agent sees."""
    kind = headers.get("content-type", "application/json")
    return {"Content-Type": kind, **{name: headers[name] for name in _PASSED if name in headers}}
