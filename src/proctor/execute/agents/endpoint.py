"""Any program that can be told the address of its model: a command line with places for address, key and name.

The program finds address, key and model in the variables that clients of the four dialects read, and in ``PROCTOR_*``
ones; where it wants them as arguments, ``{url}``, ``{key}``, ``{model}`` and ``{briefing}`` in its command line are
replaced.
"""

from __future__ import annotations

from dataclasses import replace

from proctor.base.canonical import digest
from proctor.base.errors import UsageFault
from proctor.execute.agents.command import CommandAgent, requested_command
from proctor.execute.agents.files import copied_files
from proctor.execute.agents.interface import BRIEFING, AgentDescription, AgentRequest, Ending, ModelAccess, Scene


class EndpointAgent(CommandAgent):
    """Runs one command line that talks to a model."""

    model = ""

    @classmethod
    def from_request(cls, request: AgentRequest) -> EndpointAgent:
        made = cls(requested_command(request, "--agent 'endpoint:PROGRAM ARGUMENTS'"), copied_files(request))
        if not request.model:
            raise UsageFault("the endpoint agent needs a model", hint="use --model PROVIDER/NAME")
        made.model = request.model
        return made

    def describe(self) -> AgentDescription:
        found = super().describe()
        return replace(
            found,
            name=found.name.replace("command:", "endpoint:", 1),
            kind="endpoint",
            digest=digest({"command": found.digest, "model": self.model}),
            settings={"model": self.model},
        )

    def act(self, scene: Scene) -> Ending:
        if scene.model is None:
            raise UsageFault("the endpoint agent needs a model", hint="use --model PROVIDER/NAME")
        return self.run(scene, filled(self._arguments, scene.model), model_variables(scene.model))


def filled(arguments: tuple[str, ...], model: ModelAccess) -> tuple[str, ...]:
    """``arguments`` with what is known of the model in their places."""
    places = {"{url}": model.address, "{key}": model.key, "{model}": model.name, "{briefing}": BRIEFING}

    def fill(argument: str) -> str:
        for place, value in places.items():
            argument = argument.replace(place, value)
        return argument

    return tuple(map(fill, arguments))


def model_variables(model: ModelAccess) -> dict[str, str]:
    """The variables in which clients look for address, key and model."""
    return {
        "PROCTOR_MODEL_URL": model.address,
        "PROCTOR_MODEL_KEY": model.key,
        "PROCTOR_MODEL": model.name,
        "OPENAI_BASE_URL": f"{model.address}/v1",
        "OPENAI_API_BASE": f"{model.address}/v1",
        "OPENAI_API_KEY": model.key,
        "OPENAI_MODEL": model.name,
        "ANTHROPIC_BASE_URL": model.address,
        "ANTHROPIC_API_KEY": model.key,
        "GOOGLE_GEMINI_BASE_URL": model.address,
        "GEMINI_API_KEY": model.key,
    }
