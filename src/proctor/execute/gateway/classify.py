"""What an answer's status and content type say: whether it can be used, and whose fault it is if not. Pure."""

from __future__ import annotations

import re
from collections.abc import Mapping

from proctor.execute.gateway.telling import Failure

STREAM, WHOLE = "stream", "whole"

_STREAMS = ("text/event-stream",)
_WHOLES = ("application/json",)
_PASSED = ("retry-after", "retry-after-ms", "x-should-retry", "request-id", "x-request-id")
_OVERLOADED = (502, 503, 504, 529)
_CLASSES = {
    **dict.fromkeys((401, 402, 403, 407), "credentials"),
    **dict.fromkeys((404, 405, 410, 451), "not-found"),
    **dict.fromkeys((408, 499), "timeout"),
    **dict.fromkeys((409, 423, 424, 425), "upstream"),
    **dict.fromkeys((429, 420), "rate-limit"),
    413: "context-overflow",
}
_REASONS = (
    (
        "context-overflow",
        re.compile(
            r"context.?(length|window|size|limit)|prompt is too long|maximum context|too many tokens"
            r"|input token count|reduce the length",
            re.IGNORECASE,
        ),
    ),
    ("content-filter", re.compile(r"content.?(filter|policy|management)|safety system|moderation", re.IGNORECASE)),
    (
        "not-found",
        re.compile(
            r"model.{0,80}(not found|does not exist|is not (available|supported|offered)|decommissioned|deprecated)"
            r"|(unknown|invalid|no such) model",
            re.IGNORECASE,
        ),
    ),
    (
        "credentials",
        re.compile(r"api.?key|credit balance|billing|quota|insufficient.{0,20}(funds|balance)", re.IGNORECASE),
    ),
)
"""What providers say in the body of an error whose status says little, in this order."""


def form_of(headers: Mapping[str, str]) -> str | None:
    """How the body of a good answer is read; None when it is not what a provider sends."""
    kind = headers.get("content-type", "").partition(";")[0].strip().lower()
    if kind in _STREAMS:
        return STREAM
    return WHOLE if kind in _WHOLES else None


def failure_of(status: int, words: str) -> Failure:
    """What a status other than 200 means; ``words`` is the beginning of the body."""
    kind = _CLASSES.get(status, "upstream" if status >= 500 else "rejected" if status >= 400 else "malformed")
    if kind in ("rejected", "not-found"):
        kind = next((name for name, pattern in _REASONS if pattern.search(words)), kind)
    outage = ": the provider is overloaded or down" if status in _OVERLOADED else ""
    return Failure(kind, f"status {status}{outage}: {words}", status)


def passed_headers(headers: Mapping[str, str]) -> dict[str, str]:
    """The headers of an answer that the agent sees."""
    kind = headers.get("content-type", "application/json")
    return {"Content-Type": kind, **{name: headers[name] for name in _PASSED if name in headers}}
