"""A provider that lies: about what it counted, about which model answered, and about when its answers end.

It speaks the dialect of chat. Every request that reaches it is kept; every answer is drawn from a seed.
"""

from __future__ import annotations

import json
import random
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

USAGES: tuple[Any, ...] = (
    {"prompt_tokens": 20, "completion_tokens": 9},
    {"prompt_tokens": 0, "completion_tokens": 0},
    {"prompt_tokens": -5, "completion_tokens": -5},
    {"prompt_tokens": 1.5, "completion_tokens": 2.5},
    {"prompt_tokens": "7", "completion_tokens": "7"},
    {"prompt_tokens": 10**9, "completion_tokens": 10**9},
    {"prompt_tokens": 10**30, "completion_tokens": 3},
    {"prompt_tokens": True, "completion_tokens": False},
    {"prompt_tokens": 3},
    {},
    [],
    None,
)


class Liar:
    """Answers requests; ``came`` are their bodies."""

    def __init__(self, seed: int) -> None:
        self.came: list[dict[str, Any]] = []
        self._chance = random.Random(seed)
        self._lock = threading.Lock()

    def answer(self, body: dict[str, Any]) -> tuple[bytes, bool]:
        """The bytes of an answer, and whether they break off."""
        with self._lock:
            self.came.append(body)
            usage, text = self._chance.choice(USAGES), "x" * self._chance.choice((0, 1, 30, 400))
            breaks, model = self._chance.random() < 0.1, self._chance.choice((body["model"], "another", ""))
        choice = {"index": 0, "finish_reason": "stop", "message": {"role": "assistant", "content": text}}
        whole = json.dumps({"model": model, "choices": [choice], "usage": usage}).encode()
        if not body.get("stream"):
            return whole, False
        part = {"model": model, "choices": [{"index": 0, "delta": {"content": text}}]}
        last = {"model": model, "choices": [{"index": 0, "delta": {}, "finish_reason": "stop"}], "usage": usage}
        events = [part] if breaks else [part, last]
        data = b"".join(b"data: " + json.dumps(event).encode() + b"\n\n" for event in events)
        return data + (b"" if breaks else b"data: [DONE]\n\n"), breaks


@contextmanager
def lying_provider(seed: int = 16) -> Iterator[tuple[str, Liar]]:
    """The address of a lying provider, and the provider."""
    liar = Liar(seed)

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_POST(self) -> None:
            body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
            data, breaks = liar.answer(body)
            kind = "text/event-stream" if body.get("stream") else "application/json"
            self.send_response(200)
            self.send_header("Content-Type", kind)
            self.send_header("Content-Length", str(len(data) + (100 if breaks else 0)))
            self.end_headers()
            self.wfile.write(data)
            self.close_connection = breaks

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
