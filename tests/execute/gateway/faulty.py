"""A provider that fails in all the ways that providers do, in four dialects.

It answers a conversation as a script says, until the step that the name of the model gives: ``gpt-4o--status-500--2``
fails with the fault ``status-500`` at the third step, and at every repetition of it. Requests that offer no tools, such
as one for a title, never fail.
"""

from __future__ import annotations

import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

from proctor.execute.gateway.dialects.dialect_routes import DIALECTS, route
from proctor.execute.gateway.dialects.interface import GENERATE
from proctor.execute.gateway.dialects.provider_json import parse_request
from proctor.execute.gateway.model_events import OVERFLOW
from proctor.execute.gateway.scripted.script_file import step_of
from proctor.execute.gateway.scripted.scripted_model import Engine
from tests.execute.gateway.faults import FAULTS, Exchange, Fault

FIRST, THIRD, LAST = 0, 2, 3
"""Steps of a conversation of four."""


class FaultyProvider:
    """What has been asked of the provider: ``steps`` are the steps that came with tools, by the name of the model."""

    def __init__(self, script: bytes) -> None:
        self.engine = Engine(script)
        self.closing = threading.Event()
        self.steps: dict[str, list[int]] = {}
        self._windows: dict[str, int] = {}
        self._lock = threading.Lock()

    def fault(self, model: str, step: int, size: int) -> Fault | None:
        """The fault for this request of ``size`` bytes, if it has one.

        After an overflow the first shorter request fits, and so does everything after it: the agent has recovered.
        """
        parts = model.split("--")
        if len(parts) != 3:
            return None
        with self._lock:
            before = self.steps.setdefault(model, [])
            is_first = step not in before
            before.append(step)
            fault = FAULTS[parts[1]]
            if fault.code == OVERFLOW and (model in self._windows or step == int(parts[2])):
                if size >= self._windows.setdefault(model, size):
                    return fault
                self._windows[model] = sys.maxsize
                return None
        return fault if step == int(parts[2]) and (is_first or not fault.passes) else None


def name_of(fault: str, step: int, base: str = "gpt-4o") -> str:
    """The name of a model that fails."""
    return f"{base}--{fault}--{step}"


class _Server(ThreadingHTTPServer):
    """Closes connections as their faults want it, without a last word."""

    request_queue_size = 128

    def shutdown_request(self, request: Any) -> None:
        self.close_request(request)


@contextmanager
def faulty_provider(script: bytes) -> Iterator[tuple[str, FaultyProvider]]:
    """The address of a faulty provider that otherwise answers as ``script`` says, and the provider."""
    provider = FaultyProvider(script)

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_POST(self) -> None:
            data = self.rfile.read(int(self.headers["Content-Length"]))
            path, _, query = self.path.partition("?")
            found = route("POST", path)
            assert found is not None, path
            asked = DIALECTS[found.dialect].asked(parse_request(data), found)
            has_events = found.dialect != "gemini" or "alt=sse" in query
            spoken = provider.engine.speak(found.dialect, found.kind, asked, data, events=has_events)
            fault = None
            if found.kind == GENERATE and asked.tools:
                fault = provider.fault(asked.model or found.model, step_of(asked), len(data))
            with suppress(OSError):
                exchange = Exchange(self, found.dialect, spoken, provider.closing)
                if fault is not None:
                    fault.act(exchange)
                else:
                    exchange.reply(spoken.status, b"".join(spoken.chunks), spoken.headers["content-type"])

        def log_message(self, *arguments: Any) -> None:
            """Print nothing."""

    server = _Server(("127.0.0.1", 0), Handler)
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_address[1]}", provider
    finally:
        provider.closing.set()
        server.shutdown()
        server.server_close()
        thread.join()
