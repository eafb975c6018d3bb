"""Read what a provider answers: the events of a stream, whether the answer can be used, and why not. Pure.

Server-sent events are split out of raw bytes with nothing lost: all pieces together are the bytes that came. An event
larger than the bound is passed on unread, so that one endless line costs no memory and hides nothing. Status, content
type and error body give the class of a failure.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import orjson

from proctor.execute.gateway.dialects.provider_json import shallow, text
from proctor.execute.gateway.model_events import Failure

_END = re.compile(rb"\r\n\r\n|\n\n|\r\r")
_LINE = re.compile(rb"\r\n|\n|\r")
_LONGEST_END = 4


@dataclass(frozen=True)
class Piece:
    """Some bytes of a stream; ``data`` is the JSON object of their event, ``problem`` why there is none.

    ``done`` marks the event that ends the stream.
    """

    raw: bytes
    data: dict[str, Any] | None = None
    problem: str = ""
    done: bool = False


class EventSplitter:
    """Splits one stream."""

    def __init__(self, event_bytes: int) -> None:
        self._limit = event_bytes
        self._held = bytearray()
        self._searched = 0
        self._skipping = False

    def feed(self, chunk: bytes) -> Iterator[Piece]:
        """The events that are whole now, each read when it is asked for; all must be."""
        self._held += chunk
        while found := _END.search(self._held, self._searched):
            raw = bytes(self._held[: found.end()])
            del self._held[: found.end()]
            self._searched = 0
            yield self._piece(raw)
        self._searched = max(0, len(self._held) - _LONGEST_END)
        if len(self._held) > self._limit:
            kept = self._held[-_LONGEST_END:]
            problem = "" if self._skipping else f"an event of more than {self._limit} bytes"
            yield Piece(bytes(self._held[:-_LONGEST_END]), problem=problem)
            self._held = kept
            self._searched = 0
            self._skipping = True

    def rest(self) -> list[Piece]:
        """What is left at the end of the stream: an event without its end is whole, or was cut."""
        raw = bytes(self._held)
        self._held = bytearray()
        piece = self._piece(raw)
        return [Piece(raw) if piece.problem else piece] if raw else []

    def _piece(self, raw: bytes) -> Piece:
        if self._skipping:
            self._skipping = False
            return Piece(raw)
        lines = [line[5:].removeprefix(b" ") for line in _LINE.split(raw) if line.startswith(b"data:")]
        data = b"\n".join(lines)
        if data == b"[DONE]":
            return Piece(raw, done=True)
        if not data:
            return (
                Piece(raw)
                if lines or b":" in raw or not raw.strip()
                else Piece(raw, problem="a line that is not an event")
            )
        try:
            value = orjson.loads(data)
        except orjson.JSONDecodeError as error:
            return Piece(raw, problem=f"an event that is not JSON: {error.msg}")
        if not isinstance(value, dict) or not shallow(value):
            return Piece(raw, problem="an event that is not a JSON object")
        return Piece(raw, value)


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
_FILTERED = re.compile(
    r"content.?(filter|policy|management)|safety system|moderation|flagged|responsible.?ai|usage policies",
    re.IGNORECASE,
)
_REASONS = (
    (
        "context-overflow",
        re.compile(
            r"context.?(length|window|size|limit)|prompt is too long|maximum context|too many tokens"
            r"|input token count|reduce the length|(input|prompt) is too (long|large)|request.too.large",
            re.IGNORECASE,
        ),
    ),
    ("content-filter", _FILTERED),
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
        re.compile(
            r"api.?key( is)? (not|invalid|expired)|(valid|incorrect|missing|wrong|expired|no) api.?key"
            r"|credit balance.{0,20}(low|insufficient|exhausted)|billing.(hard|not|details|account)"
            r"|(exceeded|insufficient|current|your).{0,20}quota|quota.{0,20}exceeded|insufficient.{0,20}(funds|balance)",
            re.IGNORECASE,
        ),
    ),
)
"""What providers say in the body of an error whose status says little, in this order."""

_NO_CREDIT = re.compile(r"insufficient.?(quota|funds|balance|credit)|credit balance|billing.(hard|not)", re.IGNORECASE)
"""The text of providers that answer 429 when there is no credit left."""

_NAMES = {
    **dict.fromkeys(("rate_limit_error", "rate_limit_exceeded", "resource_exhausted", "throttlingexception"), 429),
    **dict.fromkeys(("overloaded_error", "unavailable", "server_overloaded", "serviceunavailableexception"), 503),
    **dict.fromkeys(
        ("api_error", "server_error", "internal", "internal_server_error", "insufficient_system_resource"), 500
    ),
    **dict.fromkeys(("timeout_error", "deadline_exceeded"), 408),
    **dict.fromkeys(("authentication_error", "unauthenticated", "invalid_api_key"), 401),
    **dict.fromkeys(("billing_error", "insufficient_quota"), 402),
    **dict.fromkeys(("permission_error", "permission_denied"), 403),
    **dict.fromkeys(("not_found_error", "not_found", "model_not_found"), 404),
    "request_too_large": 413,
    **dict.fromkeys(("invalid_request_error", "invalid_argument", "context_length_exceeded", "content_filter"), 400),
}
"""The statuses of named errors, in small letters."""


def form_of(headers: Mapping[str, str]) -> str | None:
    """How the body of a good answer is read; None when it is not what a provider sends."""
    kind = headers.get("content-type", "").partition(";")[0].strip().lower()
    if kind in _STREAMS:
        return STREAM
    return WHOLE if kind in _WHOLES else None


def failure_of(status: int, message: str, request: bytes = b"") -> Failure:
    """The failure for a status other than 200; ``message`` is the beginning of the body.

    A reason that is also in the ``request`` may be quoted from there, so it does not count: an agent could choose it.
    """
    kind = _CLASSES.get(status, "upstream" if status >= 500 else "rejected" if status >= 400 else "malformed")
    if kind in ("rejected", "not-found"):
        kind = next((name for name, pattern in _REASONS if _says(pattern, message, request)), kind)
    elif status == 403 and _FILTERED.search(message):
        kind = "content-filter"
    elif status == 429 and _NO_CREDIT.search(message):
        kind = "credentials"
    outage = ": the provider is overloaded or down" if status in _OVERLOADED else ""
    return Failure(kind, f"status {status}{outage}: {message}", status)


def _says(pattern: re.Pattern[str], message: str, request: bytes) -> bool:
    return any(found[0].encode() not in request for found in pattern.finditer(message))


def failure_in(error: str, request: bytes = b"") -> Failure:
    """What an error inside an answer with the status 200 means; ``error`` is its JSON."""
    try:
        value = orjson.loads(error)
    except orjson.JSONDecodeError:
        value = error
    fields = value if isinstance(value, dict) else {}
    names = [str(fields.get(name)).lower() for name in ("code", "type", "status")]
    statuses = [int(name) for name in names if re.fullmatch("[45][0-9][0-9]", name)]
    statuses += [_NAMES[name] for name in names if name in _NAMES]
    found = failure_of(statuses[0] if statuses else 400, error, request)
    kind = "upstream" if found.kind == "rejected" and not statuses else found.kind
    return Failure(kind, f"an error in the answer: {text(fields.get('message')) or error}", 200)


def passed_headers(headers: Mapping[str, str]) -> dict[str, str]:
    """The headers of an answer that the agent sees."""
    kind = headers.get("content-type", "application/json")
    return {"Content-Type": kind, **{name: headers[name] for name in _PASSED if name in headers}}
