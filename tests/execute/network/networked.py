"""A sandbox with a network of its own for tests, and what that network has told."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from proctor.contract.policy import Network
from proctor.execute.network.service import NetworkService
from proctor.execute.network.told import Exchange, Lookup, Summary, Told
from proctor.execute.sandbox.bubblewrap.backend import BubblewrapBackend
from proctor.execute.sandbox.bubblewrap.box import Box
from proctor.execute.sandbox.interface import Command, Finished, Limits, SandboxPlan
from tests.execute.network.servers import Web
from tests.execute.sandbox.workplace import PYTHON, VARIABLES, layer, overlay

SECONDS = 120


class Seen:
    """Everything that was told, in order."""

    def __init__(self) -> None:
        self.all: list[Told] = []
        self._change = threading.Condition()

    def tell(self, told: Told) -> None:
        with self._change:
            self.all.append(told)
            self._change.notify_all()

    def wait_for(self, wanted: Callable[[Told], bool]) -> None:
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

    def __init__(self, box: Box, service: NetworkService, seen: Seen, environment: dict[str, str]) -> None:
        self.box = box
        self.service = service
        self.seen = seen
        self.environment = environment

    def run(self, *arguments: str, **fields: Any) -> Finished:
        variables = {**VARIABLES, **self.environment}
        return self.box.run(Command(arguments, variables, timeout_seconds=SECONDS, **fields))

    def python(self, text: str) -> str:
        """What a Python program prints inside."""
        finished = self.run(PYTHON, "-I", "-c", text)
        assert finished.exit_code == 0, finished.stderr.prefix.decode()
        return finished.stdout.prefix.decode().strip()

    def curl(self, *arguments: str) -> str:
        """What curl prints, its exit code first if it is not 0."""
        finished = self.run("curl", "-sS", "--max-time", "100", *arguments)
        text = finished.stdout.prefix.decode()
        return f"{finished.exit_code} {text}" if finished.exit_code else text

    def summary(self) -> Summary:
        return self.service.close()


@contextmanager
def networked(top: Path, policy: Network, web: Web | None = None, **fields: Any) -> Iterator[Networked]:
    """A sandbox below ``top`` with a network by ``policy``, where names lead into ``web``."""
    seen = Seen()
    scratch = top / "network"
    scratch.mkdir(parents=True)
    if web is not None:
        fields = {"connect": web.dial, "context": web.client_context, **fields}
    service = NetworkService(policy, scratch, seen.tell, **fields)
    plan = SandboxPlan(overlay(top / "box", layer(top / "base")), Limits(), service.mounts)
    try:
        with BubblewrapBackend(top / "sessions").open(plan) as box:
            access = service.start(box)
            yield Networked(box, service, seen, dict(access.environment))
    finally:
        service.close()
