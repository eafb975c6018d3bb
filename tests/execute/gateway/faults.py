"""All the ways in which providers fail, in four dialects; the code of each fault, and whose it is."""

from __future__ import annotations

import json
import socket
import struct
import threading
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass
from http.server import BaseHTTPRequestHandler
from typing import Any

from proctor.base.dataclass_fields import EMPTY
from proctor.execute.gateway.dialects.dialect_routes import DIALECTS
from proctor.execute.gateway.scripted.scripted_model import ScriptedReply

JSON = "application/json"
PROVIDER, SETUP, NOBODY = "the provider", "the set-up", "none"

Body = dict[str, Any]


class Exchange:
    """One request that fails: how it would be answered, and where the bytes go."""

    def __init__(
        self, handler: BaseHTTPRequestHandler, dialect: str, reply: ScriptedReply, closing: threading.Event
    ) -> None:
        self.dialect = dialect
        self.spoken = reply
        self.closing = closing
        self._handler = handler

    @property
    def is_stream(self) -> bool:
        return self.spoken.headers["content-type"] != JSON

    def reply(self, status: int, data: bytes, kind: str = JSON, headers: Mapping[str, str] = EMPTY) -> None:
        """A whole answer, and the end of the connection."""
        self.head(status, kind, {"Content-Length": str(len(data)), **headers})
        self.send(data)

    def head(self, status: int, kind: str, headers: Mapping[str, str] = EMPTY) -> None:
        lines = [f"HTTP/1.1 {status} Any", f"Content-Type: {kind}", "Connection: close"]
        lines += [f"{name}: {value}" for name, value in headers.items()]
        self.send("\r\n".join([*lines, "", ""]).encode())
        self.close()

    def send(self, data: bytes) -> None:
        self._handler.wfile.write(data)

    def begin(self) -> None:
        """The first half of the good answer."""
        data = b"".join(self.spoken.chunks)
        length = {} if self.is_stream else {"Content-Length": str(len(data))}
        self.head(200, self.spoken.headers["content-type"], length)
        self.send(data[: len(data) // 2])

    def close(self) -> None:
        """Let nothing follow."""
        self._handler.close_connection = True

    def reset(self) -> None:
        """Break the connection at once."""
        self._handler.connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        self.close()

    def wait(self) -> None:
        """Say nothing until the client goes away or the provider closes."""
        self._handler.connection.settimeout(0.1)
        while not self.closing.is_set():
            with suppress(TimeoutError):
                if not self._handler.connection.recv(1):
                    break
        self.close()


Act = Callable[[Exchange], None]


@dataclass(frozen=True)
class Fault:
    """One way to fail.

    ``code`` is the class of ``model.error``, ``whose`` the party that it belongs to. After a fault that ``passes``, the
    repeated request is answered. A fault that ``begins`` makes sense at the first step only.
    """

    name: str
    about: str
    code: str
    act: Act
    whose: str = PROVIDER
    passes: bool = False
    begins: bool = False


def _status(status: int, message: str, code: str = "scripted", headers: Mapping[str, str] = EMPTY) -> Act:
    def act(to: Exchange) -> None:
        body = DIALECTS[to.dialect].error(status, code, message)
        to.reply(status, json.dumps(body).encode(), headers=headers)

    return act


def _raw(status: int, data: bytes, kind: str = JSON, headers: Mapping[str, str] = EMPTY) -> Act:
    return lambda to: to.reply(status, data, kind, headers)


def _reset_before(to: Exchange) -> None:
    to.reset()


def _reset_in_the_middle(to: Exchange) -> None:
    to.begin()
    to.reset()


def _silent(to: Exchange) -> None:
    to.wait()


def _silent_in_the_middle(to: Exchange) -> None:
    to.begin()
    to.wait()


def _cut(to: Exchange) -> None:
    """A clean end of the connection before the end of the answer."""
    to.begin()


def _garbage(to: Exchange) -> None:
    kind = to.spoken.headers["content-type"]
    to.reply(200, b'data: {"broken": \n\n\x00\xff not an event\n\n' if to.is_stream else b'{"broken": ', kind)


def _empty(to: Exchange) -> None:
    to.reply(200, b"", to.spoken.headers["content-type"])


def _gzip(to: Exchange) -> None:
    to.reply(200, b"\x1f\x8b this is no gzip", to.spoken.headers["content-type"], {"Content-Encoding": "gzip"})


def _trickle(to: Exchange) -> None:
    to.head(200, "text/event-stream")
    while not to.closing.wait(0.05):
        to.send(b":\n")


def _old_http(to: Exchange) -> None:
    data = b"".join(to.spoken.chunks)
    to.send(f"HTTP/1.0 200 OK\r\nContent-Type: {to.spoken.headers['content-type']}\r\n\r\n".encode() + data)
    to.close()


def _events(to: Exchange, *events: Body) -> None:
    """Events in the place of the good ones; in one piece, the last of them."""
    if not to.is_stream:
        to.reply(200, json.dumps(events[-1]).encode())
        return
    lines = [
        (f"event: {event['type']}\n" if "type" in event else "") + f"data: {json.dumps(event)}\n\n" for event in events
    ]
    to.reply(200, "".join(lines).encode(), "text/event-stream")


def _error_inside(chat: Body, responses: Body, anthropic: Body, gemini: Body) -> Act:
    """An error inside an answer with the status 200."""

    def act(to: Exchange) -> None:
        if to.dialect == "responses":
            failed = {"id": "resp_1", "object": "response", "status": "failed", "output": [], "error": responses}
            _events(to, {"type": "response.failed", "response": failed} if to.is_stream else failed)
        elif to.dialect == "anthropic":
            _events(to, {"type": "error", "error": anthropic})
        else:
            _events(to, {"error": chat if to.dialect == "chat" else gemini})

    return act


def _filtered(to: Exchange) -> None:
    """An answer that a filter cut off, by its finish reason; a blocked prompt in Gemini."""
    said = "I can"
    if to.dialect == "chat":
        choice = {"index": 0, "finish_reason": "content_filter"}
        part = {"delta" if to.is_stream else "message": {"role": "assistant", "content": said}}
        _events(
            to, {"id": "c", "object": "chat.completion", "created": 0, "model": "m", "choices": [{**choice, **part}]}
        )
    elif to.dialect == "responses":
        text = {"type": "output_text", "text": said, "annotations": []}
        item = {"type": "message", "id": "m", "role": "assistant", "status": "incomplete", "content": [text]}
        why = {"incomplete_details": {"reason": "content_filter"}, "error": None}
        whole = {"id": "resp_1", "object": "response", "status": "incomplete", "output": [item], **why}
        _events(to, {"type": "response.incomplete", "response": whole} if to.is_stream else whole)
    elif to.dialect == "anthropic":
        usage = {"input_tokens": 9, "output_tokens": 2}
        head = {"id": "msg_1", "type": "message", "role": "assistant", "model": "m", "usage": usage}
        if not to.is_stream:
            block = {"type": "text", "text": said}
            _events(to, {**head, "content": [block], "stop_reason": "refusal", "stop_sequence": None})
            return
        _events(
            to,
            {"type": "message_start", "message": {**head, "content": [], "stop_reason": None, "stop_sequence": None}},
            {"type": "content_block_start", "index": 0, "content_block": {"type": "text", "text": ""}},
            {"type": "content_block_delta", "index": 0, "delta": {"type": "text_delta", "text": said}},
            {"type": "content_block_stop", "index": 0},
            {"type": "message_delta", "delta": {"stop_reason": "refusal", "stop_sequence": None}, "usage": usage},
            {"type": "message_stop"},
        )
    else:
        counts = {"promptTokenCount": 9, "totalTokenCount": 9}
        _events(to, {"promptFeedback": {"blockReason": "PROHIBITED_CONTENT"}, "usageMetadata": counts})


def _other_model(to: Exchange) -> None:
    data = b"".join(to.spoken.chunks)
    for name in (b'"model":"', b'"modelVersion":"'):
        data = data.replace(name, name + b"another-")
    to.reply(200, data, to.spoken.headers["content-type"])


_OVERLOADED = _error_inside(
    {"message": "The server is overloaded", "type": "server_error", "code": None},
    {"code": "server_error", "message": "The server had an error"},
    {"type": "overloaded_error", "message": "Overloaded"},
    {"code": 503, "message": "The model is overloaded.", "status": "UNAVAILABLE"},
)
_LIMITED = _error_inside(
    {"message": "Provider returned error", "code": 429},
    {"code": "rate_limit_exceeded", "message": "Rate limit reached"},
    {"type": "rate_limit_error", "message": "Number of requests has exceeded your limit"},
    {"code": 429, "message": "Resource has been exhausted", "status": "RESOURCE_EXHAUSTED"},
)
_WINDOW = "This model's maximum context length is 4096 tokens. Please reduce the length of the messages."
_SLOW_DOWN = "Rate limit reached for requests"

FAULTS: Mapping[str, Fault] = {
    fault.name: fault
    for fault in (
        Fault("unknown-model", "400: there is no such model", "not-found", _status(400, "Unknown model: m"), SETUP),
        Fault(
            "rejected",
            "400: a field is not supported",
            "rejected",
            _status(400, "tools: not supported"),
            SETUP,
            begins=True,
        ),
        Fault("key", "401: the key is wrong", "credentials", _status(401, "Incorrect API key"), SETUP),
        Fault("credit", "402: there is no credit left", "credentials", _status(402, "Insufficient balance"), SETUP),
        Fault("forbidden", "403: the key may not use this", "credentials", _status(403, "Permission denied"), SETUP),
        Fault("model-404", "404: there is no such model", "not-found", _status(404, "model: m"), SETUP),
        Fault("status-408", "408: the provider stopped waiting", "timeout", _status(408, "Request timeout")),
        Fault("status-409", "409: a conflict inside the provider", "upstream", _status(409, "Conflict")),
        Fault("status-413", "413: the request is too large", "context-overflow", _status(413, "Too large"), SETUP),
        Fault(
            "limit-once", "429 once", "rate-limit", _status(429, _SLOW_DOWN, headers={"Retry-After": "1"}), passes=True
        ),
        Fault("limit", "429 at every try", "rate-limit", _status(429, _SLOW_DOWN)),
        Fault(
            "limit-hour",
            "429 with `Retry-After: 3600`",
            "rate-limit",
            _status(429, _SLOW_DOWN, headers={"Retry-After": "3600"}),
        ),
        Fault(
            "quota",
            "429: the quota is used up",
            "credentials",
            _status(429, "You exceeded your current quota", "insufficient_quota"),
            SETUP,
        ),
        Fault("status-500-once", "500 once", "upstream", _status(500, "Internal error"), passes=True),
        Fault("status-500", "500 at every try", "upstream", _status(500, "Internal error")),
        Fault("status-502", "502 with a page in HTML", "upstream", _raw(502, b"<html>Bad gateway</html>", "text/html")),
        Fault("status-503", "503", "upstream", _status(503, "Service unavailable")),
        Fault("status-504", "504 with no body", "upstream", _raw(504, b"", "text/plain")),
        Fault("status-529", "529: overloaded", "upstream", _status(529, "Overloaded")),
        Fault("reset", "the connection is reset before the answer", "network", _reset_before),
        Fault("reset-stream", "the connection is reset in the middle of the answer", "network", _reset_in_the_middle),
        Fault("silent", "no answer comes", "timeout", _silent),
        Fault("silent-stream", "the answer stops in the middle", "timeout", _silent_in_the_middle),
        Fault("trickle", "the answer comes byte by byte, without end", "timeout", _trickle),
        Fault("cut", "a clean close before the last event", "network", _cut),
        Fault("garbage", "an answer that is not JSON", "malformed", _garbage),
        Fault("html", "200 with a page in HTML", "malformed", _raw(200, b"<html>Log in</html>", "text/html")),
        Fault("content-type", "200 with the type `text/plain`", "malformed", _raw(200, b"{}", "text/plain")),
        Fault("empty", "200 with an empty body", "malformed", _empty),
        Fault("nothing", "200 with an empty JSON object", "malformed", _raw(200, b"{}")),
        Fault("gzip", "200 with a body that is not the gzip it claims to be", "network", _gzip),
        Fault(
            "redirect", "302 to another place", "malformed", _raw(302, b"", headers={"Location": "http://127.0.0.1:1/"})
        ),
        Fault("overloaded-inside", "200, and in it an error: overloaded", "upstream", _OVERLOADED),
        Fault("limit-inside", "200, and in it an error: too many requests", "rate-limit", _LIMITED),
        Fault(
            "overflow",
            "400: the context is too long, though it is short",
            "context-overflow",
            _status(400, _WINDOW, "context_length_exceeded"),
            SETUP,
        ),
        Fault(
            "filter-400",
            "400: a content filter",
            "content-filter",
            _status(400, "The response was filtered by the content management policy", "content_filter"),
        ),
        Fault("filter", "200, and a content filter ends the answer", "content-filter", _filtered),
        Fault("other-model", "200 from another model", "", _other_model, NOBODY, passes=True),
        Fault("http-1.0", "HTTP/1.0 without a length", "", _old_http, NOBODY, passes=True),
    )
}


UNREACHABLE = ("the connection is refused", "a name that does not resolve", "a server without TLS behind `https://`")
"""Faults of an endpoint that no provider answers at."""


def rows() -> list[str]:
    """The table of faults, as the documentation has it."""
    what = {True: "if the agent repeats the call, an ordinary verdict", False: "invalid, unless the agent recovers"}
    named = [(one.about, one.code or "none", one.whose, what[one.passes]) for one in FAULTS.values()]
    named = [(*row[:3], "an ordinary verdict") if row[1] == "none" else row for row in named]
    named += [(about, "network", SETUP, what[False]) for about in UNREACHABLE]
    return [
        f"| {about} | {f'`{code}`' if code != 'none' else 'none'} | {whose} | {then} |"
        for about, code, whose, then in named
    ]
