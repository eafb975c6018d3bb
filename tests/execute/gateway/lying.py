"""A provider that lies: about what it counted, about which model answered, and about when its answers end.

It speaks all four dialects. Every request that reaches it is kept; every answer is drawn from a seed.
"""

from __future__ import annotations

import json
import random
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

Body = dict[str, Any]

COUNTS: tuple[Any, ...] = (
    {"in": 20, "out": 9},
    {"in": 0, "out": 0},
    {"in": -5, "out": -5},
    {"in": 1.5, "out": 2.5},
    {"in": "7", "out": "7"},
    {"in": 10**9, "out": 10**9},
    {"in": 10**30, "out": 3},
    {"in": True, "out": False},
    {"in": 3},
    {"in": 20, "out": 9, "total": 10**12},
    {"in": 20, "out": None},
    {},
    [],
    None,
)
NAMES = {
    "chat": {"in": "prompt_tokens", "out": "completion_tokens", "total": "total_tokens"},
    "responses": {"in": "input_tokens", "out": "output_tokens", "total": "total_tokens"},
    "anthropic": {"in": "input_tokens", "out": "output_tokens", "total": "cache_read_input_tokens"},
    "gemini": {"in": "promptTokenCount", "out": "candidatesTokenCount", "total": "thoughtsTokenCount"},
}
MARKS = (("messages", "anthropic"), ("responses", "responses"), ("completions", "chat"))


def dialect_of(path: str) -> str:
    return next((dialect for mark, dialect in MARKS if path.partition("?")[0].endswith(mark)), "gemini")


def whole_answer(dialect: str, model: str, text: str, usage: Any) -> Body:
    """An answer in one piece."""
    if dialect == "responses":
        parts = [{"type": "output_text", "text": text}]
        item = {"type": "message", "role": "assistant", "content": parts}
        return {"model": model, "status": "completed", "output": [item], "usage": usage}
    if dialect == "anthropic":
        blocks = [{"type": "text", "text": text}]
        return {"type": "message", "model": model, "content": blocks, "stop_reason": "end_turn", "usage": usage}
    if dialect == "gemini":
        said = {"content": {"role": "model", "parts": [{"text": text}]}, "finishReason": "STOP"}
        return {"modelVersion": model, "candidates": [said], "usageMetadata": usage}
    choice = {"index": 0, "finish_reason": "stop", "message": {"role": "assistant", "content": text}}
    return {"model": model, "choices": [choice], "usage": usage}


def events_of(dialect: str, model: str, text: str, usage: Any) -> list[Body]:
    """The same answer as the events of a stream."""
    whole = whole_answer(dialect, model, text, usage)
    if dialect == "responses":
        delta = {"type": "response.output_text.delta", "output_index": 0, "delta": text}
        return [delta, {"type": "response.completed", "response": whole}]
    if dialect == "anthropic":
        return [
            {"type": "message_start", "message": {**whole, "content": [], "stop_reason": None}},
            {"type": "content_block_start", "index": 0, "content_block": {"type": "text", "text": ""}},
            {"type": "content_block_delta", "index": 0, "delta": {"type": "text_delta", "text": text}},
            {"type": "message_delta", "delta": {"stop_reason": "end_turn"}, "usage": usage},
            {"type": "message_stop"},
        ]
    if dialect == "gemini":
        said = {"content": {"role": "model", "parts": [{"text": text}]}}
        return [{"modelVersion": model, "candidates": [said]}, {**whole, "candidates": [{"finishReason": "STOP"}]}]
    part = {"model": model, "choices": [{"index": 0, "delta": {"content": text}}]}
    return [part, {"model": model, "choices": [{"index": 0, "delta": {}, "finish_reason": "stop"}], "usage": usage}]


class Liar:
    """Answers requests; ``came`` has the dialects and the bodies of those that reached it."""

    def __init__(self, seed: int) -> None:
        self.came: list[tuple[str, Body]] = []
        self._chance = random.Random(seed)
        self._lock = threading.Lock()

    def answer(self, path: str, body: Body) -> tuple[str, list[bytes], bool]:
        """The content type and the pieces of an answer, and whether it breaks off."""
        dialect = dialect_of(path)
        with self._lock:
            self.came.append((dialect, body))
            counts, text = self._chance.choice(COUNTS), "x" * self._chance.choice((0, 1, 30, 400))
            breaks, model = self._chance.random() < 0.1, self._chance.choice((body.get("model", "m"), "another", ""))
            length = self._chance.randint(0, 4)
        usage = {NAMES[dialect][name]: value for name, value in counts.items()} if isinstance(counts, dict) else counts
        if not (body.get("stream") or "stream" in path):
            return "application/json", [json.dumps(whole_answer(dialect, model, text, usage)).encode()], False
        events = events_of(dialect, model, text, usage)
        pieces = [b"data: " + json.dumps(event).encode() + b"\n\n" for event in events]
        end = [b"data: [DONE]\n\n"] if dialect == "chat" else []
        return "text/event-stream", pieces[: min(length, len(pieces) - 1)] if breaks else pieces + end, breaks


@contextmanager
def lying_provider(seed: int = 16) -> Iterator[tuple[str, Liar]]:
    """The address of a lying provider, and the provider."""
    liar = Liar(seed)

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_POST(self) -> None:
            body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
            kind, pieces, breaks = liar.answer(self.path, body)
            self.send_response(200)
            self.send_header("Content-Type", kind)
            self.send_header("Content-Length", str(sum(map(len, pieces)) + (100 if breaks else 0)))
            self.end_headers()
            self.close_connection = breaks
            with suppress(ConnectionError):  # the gateway has left
                for piece in pieces:
                    self.wfile.write(piece)

        def log_message(self, *arguments: Any) -> None:
            """Print nothing."""

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    server.daemon_threads = True
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_port}", liar
    finally:
        server.shutdown()
        server.server_close()
        thread.join()
