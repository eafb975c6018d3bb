"""An installed agent in the sandbox: started as its adapter says, with its settings in a home that ends with the run.

One command line writes the settings, introduces the agent to its model where that is needed, and becomes the agent; so
all of it is on record in one place. What the agent says about itself decides nothing: not its exit code, which several
agents get wrong, and not its own notes, which are kept as a bounded archive for whoever wants to read them.
"""

from __future__ import annotations

import shlex
from pathlib import PurePosixPath

from proctor.base.canonical import digest
from proctor.base.errors import UsageFault
from proctor.execute.agents.adapters.interface import Adapter, Launch, Order, variables
from proctor.execute.agents.adapters.table import find_adapter
from proctor.execute.agents.install.store import AgentStore, Installation
from proctor.execute.agents.interface import BRIEFING, AgentDescription, AgentRequest, Ending, ModelAccess, Scene
from proctor.execute.inputs.fetch import InputCache
from proctor.execute.sandbox.interface import HOME, Command, Finished, Mount, Output

KEPT_OUTPUT_BYTES = 1 << 20
TRAJECTORY_BYTES = 16 << 20
TRAJECTORY_SECONDS = 60
ARGUMENT_BYTES = 100_000
"""The longest task that is given as an argument; the kernel takes no more than 128 KiB. A longer one stays a file."""


class AdaptedAgent:
    """One installed agent and the model that it is to use."""

    needs_sandbox = True

    def __init__(self, adapter: Adapter, installation: Installation, model: str, dialect: str) -> None:
        self._adapter = adapter
        self._installation = installation
        self._model = model
        self._dialect = dialect

    @classmethod
    def from_request(cls, request: AgentRequest) -> AdaptedAgent:
        adapter = find_adapter(request.kind)
        if request.argument or request.files:
            raise UsageFault(f"{adapter.name} takes neither an argument nor files", hint=f"use --agent {adapter.name}")
        return cls(adapter, installation_of(adapter, request), *model_of(adapter, request))

    def describe(self) -> AgentDescription:
        shown = self._adapter.launch(self._order("BRIEFING", ModelAccess("GATEWAY", self._model)))
        settings = {**self._installation.settings(), "model": self._model, "dialect": self._dialect}
        return AgentDescription(
            name=self._adapter.name,
            kind="adapter",
            command=shown.arguments,
            digest=digest({"settings": settings, "command": list(command_line(shown))}),
            settings=settings,
        )

    def mounts(self) -> tuple[Mount, ...]:
        return self._installation.mounts()

    def act(self, scene: Scene) -> Ending:
        if scene.model is None:
            raise UsageFault(f"{self._adapter.name} needs a model", hint="use --model and --endpoint")
        launch = self._adapter.launch(self._order(task_text(scene.briefing), scene.model))
        command = Command(
            arguments=command_line(launch),
            environment={**scene.environment, **variables(self._adapter, launch), "PROCTOR_BRIEFING": BRIEFING},
            timeout_seconds=max(0.001, scene.seconds_left()),
            output_bytes=min(KEPT_OUTPUT_BYTES, scene.contract.budget.output_bytes),
        )
        with self._installation.held():
            return ending_of(scene.run(command), fetch_trajectory(self._adapter, scene))

    def _order(self, task: str, model: ModelAccess) -> Order:
        return Order(task, model, self._dialect)


def installation_of(adapter: Adapter, request: AgentRequest) -> Installation:
    """The installation of ``adapter``, checked to be as it was made."""
    if request.installations is None:
        raise UsageFault(f"{adapter.name} cannot be used here")
    store = AgentStore(request.installations, InputCache(request.installations.parent / "inputs"))
    found = store.get(adapter.name)
    if found is None:
        raise UsageFault(f"{adapter.name} is not installed", hint=f"proctor agents install {adapter.name}")
    return store.check(found)


def model_of(adapter: Adapter, request: AgentRequest) -> tuple[str, str]:
    """The model that was asked for, and the first of the agent's dialects in which it can be talked to."""
    if not request.model:
        raise UsageFault(f"{adapter.name} needs a model", hint="use --model PROVIDER/NAME")
    shared = [dialect for dialect in adapter.dialects if dialect in request.dialects]
    if not shared:
        spoken = " or ".join(request.dialects)
        raise UsageFault(f"{adapter.name} does not speak {spoken}", hint=f"it speaks {', '.join(adapter.dialects)}")
    return request.model, shared[0]


def command_line(launch: Launch) -> tuple[str, ...]:
    """The one command that does everything that ``launch`` asks for; plain arguments where there is nothing before."""
    lines = ["set -e", "umask 077"]
    for path, text in launch.files.items():
        target = shlex.quote(f"{HOME}/{path}")
        lines.append(f"mkdir -p {shlex.quote(str(PurePosixPath(HOME, path).parent))}")
        lines.append(f"printf %s {shlex.quote(text)} > {target}")
    lines += [f"{shlex.join(command)} </dev/null >&2" for command in launch.first]
    if len(lines) == 2:
        return launch.arguments
    return ("/bin/sh", "-c", "\n".join([*lines, 'exec "$@"']), "sh", *launch.arguments)


def task_text(briefing: str) -> str:
    """The task as an argument can hold it."""
    if len(briefing.encode()) <= ARGUMENT_BYTES:
        return briefing
    return f"Your task is described in the file {BRIEFING}. Read all of it, then carry it out."


def fetch_trajectory(adapter: Adapter, scene: Scene) -> Output | None:
    """What the agent noted itself, packed inside the sandbox; nothing where there is nothing, or no one to ask."""
    if scene.look is None:
        return None
    patterns = " ".join(adapter.trajectory)
    script = (
        f'cd {HOME} || exit 0; set --; for f in {patterns}; do [ -e "$f" ] && set -- "$@" "$f"; done; '
        '[ $# -gt 0 ] || exit 0; exec tar -cf - --ignore-failed-read -- "$@"'
    )
    packed = scene.look(
        Command(
            ("/bin/sh", "-c", script),
            {"PATH": "/usr/bin:/bin", "LC_ALL": "C.UTF-8"},
            timeout_seconds=TRAJECTORY_SECONDS,
            output_bytes=TRAJECTORY_BYTES,
        )
    )
    return packed.stdout if packed.stdout.total_bytes else None


def ending_of(finished: Finished, trajectory: Output | None) -> Ending:
    """How an agent ended whose exit code says nothing."""
    if not finished.started:
        return Ending("not-started", problem=finished.problem)
    reason = "timed-out" if finished.timed_out else "finished"
    return Ending(reason, finished.exit_code, trajectory=trajectory)
