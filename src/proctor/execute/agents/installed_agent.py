"""An installed agent in the sandbox: started as its adapter says, with its settings in a home that ends with the run.

One command line writes the settings, configures the model if needed, and then executes the agent, so all of it is
recorded in one place. What the agent says about itself decides nothing: not its exit code, which several agents get
wrong, and not its own notes, which are stored as a bounded archive.
"""

from __future__ import annotations

import shlex
from dataclasses import replace
from pathlib import PurePosixPath

from proctor.base.canonical import digest
from proctor.base.errors import UsageFault
from proctor.execute.agents.adapters.adapter_registry import find_adapter, origin
from proctor.execute.agents.adapters.interface import Adapter, Launch, Order, variables
from proctor.execute.agents.install.agent_store import AgentStore, Installation, of_version
from proctor.execute.agents.interface import BRIEFING, AgentContext, AgentDescription, AgentRequest, Ending, ModelAccess
from proctor.execute.agents.options import NO_OPTIONS, AgentOptions
from proctor.execute.inputs.input_cache import InputCache
from proctor.execute.sandbox.interface import HOME, Command, CommandResult, Mount, Output

KEPT_OUTPUT_BYTES = 1 << 20
TRAJECTORY_BYTES = 16 << 20
TRAJECTORY_SECONDS = 60
ARGUMENT_BYTES = 100_000
"""The longest task that is given as an argument; the kernel takes no more than 128 KiB. A longer one stays a file."""


class AdaptedAgent:
    """One installed agent, the model that it is to use, and its options."""

    needs_sandbox = True

    def __init__(
        self,
        adapter: Adapter,
        installation: Installation,
        model: str,
        dialect: str,
        options: AgentOptions = NO_OPTIONS,
    ) -> None:
        self._adapter = adapter
        self._installation = installation
        self._model = model
        self._dialect = dialect
        self._options = options

    @classmethod
    def from_request(cls, request: AgentRequest) -> AdaptedAgent:
        adapter = find_adapter(request.kind)
        if request.argument or request.files:
            raise UsageFault(f"{adapter.name} takes neither an argument nor files", hint=f"use --agent {adapter.name}")
        installation = installation_of(adapter, request, request.version)
        return cls(adapter, installation, *model_of(adapter, request), request.options)

    def describe(self) -> AgentDescription:
        shown = self._launch("BRIEFING", ModelAccess("GATEWAY", self._model))
        settings = {**self._installation.settings(), "model": self._model, "dialect": self._dialect}
        settings |= origin(self._adapter, shown)
        return AgentDescription(
            name=self._adapter.name,
            kind="adapter",
            command=shown.arguments,
            digest=digest({"settings": settings, "command": list(command_line(shown))}),
            settings=settings,
        )

    def mounts(self) -> tuple[Mount, ...]:
        return self._installation.mounts()

    def act(self, scene: AgentContext) -> Ending:
        if scene.model is None:
            raise UsageFault(f"{self._adapter.name} needs a model", hint="use --model and --endpoint")
        launch = self._launch(task_text(scene.briefing), scene.model)
        command = Command(
            arguments=command_line(launch),
            environment={**scene.environment, **variables(self._adapter, launch), "PROCTOR_BRIEFING": BRIEFING},
            timeout_seconds=max(0.001, scene.seconds_left()),
            output_bytes=min(KEPT_OUTPUT_BYTES, scene.contract.budget.output_bytes),
            wrappers=wrappers_of(launch),
        )
        with self._installation.held():
            return ending_of(scene.run(command), fetch_trajectory(self._adapter, scene))

    def _launch(self, task: str, model: ModelAccess) -> Launch:
        return extended(self._adapter.launch(Order(task, model, self._dialect, self._options)), self._options)


def extended(launch: Launch, options: AgentOptions) -> Launch:
    """``launch`` with the user's own arguments and variables."""
    end = len(launch.arguments) - launch.extra
    arguments = (*launch.arguments[:end], *options.arguments, *launch.arguments[end:])
    return replace(launch, arguments=arguments, environment={**launch.environment, **options.environment})


def installation_of(adapter: Adapter, request: AgentRequest, version: str = "") -> Installation:
    """The installation of ``adapter``, in one ``version`` if that is given, checked to be as it was made."""
    if request.installations is None:
        raise UsageFault(f"{adapter.name} cannot be used here")
    store = AgentStore(request.installations, InputCache(request.installations.parent / "inputs"))
    of_version(adapter, version)
    found = store.get(adapter.name, version)
    if found is None:
        asked = f"{adapter.name}@{version}" if version else adapter.name
        raise UsageFault(f"{asked} is not installed", hint=f"proctor agents install {asked}")
    return store.check(found)


def model_of(adapter: Adapter, request: AgentRequest) -> tuple[str, str]:
    """The model that was asked for, and the first of the agent's dialects in which it can be talked to."""
    if not request.model:
        raise UsageFault(f"{adapter.name} needs a model", hint="use --model PROVIDER/NAME")
    shared = [dialect for dialect in adapter.dialects if dialect in request.dialects]
    if not shared:
        offered = " or ".join(request.dialects)
        raise UsageFault(f"{adapter.name} does not speak {offered}", hint=f"it speaks {', '.join(adapter.dialects)}")
    return request.model, shared[0]


def command_line(launch: Launch) -> tuple[str, ...]:
    """The one command that does everything that ``launch`` asks for; plain arguments where there is nothing before."""
    lines = ["set -e", "umask 077"]
    for path, text in launch.files.items():
        target = shlex.quote(f"{HOME}/{path}")
        lines.append(f"mkdir -p {shlex.quote(str(PurePosixPath(HOME, path).parent))}")
        lines.append(f"printf %s {shlex.quote(text)} > {target}")
    for path, linked in launch.links.items():
        lines.append(f"mkdir -p {shlex.quote(str(PurePosixPath(HOME, path).parent))}")
        lines.append(f"ln -sfn {shlex.quote(linked)} {shlex.quote(f'{HOME}/{path}')}")
    lines += [f"{shlex.join(command)} </dev/null >&2" for command in launch.first]
    if len(lines) == 2:
        return launch.arguments
    return ("/bin/sh", "-c", "\n".join([*lines, 'exec "$@"']), "sh", *launch.arguments)


def wrappers_of(launch: Launch) -> tuple[tuple[str, ...], ...]:
    """The command line around that of the agent, if there is one: the agent did not write its text."""
    line = command_line(launch)
    return () if line == launch.arguments else (line,)


def task_text(briefing: str) -> str:
    """The task as an argument can hold it."""
    if len(briefing.encode()) <= ARGUMENT_BYTES:
        return briefing
    return f"Your task is described in the file {BRIEFING}. Read all of it, then carry it out."


def fetch_trajectory(adapter: Adapter, scene: AgentContext) -> Output | None:
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


def ending_of(finished: CommandResult, trajectory: Output | None) -> Ending:
    """How an agent ended whose exit code says nothing."""
    if not finished.started:
        return Ending("not-started", problem=finished.problem)
    reason = "timed-out" if finished.timed_out else "finished"
    return Ending(reason, finished.exit_code, trajectory=trajectory)
