"""An agent that speaks the Agent Client Protocol: started in the sandbox, driven from the host over two pipes.

``acp:AGENT`` is an installed agent that has an adapter; ``acp:PROGRAM ARGUMENTS`` any program that speaks the protocol,
which gets its model in the same variables as an ``endpoint`` agent.
"""

from __future__ import annotations

import os
import threading
from contextlib import ExitStack
from dataclasses import replace
from typing import Any

from proctor.base.canonical import digest
from proctor.base.errors import InfrastructureFault, UsageFault
from proctor.execute.agents.acp.client_methods import Services, Unable, end_program, numbered
from proctor.execute.agents.acp.json_rpc import BAD_PARAMETERS, INTERNAL, NO_METHOD, Broken, Message, Wire
from proctor.execute.agents.acp.permission import choose, decide, read_question
from proctor.execute.agents.adapters.adapter_registry import find_adapter, is_adapted, origin
from proctor.execute.agents.adapters.interface import Adapter, Launch, Order, variables
from proctor.execute.agents.command_agent import copied_files, filled, model_variables, program_of, requested_command
from proctor.execute.agents.install.agent_store import Installation
from proctor.execute.agents.installed_agent import (
    KEPT_OUTPUT_BYTES,
    command_line,
    extended,
    installation_of,
    model_of,
    wrappers_of,
)
from proctor.execute.agents.interface import (
    BRIEFING,
    AgentContext,
    AgentDescription,
    AgentFiles,
    AgentRequest,
    Ending,
    ModelAccess,
)
from proctor.execute.agents.options import NO_OPTIONS, AgentOptions, McpServer
from proctor.execute.agents.resolve_options import option_launch
from proctor.execute.sandbox.interface import WORKSPACE, Command, CommandResult, Mount, Output
from proctor.execute.workspace.layer_store import held

PROTOCOL = 1
PERMISSION = "session/request_permission"
WAIT = "terminal/wait_for_exit"
EVENT = "agent.permission"
WAITS = 256
"""How many questions for the end of a terminal stay open at a time; each has a thread of its own."""

LOGIN_METHODS = ("gemini-api-key", "openai", "openai-api-key", "codex-api-key")
"""The ways to log in by a key in the environment, as agents call them."""


class Client:
    """One conversation."""

    def __init__(self, wire: Wire, scene: AgentContext, servers: tuple[McpServer, ...] = ()) -> None:
        self._wire = wire
        self._scene = scene
        self._servers = servers
        self._services = Services(scene)
        self._next = 0
        self._waits: list[threading.Thread] = []

    def work(self, task: str) -> str:
        """Let the agent do ``task``; the reason it gives for stopping. :class:`Broken` when it breaks off."""
        try:
            capabilities = {"fs": {"readTextFile": True, "writeTextFile": True}, "terminal": True}
            opened = self._ask("initialize", {"protocolVersion": PROTOCOL, "clientCapabilities": capabilities})
            self._log_in(opened)
            servers = [_server(one) for one in self._servers]
            session = self._ask("session/new", {"cwd": WORKSPACE, "mcpServers": servers})
            prompt = [{"type": "text", "text": task}]
            done = self._ask("session/prompt", {"sessionId": session.get("sessionId"), "prompt": prompt})
            return str(done.get("stopReason", ""))[:100]
        finally:
            self._services.close()

    def _log_in(self, opened: dict[str, Any]) -> None:
        """Choose the login method that needs no user, if the agent offers one."""
        methods = opened.get("authMethods")
        offered = [one.get("id") for one in methods if isinstance(one, dict)] if isinstance(methods, list) else []
        for method in LOGIN_METHODS:
            if method in offered:
                self._ask("authenticate", {"methodId": method})
                return

    def _ask(self, method: str, parameters: dict[str, Any]) -> dict[str, Any]:
        """The result of one request; what the agent asks meanwhile is answered."""
        self._next += 1
        number = self._next
        self._wire.send({"id": number, "method": method, "params": parameters})
        while (message := self._wire.receive()) is not None:
            if message.method:
                self._answer(message)
            elif message.id == number:
                if message.error:
                    raise Broken(f"{method}: {message.error}")
                return message.content
        raise Broken(f"the agent ended during {method}")

    def _answer(self, message: Message) -> None:
        if message.id is None:
            return
        if message.method == PERMISSION:
            self._wire.send({"id": message.id, "result": self._permit(message.content)})
        elif message.method == WAIT:
            self._wait(message)
        else:
            self._serve(message)

    def _wait(self, message: Message) -> None:
        self._waits = [one for one in self._waits if one.is_alive()]
        if len(self._waits) >= WAITS:
            self._refuse(message, BAD_PARAMETERS, f"{WAITS} requests wait for terminals already")
            return
        self._waits.append(threading.Thread(target=self._serve, args=(message,), name="terminal wait", daemon=True))
        self._waits[-1].start()

    def _permit(self, given: dict[str, Any]) -> dict[str, Any]:
        call = given.get("toolCall")
        asked = read_question(call if isinstance(call, dict) else {})
        answer = decide(self._scene.contract.policy, asked)
        if self._scene.note is not None:
            self._scene.note(
                EVENT,
                {
                    "title": asked.title,
                    "kind": asked.kind,
                    "command": asked.command,
                    "paths": list(asked.paths),
                    "allowed": answer.allowed,
                    "reason": answer.reason,
                },
            )
        return choose(answer, given.get("options"))

    def _serve(self, message: Message) -> None:
        method = self._services.methods.get(message.method)
        if method is None:
            self._refuse(message, NO_METHOD, f"there is no method {message.method[:100]}")
            return
        try:
            self._wire.send({"id": message.id, "result": method(message.content)})
        except Unable as error:
            self._refuse(message, BAD_PARAMETERS, str(error))
        except InfrastructureFault as fault:
            self._refuse(message, INTERNAL, fault.message)

    def _refuse(self, message: Message, code: int, reason: str) -> None:
        self._wire.send({"id": message.id, "error": {"code": code, "message": reason}})


def _server(server: McpServer) -> dict[str, Any]:
    """A server over standard streams, as the protocol describes it."""
    variables = [{"name": name, "value": value} for name, value in server.environment.items()]
    return {"name": server.name, "command": server.command[0], "args": list(server.command[1:]), "env": variables}


GOODBYE_SECONDS = 10
NAME = "agent"
NOT_FOUND = 127
"""The exit code of a shell for a missing program."""


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

    def act(self, scene: AgentContext) -> Ending:
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

    def __init__(self, scene: AgentContext, command: Command) -> None:
        self._scene = scene
        self._command = command
        hears, self._says = os.pipe2(os.O_CLOEXEC)
        self._listens, speaks = os.pipe2(os.O_CLOEXEC)
        self._theirs = (hears, speaks)
        self.wire = Wire(self._listens, self._says)
        self.finished: CommandResult | None = None
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


def _converse(scene: AgentContext, command: Command, servers: tuple[McpServer, ...]) -> Ending:
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


def _ending(finished: CommandResult, problem: str, transcript: Output) -> Ending:
    if not finished.started or (finished.exit_code == NOT_FOUND and not transcript.prefix.count(b"\n< ")):
        said = finished.stderr.prefix[-300:].decode(errors="replace").strip()
        return Ending("not-started", problem=finished.problem or said)
    if finished.timed_out:
        return Ending("timed-out", finished.exit_code, trajectory=transcript)
    reason = "failed" if problem else "finished"
    return Ending(reason, finished.exit_code, problem=problem, trajectory=transcript)
