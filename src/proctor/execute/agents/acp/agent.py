"""An agent that speaks the Agent Client Protocol: started in the sandbox, driven from out here over two pipes.

``acp:AGENT`` is an installed agent that has an adapter; ``acp:PROGRAM ARGUMENTS`` any program that speaks the protocol,
which is told of its model as an ``endpoint`` agent is.
"""

from __future__ import annotations

import os
import threading
from contextlib import ExitStack
from dataclasses import replace

from proctor.base.canonical import digest
from proctor.base.errors import InfrastructureFault, UsageFault
from proctor.execute.agents.acp.client import Client
from proctor.execute.agents.acp.services import end_program, numbered
from proctor.execute.agents.acp.wire import Broken, Wire
from proctor.execute.agents.adapted import (
    KEPT_OUTPUT_BYTES,
    command_line,
    extended,
    installation_of,
    model_of,
    wrappers_of,
)
from proctor.execute.agents.adapters.interface import Adapter, Launch, Order, variables
from proctor.execute.agents.adapters.plugins import origin
from proctor.execute.agents.adapters.table import find_adapter, is_adapted
from proctor.execute.agents.command import program_of, requested_command
from proctor.execute.agents.endpoint import filled, model_variables
from proctor.execute.agents.files import copied_files
from proctor.execute.agents.install.store import Installation
from proctor.execute.agents.interface import (
    BRIEFING,
    AgentDescription,
    AgentFiles,
    AgentRequest,
    Ending,
    ModelAccess,
    Scene,
)
from proctor.execute.agents.options import NO_OPTIONS, AgentOptions, McpServer
from proctor.execute.agents.with_options import option_launch
from proctor.execute.sandbox.interface import Command, Finished, Mount, Output
from proctor.execute.workspace.store import held

GOODBYE_SECONDS = 10
NAME = "agent"
NOT_FOUND = 127
"""The code with which a shell says that there is no such program."""


class AcpAgent:
    """Starts one server of the protocol and gives it one task."""

    needs_sandbox = True

    def __init__(
        self,
        arguments: tuple[str, ...],
        model: str,
        files: AgentFiles | None = None,
        adapter: Adapter | None = None,
        installation: Installation | None = None,
        dialect: str = "",
        options: AgentOptions = NO_OPTIONS,
    ) -> None:
        self._arguments = arguments
        self._model = model
        self._files = files
        self._adapter = adapter
        self._installation = installation
        self._dialect = dialect
        self._servers = options.mcp
        self._options = replace(options, mcp=())

    @classmethod
    def from_request(cls, request: AgentRequest) -> AcpAgent:
        arguments = requested_command(request, "--agent acp:opencode, or 'acp:PROGRAM ARGUMENTS'")
        name, _, version = arguments[0].partition("@")
        if len(arguments) > 1 or not is_adapted(name):
            return cls(arguments, request.model, copied_files(request), options=request.options)
        adapter = find_adapter(name)
        if adapter.acp is None:
            raise UsageFault(f"{adapter.name} does not speak the Agent Client Protocol", hint="use it without acp:")
        model, dialect = model_of(adapter, request)
        installation = installation_of(adapter, request, version)
        return cls((name,), model, copied_files(request), adapter, installation, dialect, request.options)

    def describe(self) -> AgentDescription:
        launch = self._launch(ModelAccess("GATEWAY", self._model))
        settings = {"protocol": "acp", "model": self._model}
        if self._installation is not None:
            settings |= {**self._installation.settings(), "dialect": self._dialect}
        if self._adapter is not None:
            settings |= origin(self._adapter, launch)
        files = self._files.digest if self._files else ""
        return AgentDescription(
            name=f"acp:{program_of(self._arguments)}",
            kind="acp",
            command=launch.arguments,
            digest=digest({"settings": settings, "command": list(command_line(launch)), "files": files}),
            settings=settings,
        )

    def mounts(self) -> tuple[Mount, ...]:
        files = self._files.mounts() if self._files else ()
        return files if self._installation is None else (*files, *self._installation.mounts())

    def act(self, scene: Scene) -> Ending:
        if scene.model is None and self._model:
            raise UsageFault("the acp agent needs a model", hint="use --model PROVIDER/NAME")
        launch = self._launch(scene.model or ModelAccess("", ""))
        line = numbered(NAME, command_line(launch))
        command = Command(
            line,
            {**scene.environment, **launch.environment, "PROCTOR_BRIEFING": BRIEFING},
            timeout_seconds=max(0.001, scene.seconds_left()),
            output_bytes=KEPT_OUTPUT_BYTES,
            wrappers=(line, *wrappers_of(launch)),
        )
        with ExitStack() as stack:
            stack.enter_context(held(self._files.layer if self._files else None))
            if self._installation is not None:
                stack.enter_context(self._installation.held())
            return _converse(scene, command, self._servers)

    def _launch(self, model: ModelAccess) -> Launch:
        if self._adapter is not None and self._adapter.acp is not None:
            launch = self._adapter.acp(Order("", model, self._dialect, self._options))
            return extended(replace(launch, environment=variables(self._adapter, launch)), self._options)
        launch = option_launch(filled(self._arguments, model), self._options)
        known = model_variables(model) if model.address else {}
        return replace(launch, environment={**known, **launch.environment})


class Running:
    """The agent's command in a thread of its own, with its streams as pipes of ours."""

    def __init__(self, scene: Scene, command: Command) -> None:
        self._scene = scene
        self._command = command
        hears, self._says = os.pipe2(os.O_CLOEXEC)
        self._listens, speaks = os.pipe2(os.O_CLOEXEC)
        self._theirs = (hears, speaks)
        self.wire = Wire(self._listens, self._says)
        self.finished: Finished | None = None
        self.fault: InfrastructureFault | None = None
        self._thread = threading.Thread(target=self._work, name="acp agent")
        self._thread.start()

    def end(self) -> None:
        """Hang up, wait for a while, and end what has not ended by itself."""
        self.wire.hang_up()
        self._thread.join(GOODBYE_SECONDS)
        if self._thread.is_alive():
            end_program(self._scene, NAME, "KILL")
            self._thread.join()

    def _work(self) -> None:
        try:
            self.finished = self._scene.run(self._command, self._theirs)
        except InfrastructureFault as fault:
            self.fault = fault
        finally:
            for handle in self._theirs:
                os.close(handle)


def _converse(scene: Scene, command: Command, servers: tuple[McpServer, ...]) -> Ending:
    running = Running(scene, command)
    problem = ""
    try:
        Client(running.wire, scene, servers).work(scene.briefing)
    except Broken as broken:
        problem = str(broken)
    finally:
        running.end()
        transcript = running.wire.transcript()
        running.wire.close()
    if running.fault is not None:
        raise running.fault
    assert running.finished is not None
    return _ending(running.finished, problem, transcript)


def _ending(finished: Finished, problem: str, transcript: Output) -> Ending:
    if not finished.started or (finished.exit_code == NOT_FOUND and not transcript.prefix.count(b"\n< ")):
        said = finished.stderr.prefix[-300:].decode(errors="replace").strip()
        return Ending("not-started", problem=finished.problem or said)
    if finished.timed_out:
        return Ending("timed-out", finished.exit_code, trajectory=transcript)
    reason = "failed" if problem else "finished"
    return Ending(reason, finished.exit_code, problem=problem, trajectory=transcript)
