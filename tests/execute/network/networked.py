"""A sandbox with a network of its own for tests, and what that network has told."""

from __future__ import annotations

import json
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

from proctor.contract.policy import Network
from proctor.execute.network.network_events import Exchange, Lookup, NetworkEvent, Summary
from proctor.execute.network.network_service import NetworkService
from proctor.execute.sandbox.bubblewrap.backend import BubblewrapBackend
from proctor.execute.sandbox.bubblewrap.live_sandbox import LiveSandbox
from proctor.execute.sandbox.interface import Command, CommandResult, Limits, SandboxPlan
from tests.execute.network.servers import Web
from tests.execute.sandbox.workplace import PYTHON, VARIABLES, layer, overlay

SECONDS = 120

FETCH = """
import json, http.client, socket, ssl, sys
from urllib import error, request
ask = json.loads(sys.argv[1])
class Stay(request.HTTPRedirectHandler):
    def redirect_request(self, *arguments):
        return None
context = ssl.create_default_context()
if not ask.get('trust', True):
    context.check_hostname, context.verify_mode = False, ssl.CERT_NONE
handlers = [request.HTTPSHandler(context=context)]
handlers += [] if ask.get('follow') else [Stay()]
handlers += [] if ask.get('proxy', True) else [request.ProxyHandler({})]
if ask.get('near'):
    real = socket.getaddrinfo
    socket.getaddrinfo = lambda host, *more, **named: real('127.0.0.1', *more, **named)
data = ask['data'].encode() if 'data' in ask else None
wanted = request.Request(ask['url'], data, ask.get('headers', {}), method=ask.get('method'))
try:
    answer = request.build_opener(*handlers).open(wanted, timeout=100)
    found = answer.status, answer.read().decode()
except error.HTTPError as problem:
    found = problem.code, problem.read().decode()
except (OSError, http.client.HTTPException) as problem:
    found = 0, str(problem)
print(json.dumps(found))
"""


class Seen:
    """Everything that was told, in order."""

    def __init__(self) -> None:
        self.all: list[NetworkEvent] = []
        self._change = threading.Condition()

    def tell(self, told: NetworkEvent) -> None:
        with self._change:
            self.all.append(told)
            self._change.notify_all()

    def wait_for(self, wanted: Callable[[NetworkEvent], bool]) -> None:
        """Return once something ``wanted`` has been told."""
        with self._change:
            assert self._change.wait_for(lambda: any(map(wanted, self.all)), SECONDS), self.all

    @property
    def exchanges(self) -> list[Exchange]:
        return [one for one in self.all if isinstance(one, Exchange)]

    @property
    def lookups(self) -> list[Lookup]:
        return [one for one in self.all if isinstance(one, Lookup)]


class Networked:
    """A live sandbox whose network is open as a policy says."""

    def __init__(self, box: LiveSandbox, service: NetworkService, seen: Seen, environment: dict[str, str]) -> None:
        self.box = box
        self.service = service
        self.seen = seen
        self.environment = environment

    def run(self, *arguments: str, **fields: Any) -> CommandResult:
        variables = {**VARIABLES, **self.environment}
        return self.box.run(Command(arguments, variables, timeout_seconds=SECONDS, **fields))

    def python(self, text: str) -> str:
        """What a Python program prints inside."""
        finished = self.run(PYTHON, "-I", "-c", text)
        assert finished.exit_code == 0, finished.stderr.prefix.decode()
        return finished.stdout.prefix.decode().strip()

    def fetch(self, url: str, **how: Any) -> tuple[int, str]:
        """Ask for a page from inside: the status and the text, or 0 and the error.

        ``how`` may hold ``data``, ``method``, ``headers``, ``follow``, ``proxy`` (whether to use it), ``trust``
        (whether to check certificates) and ``near`` (whether every name leads to the loopback).
        """
        finished = self.run(PYTHON, "-I", "-c", FETCH, json.dumps({"url": url, **how}), output_bytes=4 << 20)
        assert finished.exit_code == 0, finished.stderr.prefix.decode()
        status, text = json.loads(finished.stdout.prefix)
        return status, text

    def page(self, url: str, **how: Any) -> str:
        """The text of a page."""
        return self.fetch(url, **how)[1]

    def summary(self) -> Summary:
        return self.service.close()


@contextmanager
def networked(
    top: Path,
    policy: Network,
    web: Web | None = None,
    *,
    service: NetworkService | None = None,
    plan: dict[str, Any] | None = None,
    **fields: Any,
) -> Iterator[Networked]:
    """A sandbox below ``top`` with a network by ``policy``, where names lead into ``web``; or with a given network."""
    seen = Seen()
    scratch = top / "network"
    scratch.mkdir(parents=True)
    if web is not None:
        fields = {"connect": web.dial, "context": web.client_context, **fields}
    ours = service or NetworkService(policy, scratch, seen.tell, **fields)
    whole = SandboxPlan(overlay(top / "box", layer(top / "base")), Limits(), ours.mounts)
    try:
        with BubblewrapBackend(top / "sessions").open(replace(whole, **(plan or {}))) as box:
            access = ours.start(box)
            yield Networked(box, ours, seen, dict(access.environment))
    finally:
        if service is None:
            ours.close()
