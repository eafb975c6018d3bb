"""A gateway for tests: on the loopback, with a record that can be looked at, before a scripted provider or another."""

from __future__ import annotations

import hashlib
import http.client
import json
import socket
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest

from proctor.base.clock import SystemClock, system_entropy
from proctor.base.errors import InfrastructureFault
from proctor.execute.gateway.gateway_settings import Caps, Limits, Settings, Upstream
from proctor.execute.gateway.model_gateway import Gateway, Summary
from proctor.execute.gateway.scripted.scripted_model import scripted_server
from proctor.execute.gateway.spend_reservation import Meter
from proctor.execute.monitor.price_table import FALLBACK, PriceTable
from proctor.record.trace.writer import TraceWriter

KEY = "sk-proctor-test-0123456789abcdef"
DIALECTS = ("chat", "responses", "anthropic", "gemini")

PATHS = {
    "chat": "/v1/chat/completions",
    "responses": "/v1/responses",
    "anthropic": "/v1/messages",
    "gemini": "/v1beta/models/m:generateContent",
}


def body_of(dialect: str, text: str = "hello", **more: Any) -> dict[str, Any]:
    """A small request in a dialect."""
    if dialect == "responses":
        return {"model": "m", "input": [{"role": "user", "content": text}], **more}
    if dialect == "gemini":
        return {"contents": [{"role": "user", "parts": [{"text": text}]}], **more}
    return {"model": "m", "messages": [{"role": "user", "content": text}], **more}


class Rig:
    """A running gateway, its record and its blobs; ``events`` are also in a real trace at ``path``."""

    def __init__(self, directory: Path, settings: Settings, caps: Caps, table: PriceTable) -> None:
        self.path = directory / "events.jsonl"
        self.trace = TraceWriter.create(self.path, SystemClock(), system_entropy)
        self.events: list[tuple[str, dict[str, Any]]] = []
        self.blobs: dict[str, bytes] = {}
        self.broken_at = ""
        self.meter = Meter(table, caps)
        self.gateway = Gateway(settings, self._record, self._keep, self.meter)
        self.gateway.start()
        listener = socket.create_server(("127.0.0.1", 0))
        self.port: int = listener.getsockname()[1]
        self.url = f"http://127.0.0.1:{self.port}"
        self.gateway.serve(listener)

    def of(self, kind: str) -> list[dict[str, Any]]:
        """The payloads of one type of event."""
        return [payload for name, payload in self.events if name == kind]

    def wait(self, kind: str, count: int = 1) -> list[dict[str, Any]]:
        """The same, once there are ``count``."""
        self.wait_until(lambda: len(self.of(kind)) >= count)
        return self.of(kind)

    def wait_until(self, come: Callable[[], bool]) -> None:
        """Wait for what is to come."""
        deadline = time.monotonic() + 30
        while not come():
            assert time.monotonic() < deadline, [name for name, _ in self.events]
            time.sleep(0.005)

    def text(self, content: Mapping[str, Any]) -> str:
        """The whole text of a content in a record."""
        return content["text"] if "text" in content else self.blobs[content["blob"]].decode()

    def post(self, path: str, body: Any, headers: Mapping[str, str] | None = None) -> tuple[int, bytes]:
        """The status and the body of an answer."""
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=30)
        try:
            data = body if isinstance(body, bytes) else json.dumps(body).encode()
            connection.request("POST", path, data, {"Content-Type": "application/json", **(headers or {})})
            response = connection.getresponse()
            return response.status, response.read()
        finally:
            connection.close()

    def stop(self) -> Summary:
        summary = self.gateway.stop()
        self.trace.close()
        return summary

    def end(self) -> None:
        """Stop, whatever the test has broken."""
        try:
            self.stop()
        except InfrastructureFault:
            assert self.broken_at
            self.trace.close()

    def _record(self, kind: str, payload: Mapping[str, Any]) -> None:
        if self.broken_at and (kind == self.broken_at or self.broken_at == "*"):
            raise OSError("no space")
        self.trace.append(kind, payload)
        self.events.append((kind, dict(payload)))

    def _keep(self, data: bytes) -> str:
        digest = hashlib.sha256(data).hexdigest()
        self.blobs[digest] = data
        return digest


MakeRig = Callable[..., Rig]


@pytest.fixture
def make_rig(tmp_path: Path) -> Iterator[MakeRig]:
    """Makes gateways; ``turns`` is the YAML of a scripted provider behind it, which knows ``KEY`` only."""
    with ExitStack() as stack:
        made: list[Rig] = []

        def make(
            turns: str = "",
            *,
            url: str = "",
            amount: str = "",
            caps: Caps | None = None,
            table: PriceTable = FALLBACK.table,
            **settings: Any,
        ) -> Rig:
            if turns:
                url = stack.enter_context(scripted_server(f"schema: 1\nturns:\n{turns}".encode(), key=KEY))
            if url:
                settings["upstreams"] = {name: Upstream(url, KEY) for name in DIALECTS}
            caps = caps or Caps(Decimal(amount) if amount else None)
            settings.setdefault("limits", Limits(abandoned_seconds=0.1))  # so that tests of hanging calls end soon
            directory = tmp_path / f"rig{len(made)}"
            directory.mkdir()
            rig = Rig(directory, Settings(**settings), caps, table)
            made.append(rig)
            stack.callback(rig.end)
            return rig

        yield make
