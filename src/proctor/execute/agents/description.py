"""Check an agent before it acts: it must have the whole interface, and a description that a manifest needs.

An agent of another package is code that Proctor did not write. An error in it is an error of that package, so messages
name the package and the field, and no run is started.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from proctor.base.canonical import NotCanonical, canonical
from proctor.base.errors import UsageFault
from proctor.execute.agents.interface import Agent, AgentDescription
from proctor.execute.sandbox.interface import Mount, check_target

HINT = "the interface of agents is execute/agents/interface.py; fix or update the package"


def check_agent(agent: Any, kind: str, package: str) -> Agent:
    """Return ``agent`` of ``package`` if it has every part of the interface and a complete description."""
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
    """The error for an agent of ``package`` that cannot be used."""
    return UsageFault(f"the agent {kind!r} of the package {package} cannot be used: {problem}", hint=HINT)


def description_problems(description: Any) -> Iterator[str]:
    """Every field of a description that does not fit into a manifest, with the problem."""
    if not isinstance(description, AgentDescription):
        yield f"describe() returns a {type(description).__name__}, not an AgentDescription"
        return
    for name in ("name", "kind", "digest"):
        value = getattr(description, name)
        if not isinstance(value, str):
            yield f"describe().{name} is not a string"
        elif not value.strip():
            yield f"describe().{name} is empty"
        elif not _is_canonical(value):
            yield f"describe().{name} is not valid Unicode"
        elif not value.isprintable():
            yield f"describe().{name} has control characters"
    command = description.command
    if not isinstance(command, tuple | list) or not all(isinstance(one, str) for one in command):
        yield "describe().command is not a tuple of strings"
    elif not _is_canonical(list(command)):
        yield "describe().command is not valid Unicode"
    settings = description.settings
    if not isinstance(settings, Mapping) or not all(isinstance(one, str) for pair in settings.items() for one in pair):
        yield "describe().settings does not map strings to strings"
    elif not _is_canonical(dict(settings)):
        yield "describe().settings has a name that is not ASCII or a value that is not valid Unicode"


def _mount_problems(mounts: Any) -> Iterator[str]:
    if not isinstance(mounts, tuple | list) or not all(isinstance(mount, Mount) for mount in mounts):
        yield "mounts() does not return a tuple of Mount"
        return
    for mount in mounts:
        if not isinstance(mount.source, Path) or not isinstance(mount.target, str):
            yield "mounts() has a source that is not a Path or a target that is not a string"
            continue
        if not mount.source.exists():
            yield f"mounts() names {mount.source}, which does not exist"
        if mount.writable:
            yield f"mounts() makes {mount.source} writable"
        try:
            check_target(mount.target)
        except UsageFault as fault:
            yield f"mounts(): {fault}"


def _is_canonical(value: Any) -> bool:
    try:
        canonical(value)
    except NotCanonical:
        return False
    return True
