"""A sandbox for agents in tests: a small tree, a scripted model behind the gateway, and what was run and noted."""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from proctor.contract.load import load_contract
from proctor.contract.model import Contract
from proctor.execute.agents.interface import Agent, AgentContext, ModelAccess
from proctor.execute.gateway.gateway_settings import Caps, Settings
from proctor.execute.gateway.model_gateway import Gateway
from proctor.execute.gateway.spend_reservation import Meter
from proctor.execute.monitor.price_table import FALLBACK
from proctor.execute.network.namespace_sockets import SocketRequest, open_listeners
from proctor.execute.sandbox.bubblewrap.backend import BubblewrapBackend
from proctor.execute.sandbox.bubblewrap.live_sandbox import LiveSandbox
from proctor.execute.sandbox.interface import Command, CommandResult, Limits, SandboxPlan
from tests.execute.sandbox.workplace import VARIABLES, layer, overlay, shell

PORT = 8080
FILES = {"calc.py": b"def add(a, b):\n    return a - b\n", "docs/a.md": b"A calculator.\n"}


class Stage:
    """Where one agent acts."""

    def __init__(self, box: LiveSandbox, contract: Contract, model: ModelAccess | None) -> None:
        self.box = box
        self.contract = contract
        self.model = model
        self.commands: list[tuple[Command, CommandResult]] = []
        self.notes: list[tuple[str, Mapping[str, Any]]] = []
        self._turn = threading.Lock()

    def scene(self, task: str = "add() subtracts. Mend it.", seconds: float = 60) -> AgentContext:
        return AgentContext(
            contract=self.contract,
            briefing=task,
            environment=VARIABLES,
            run=self._run,
            seconds_left=lambda: seconds,
            model=self.model,
            look=self.box.run,
            note=lambda type_, payload: self.notes.append((type_, payload)),
        )

    def _run(self, command: Command, ends: tuple[int, int] | None = None) -> CommandResult:
        finished = self.box.run(command, ends)
        with self._turn:
            self.commands.append((command, finished))
        return finished

    def read(self, path: str) -> str:
        return shell(self.box, f"cat '{path}'").stdout.prefix.decode()


@contextmanager
def staged(
    top: Path, contract: Path, agent: Agent, turns: list[dict[str, Any]] | dict[str, Any] | None = None
) -> Iterator[tuple[Stage, list[tuple[str, Mapping[str, Any]]]]]:
    """A stage below ``top`` for ``agent``, with what the gateway records; without ``turns`` there is no model.

    ``turns`` may also be a whole script.
    """
    events: list[tuple[str, Mapping[str, Any]]] = []
    plan = SandboxPlan(overlay(top / "box", layer(top / "base", FILES)), Limits(), agent.mounts())
    with BubblewrapBackend(top / "sessions").open(plan) as box:
        gateway = None
        if turns is not None:
            script = turns if isinstance(turns, dict) else {"schema": 1, "turns": turns}
            settings = Settings(script=json.dumps(script).encode())
            gateway = Gateway(
                settings,
                lambda type_, payload: events.append((type_, payload)),
                lambda data: "0" * 64,
                Meter(FALLBACK.table, Caps()),
            )
            gateway.start()
            for listener in open_listeners(box.init_pid, (SocketRequest("tcp", PORT),)):
                gateway.serve(listener)
        try:
            model = ModelAccess(f"http://127.0.0.1:{PORT}", "the-model") if gateway else None
            yield Stage(box, load_contract(contract), model), events
        finally:
            if gateway is not None:
                gateway.stop()
