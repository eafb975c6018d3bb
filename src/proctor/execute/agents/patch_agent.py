"""Agents that submit a patch without a sandbox.

None at all (``noop``), one from a file, or the contract's reference.

The no-op agent is the baseline that every contract must fail. The reference solution must not come near a sandbox
before the judge's.
"""

from __future__ import annotations

from pathlib import Path

from proctor.base.canonical import sha256
from proctor.base.errors import UsageFault
from proctor.base.files import read_bounded
from proctor.execute.agents.interface import AgentContext, AgentDescription, AgentRequest, Ending
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

    def act(self, scene: AgentContext) -> Ending:
        return Ending("finished", patch=b"")


PATCH_BYTES = 256 << 20


class PatchAgent:
    """Submits the bytes of a patch: a person's fix, or the reference."""

    needs_sandbox = False

    def __init__(self, name: str, patch: bytes) -> None:
        self._name = name
        self._patch = patch

    @classmethod
    def from_request(cls, request: AgentRequest) -> PatchAgent:
        if not request.argument:
            raise UsageFault("the patch agent needs a file", hint="use --agent patch:fix.patch")
        if request.files:
            raise UsageFault("the patch agent takes no files except its patch", hint="leave out --agent-files")
        path = Path(request.argument)
        try:
            data = read_bounded(path, PATCH_BYTES)
        except OSError as error:
            raise UsageFault(f"the patch cannot be read: {error.strerror}", where=str(path)) from None
        return cls(f"patch:{path.name}", data)

    @classmethod
    def reference(cls, request: AgentRequest) -> PatchAgent:
        """The agent that submits the reference solution of the contract that it is made for."""
        if request.argument or request.files:
            raise UsageFault("the reference agent takes neither an argument nor files", hint="use --agent reference")
        if request.reference is None:
            raise UsageFault("the reference agent cannot be used here")
        return cls("reference", request.reference())

    def describe(self) -> AgentDescription:
        return AgentDescription(name=self._name, kind="patch", digest=sha256(self._patch))

    def mounts(self) -> tuple[Mount, ...]:
        return ()

    def act(self, scene: AgentContext) -> Ending:
        return Ending("finished", patch=self._patch)
