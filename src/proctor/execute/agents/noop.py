"""The agent that does nothing: the baseline that every contract must fail."""

from __future__ import annotations

from proctor.base.canonical import sha256
from proctor.base.errors import UsageFault
from proctor.execute.agents.interface import AgentDescription, AgentRequest, Ending, Scene
from proctor.execute.sandbox.interface import Mount


class NoopAgent:
    """Leaves the tree as it is."""

    needs_sandbox = False

    @classmethod
    def from_request(cls, request: AgentRequest) -> NoopAgent:
        if request.argument or request.files:
            raise UsageFault("the no-op agent takes neither an argument nor files", hint="use --agent noop")
        return cls()

    def describe(self) -> AgentDescription:
        return AgentDescription(name="noop", kind="noop", digest=sha256(b""))

    def mounts(self) -> tuple[Mount, ...]:
        return ()

    def act(self, scene: Scene) -> Ending:
        return Ending("finished", patch=b"")
