"""Agents that hand over a patch: one from a file, or the contract's own reference solution.

They never get a sandbox: the reference must not come near one before the judge's.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from proctor.base.canonical import sha256
from proctor.base.errors import UsageFault
from proctor.base.files import read_bounded
from proctor.contract.model import Contract
from proctor.execute.agents.interface import AgentDescription, AgentRequest, Ending, Scene
from proctor.execute.sandbox.interface import Mount

PATCH_BYTES = 256 << 20


class PatchAgent:
    """Hands over the bytes of a patch file, such as a person's fix."""

    needs_sandbox = False

    def __init__(self, name: str, patch: bytes) -> None:
        self._name = name
        self._patch = patch

    @classmethod
    def from_request(cls, request: AgentRequest) -> PatchAgent:
        if not request.argument or request.files:
            raise UsageFault("the patch agent needs a file", hint="use --agent patch:fix.patch")
        path = Path(request.argument)
        try:
            data = read_bounded(path, PATCH_BYTES)
        except OSError as error:
            raise UsageFault(f"the patch cannot be read: {error.strerror}", where=str(path)) from None
        return cls(path.name, data)

    def describe(self) -> AgentDescription:
        return AgentDescription(name=f"patch:{self._name}", kind="patch", digest=sha256(self._patch))

    def mounts(self) -> tuple[Mount, ...]:
        return ()

    def act(self, scene: Scene) -> Ending:
        return Ending("finished", patch=self._patch)


class ReferenceAgent:
    """Hands over the reference solution of whatever contract it is run on."""

    needs_sandbox = False

    def __init__(self, reference: Callable[[Contract], bytes]) -> None:
        self._reference = reference

    @classmethod
    def from_request(cls, request: AgentRequest) -> ReferenceAgent:
        if request.argument or request.files:
            raise UsageFault("the reference agent takes neither an argument nor files", hint="use --agent reference")
        if request.reference is None:
            raise UsageFault("the reference agent cannot be used here")
        return cls(request.reference)

    def describe(self) -> AgentDescription:
        return AgentDescription(name="reference", kind="patch")

    def mounts(self) -> tuple[Mount, ...]:
        return ()

    def act(self, scene: Scene) -> Ending:
        return Ending("finished", patch=self._reference(scene.contract))
