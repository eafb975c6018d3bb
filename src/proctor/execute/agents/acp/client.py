"""The client's half of a conversation: it opens a session, hands over the task, and answers until the agent is done.

The agent's questions are answered by the contract's policy, its wishes for files and terminals by the sandbox; both are
recorded. Its reports about itself are part of the transcript and of nothing else.
"""

from __future__ import annotations

import threading
from typing import Any

from proctor.base.errors import InfrastructureFault
from proctor.execute.agents.acp.permission import choose, decide, read_question
from proctor.execute.agents.acp.services import Services, Unable
from proctor.execute.agents.acp.wire import BAD_PARAMETERS, INTERNAL, NO_METHOD, Broken, Message, Wire
from proctor.execute.agents.interface import Scene
from proctor.execute.agents.options import McpServer
from proctor.execute.sandbox.interface import WORKSPACE

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

    def __init__(self, wire: Wire, scene: Scene, servers: tuple[McpServer, ...] = ()) -> None:
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
        """Choose the way to log in that needs nobody, where the agent offers one."""
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

    def _refuse(self, message: Message, code: int, words: str) -> None:
        self._wire.send({"id": message.id, "error": {"code": code, "message": words}})


def _server(server: McpServer) -> dict[str, Any]:
    """A server over standard streams, as the protocol describes it."""
    variables = [{"name": name, "value": value} for name, value in server.environment.items()]
    return {"name": server.name, "command": server.command[0], "args": list(server.command[1:]), "env": variables}
