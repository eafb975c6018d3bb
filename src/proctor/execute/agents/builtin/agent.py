"""The reference agent: a baseline that is small enough to be read whole. See ``program`` for what it does."""

from __future__ import annotations

from pathlib import Path

from proctor.base.canonical import digest, sha256
from proctor.base.errors import UsageFault
from proctor.execute.agents.command import CommandAgent
from proctor.execute.agents.endpoint import model_variables
from proctor.execute.agents.interface import AgentDescription, AgentRequest, Ending, Scene
from proctor.execute.sandbox.interface import Mount

PROGRAM = Path(__file__).with_name("program.py")
TARGET = "/opt/agent/program.py"
COMMAND = ("/usr/bin/python3", "-I", TARGET)


class BuiltinAgent(CommandAgent):
    """Runs the program, which needs nothing but Python."""

    def __init__(self, model: str) -> None:
        super().__init__(COMMAND)
        self._model = model

    @classmethod
    def from_request(cls, request: AgentRequest) -> BuiltinAgent:
        if request.argument or request.files:
            raise UsageFault("the built-in agent takes neither an argument nor files", hint="use --agent builtin")
        if not request.model:
            raise UsageFault("the built-in agent needs a model", hint="use --model PROVIDER/NAME")
        if "chat" not in request.dialects:
            raise UsageFault("the built-in agent speaks 'chat' alone", hint="choose a model that speaks it")
        return cls(request.model)

    def describe(self) -> AgentDescription:
        program = sha256(PROGRAM.read_bytes())
        return AgentDescription(
            name="builtin",
            kind="builtin",
            command=COMMAND,
            digest=digest({"program": program, "model": self._model}),
            settings={"program": program, "model": self._model, "dialect": "chat"},
        )

    def mounts(self) -> tuple[Mount, ...]:
        return (Mount(PROGRAM, TARGET),)

    def act(self, scene: Scene) -> Ending:
        if scene.model is None:
            raise UsageFault("the built-in agent needs a model", hint="use --model PROVIDER/NAME")
        return self.run(scene, COMMAND, model_variables(scene.model))
