"""Whether an agent can do what Proctor will ask of it, and says what a manifest needs: checked before it acts.

An agent of another package is code that Proctor did not write. What is wrong with it is a mistake in that package, so
that messages name the package and the field, and no run is spent on it.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from proctor.base.canonical import NotCanonical, canonical
from proctor.base.errors import UsageFault
from proctor.execute.agents.interface import Agent, AgentDescription
from proctor.execute.sandbox.interface import Mount

HINT = "the interface of agents is execute/agents/interface.py; mend or update the package"


def check_agent(agent: Any, kind: str, package: str) -> Agent:
    """``agent`` of ``package``, when it has every part of the interface and a complete description."""
    parts = [f"{name} is missing" for name in ("describe", "mounts", "act") if not callable(getattr(agent, name, None))]
    if not isinstance(getattr(agent, "needs_sandbox", None), bool):
        parts.append("needs_sandbox is not true or false")
    if parts:
        raise at_fault(kind, package, "; ".join(parts))
    problems = [*description_problems(agent.describe()), *_mount_problems(agent.mounts())]
    if problems:
        raise at_fault(kind, package, "; ".join(problems))
    checked: Agent = agent
    return checked


def at_fault(kind: str, package: str, problem: str) -> UsageFault:
    """The error for an agent that ``package`` brings and that cannot be used."""
    return UsageFault(f"the agent {kind!r} of the package {package} cannot be used: {problem}", hint=HINT)


def description_problems(description: Any) -> Iterator[str]:
    """Every field of a description that a manifest could not hold, with what is wrong."""
    if not isinstance(description, AgentDescription):
        yield f"describe() gives a {type(description).__name__} and not an AgentDescription"
        return
    for name in ("name", "kind", "digest"):
        value = getattr(description, name)
        if not isinstance(value, str):
            yield f"describe().{name} is not a text"
        elif not value.strip():
            yield f"describe().{name} is empty"
        elif not _is_canonical(value):
            yield f"describe().{name} is not valid Unicode"
    command = description.command
    if not isinstance(command, tuple | list) or not all(isinstance(one, str) for one in command):
        yield "describe().command is not a tuple of texts"
    elif not _is_canonical(list(command)):
        yield "describe().command is not valid Unicode"
    settings = description.settings
    if not isinstance(settings, Mapping) or not all(isinstance(one, str) for pair in settings.items() for one in pair):
        yield "describe().settings does not map texts to texts"
    elif not _is_canonical(dict(settings)):
        yield "describe().settings has a name that is not ASCII or a text that is not valid Unicode"


def _mount_problems(mounts: Any) -> Iterator[str]:
    if not isinstance(mounts, tuple | list) or not all(isinstance(mount, Mount) for mount in mounts):
        yield "mounts() does not give a tuple of Mount"
        return
    for mount in mounts:
        if not mount.source.exists():
            yield f"mounts() names {mount.source}, which does not exist"


def _is_canonical(value: Any) -> bool:
    try:
        canonical(value)
    except NotCanonical:
        return False
    return True
