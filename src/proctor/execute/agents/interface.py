"""The interface of agents.

An agent is described before it acts (the description goes into the manifest) and then acts once. An agent that needs
a sandbox gets a scene with one; the changes in the workspace become the patch. An agent without a sandbox supplies a
patch itself. The harness observes what an agent does; it never asks the agent.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Protocol

from proctor.base.entry_points import DIALECTS as DIALECT_GROUP
from proctor.base.entry_points import registered_names
from proctor.contract.model import Contract
from proctor.execute.agents.options import NO_OPTIONS, AgentOptions
from proctor.execute.sandbox.interface import Command, CommandResult, Mount, Output
from proctor.execute.workspace.layer_store import Layer

AGENT_FILES = "/agent"
FILES_CONTENT = "agent"
"""The directory of a layer of copied files that is shown there."""
BRIEFING = "/proctor/briefing.md"

DIALECTS = ("chat", "responses", "anthropic", "gemini")
"""The ways to talk to a model: OpenAI Chat Completions and Responses, Anthropic Messages, Gemini generateContent."""


def known_dialects() -> tuple[str, ...]:
    """The dialects, with those that installed packages add."""
    return (*DIALECTS, *(name for name in registered_names(DIALECT_GROUP) if name not in DIALECTS))


@dataclass(frozen=True)
class ModelAccess:
    """Where an agent finds its model: an address inside the sandbox, the model's name, and a key that opens nothing."""

    address: str
    name: str
    key: str = "proctor-holds-the-key"


@dataclass(frozen=True)
class AgentDescription:
    """What identifies an agent: it is bound into the manifest before the agent acts."""

    name: str
    kind: str
    command: tuple[str, ...] = ()
    digest: str = ""
    settings: Mapping[str, str] = field(default_factory=dict)


class Run(Protocol):
    """Runs a command of the agent's; with ``ends``, these descriptors are its standard input and output."""

    def __call__(self, command: Command, ends: tuple[int, int] | None = None) -> CommandResult: ...


Note = Callable[[str, Mapping[str, Any]], object]
"""Records an event of the given type."""


@dataclass(frozen=True)
class AgentContext:
    """What an agent gets to act with: the briefing and, if it asked for a sandbox, a way to run commands in it.

    ``run`` logs what it runs. ``seconds_left`` is what remains of the run's wall-clock budget. ``model`` is there for
    runs with a model. Where there is a sandbox, ``look`` runs a command of the harness's own and ``note`` records an
    event.
    """

    contract: Contract
    briefing: str
    environment: Mapping[str, str]
    run: Run
    seconds_left: Callable[[], float]
    model: ModelAccess | None = None
    look: Callable[[Command], CommandResult] | None = None
    note: Note | None = None


REASONS = ("finished", "failed", "timed-out", "not-started", "killed", "terminated")


@dataclass(frozen=True)
class Ending:
    """How an agent ended: ``finished``, ``failed`` (it said so), ``timed-out``, ``not-started`` or ``killed``.

    A ``killed`` agent was ended from outside. ``patch`` is set by agents that work without a sandbox; ``problem`` says
    why an agent could not start or was killed. ``trajectory`` is what the agent itself noted, as a bounded archive that
    Proctor neither opens nor trusts.
    """

    reason: str
    exit_code: int | None = None
    patch: bytes | None = None
    problem: str = ""
    trajectory: Output | None = None


class Agent(Protocol):
    """Something that attempts contracts."""

    needs_sandbox: bool

    def describe(self) -> AgentDescription: ...

    def mounts(self) -> tuple[Mount, ...]:
        """Host files that the agent brings along, shown read-only inside."""
        ...

    def act(self, scene: AgentContext) -> Ending: ...


@dataclass(frozen=True)
class AgentFiles:
    """A verified copy of the files that an agent brings along: their digest, and the layer that holds them."""

    digest: str
    layer: Layer

    def mounts(self) -> tuple[Mount, ...]:
        return (Mount(self.layer.path / FILES_CONTENT, AGENT_FILES, sealed=self.layer.seal()),)


@dataclass(frozen=True)
class Provided:
    """The effect of options on the sandbox: mounts, their layers, and the settings for the manifest."""

    mounts: tuple[Mount, ...] = ()
    layers: tuple[Layer, ...] = ()
    settings: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True)
class AgentRequest:
    """A user's request for an agent: ``kind@version:argument``, where version and argument may be empty.

    ``model`` is the name to ask for, ``dialects`` the ways in which it can be talked to, ``installations`` the
    directory of installed agents, ``copied_to`` that of copied files, and ``copies`` the files that were copied before.
    ``name`` is the agent's name in manifest and reports, if it is not its own name.
    """

    kind: str
    argument: str = ""
    files: Path | None = None
    settings: Mapping[str, str] = field(default_factory=dict)
    reference: Callable[[], bytes] | None = None
    model: str = ""
    dialects: tuple[str, ...] = ()
    installations: Path | None = None
    copies: dict[Path, AgentFiles] | None = None
    copied_to: Path | None = None
    version: str = ""
    name: str = ""
    options: AgentOptions = NO_OPTIONS
    provided: Provided = Provided()
