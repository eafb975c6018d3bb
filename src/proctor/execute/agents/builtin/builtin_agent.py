"""The reference agent: a baseline that is small enough to be read whole. See ``program`` for what it does."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from proctor.base.canonical import digest, sha256
from proctor.base.errors import UsageFault
from proctor.execute.agents.command_agent import CommandAgent, model_variables
from proctor.execute.agents.interface import DIALECTS, AgentContext, AgentDescription, AgentRequest, Ending
from proctor.execute.sandbox.interface import Mount

PROGRAM = Path(__file__).with_name("program.py")
TARGET = "/opt/agent/program.py"
COMMAND = ("/usr/bin/python3", "-I", TARGET)
LIMITS = ("steps", "seconds", "tokens", "context_tokens")
"""Limits that can be given as ``builtin:steps=50,seconds=600``; the program has each in a variable of its own."""


class BuiltinAgent(CommandAgent):
    """Runs the program, which needs nothing but Python."""

    def __init__(self, model: str, dialect: str, limits: Mapping[str, str]) -> None:
        super().__init__(COMMAND)
        self._model = model
        self._dialect = dialect
        self._limits = limits

    @classmethod
    def from_request(cls, request: AgentRequest) -> BuiltinAgent:
        if request.files:
            raise UsageFault("the built-in agent does not take files", hint="leave --agent-files out")
        limits = _limits(request.argument)
        if not request.model:
            raise UsageFault("the built-in agent needs a model", hint="use --model PROVIDER/NAME")
        dialect = next((one for one in DIALECTS if one in request.dialects), None)
        if dialect is None:
            raise UsageFault("the model speaks none of the agent's dialects", hint=f"they are {', '.join(DIALECTS)}")
        return cls(request.model, dialect, limits)

    def describe(self) -> AgentDescription:
        program = sha256(PROGRAM.read_bytes())
        settings = {"program": program, "model": self._model, "dialect": self._dialect, **self._limits}
        return AgentDescription(
            name="builtin", kind="builtin", command=COMMAND, digest=digest(settings), settings=settings
        )

    def mounts(self) -> tuple[Mount, ...]:
        return (Mount(PROGRAM, TARGET),)

    def act(self, scene: AgentContext) -> Ending:
        if scene.model is None:
            raise UsageFault("the built-in agent needs a model", hint="use --model PROVIDER/NAME")
        limits = {f"PROCTOR_{name.upper()}": value for name, value in self._limits.items()}
        return self.run(scene, COMMAND, {**model_variables(scene.model), "PROCTOR_DIALECT": self._dialect, **limits})


def _limits(argument: str) -> dict[str, str]:
    """The limits in an argument such as ``steps=50,seconds=600``."""
    found: dict[str, str] = {}
    for part in filter(None, argument.split(",")):
        name, _, value = part.partition("=")
        if name not in LIMITS or name in found:
            known = ", ".join(LIMITS)
            raise UsageFault(f"the built-in agent cannot be given {part!r}", hint=f"its limits are {known}, each once")
        if not value.isascii() or not value.isdigit() or not 1 <= int(value[:12]) <= 10**9:
            hint = f"for example builtin:{name}=100"
            raise UsageFault(f"the limit {name} must be a whole number from 1 to {10**9}, not {value!r}", hint=hint)
        found[name] = str(int(value))
    return found
