"""From the options that a user asks for to those that an agent gets: files are read, MCP servers are found.

Rules are read as text. Skills are copied by content and shown read-only. MCP servers must be installed; their layers
are shown read-only, too. The settings describe all of it for the manifest: what can be large by its digest, and
variables by their names and a digest, because their values may be secrets.
"""

from __future__ import annotations

import json
import os
import shlex
from collections.abc import Mapping
from pathlib import Path

from proctor.base.canonical import digest, sha256
from proctor.base.errors import InfrastructureFault, UsageFault
from proctor.base.fields import EMPTY
from proctor.base.files import read_bounded
from proctor.execute.agents.files import copy_directory
from proctor.execute.agents.install.servers import installed_server, server_of
from proctor.execute.agents.install.store import AgentStore
from proctor.execute.agents.interface import FILES_CONTENT, AgentFiles, Provided
from proctor.execute.agents.options import MCP_PLACE, SKILLS_PLACE, AgentOptions, McpServer, Wanted
from proctor.execute.inputs.fetch import InputCache
from proctor.execute.sandbox.interface import Mount
from proctor.execute.workspace.store import Layer

RULES_BYTES = 48 << 10
"""The most that all rules files may hold together: they are given in one argument, which may have 128 KiB."""

SKILL = "SKILL.md"


def resolve(
    wanted: Wanted,
    installations: Path,
    copied_to: Path | None,
    copies: dict[Path, AgentFiles],
    install_hint: str,
    places: Mapping[str, str] = EMPTY,
) -> tuple[AgentOptions, Provided]:
    """The options of an agent, and what they bring into the sandbox; ``install_hint`` is how to install servers.

    ``places`` says where rules and skills were asked for: an option of the command line, or a place in an agent file.
    """
    mounts: list[Mount] = []
    layers: list[Layer] = []
    rules = _rules(wanted.rules, places.get("rules", ""))
    plain = {"effort": wanted.effort, "temperature": wanted.temperature, "small_model": wanted.small_model}
    settings = {name: text for name, text in plain.items() if text}
    if wanted.arguments:
        settings["arguments"] = shlex.join(wanted.arguments)
    settings |= _variables("environment", wanted.environment)
    if rules:
        settings |= {"rules": sha256(rules.encode()), "rules_bytes": str(len(rules.encode()))}
    skills: tuple[str, ...] = ()
    if wanted.skills:
        where = _where(places.get("skills", ""), wanted.skills)
        if not Path(wanted.skills).is_dir():
            problem = "is not a directory" if Path(wanted.skills).exists() else "does not exist"
            raise UsageFault(f"the directory of skills {problem}", where=where)
        copy = copy_directory(Path(wanted.skills), copied_to, copies)
        content = copy.layer.path / FILES_CONTENT
        skills = _skill_names(content, where)
        mounts.append(Mount(content, SKILLS_PLACE, sealed=copy.layer.seal()))
        layers.append(copy.layer)
        settings |= {"skills": ", ".join(skills), "skills_digest": copy.digest}
    servers: list[McpServer] = []
    store = AgentStore(installations, InputCache(installations.parent / "inputs"))
    for source in wanted.mcp:
        found = installed_server(store, source, install_hint)
        server = server_of(source, found)
        servers.append(server)
        mounts += found.mounts(f"{MCP_PLACE}/{source.name}")
        layers += [layer for layer in (found.layer, found.node) if layer is not None]
        settings |= {f"mcp.{source.name}.{name}": text for name, text in found.settings().items()}
        settings[f"mcp.{source.name}"] = f"{source.registry} {source.package}"
        settings[f"mcp.{source.name}.command"] = shlex.join(server.command)
        settings |= _variables(f"mcp.{source.name}.environment", source.environment)
    options = AgentOptions(
        **plain,
        arguments=wanted.arguments,
        environment=wanted.environment,
        rules=rules,
        skills=skills,
        mcp=tuple(servers),
    )
    return options, Provided(tuple(mounts), tuple(layers), settings)


def mcp_servers_json(servers: tuple[McpServer, ...]) -> str:
    """The usual form of a file of MCP servers, which many clients read."""
    entries = {
        one.name: {"command": one.command[0], "args": list(one.command[1:]), "env": dict(one.environment)}
        for one in servers
    }
    return json.dumps({"mcpServers": entries}, sort_keys=True)


def _rules(paths: tuple[str, ...], place: str) -> str:
    """The text of all rules files, in their order, with an empty line between them."""
    texts = []
    for path in paths:
        where = _where(place, path)
        if Path(path).is_dir():
            raise UsageFault("the rules file is a directory", where=where, hint="name the file in it")
        try:
            texts.append(read_bounded(Path(os.path.realpath(path)), RULES_BYTES).decode())
        except InfrastructureFault as fault:
            if Path(path).is_file():
                raise _too_long(where) from None
            raise UsageFault(f"the rules file is {fault.message}", where=where) from None
        except OSError as error:
            raise UsageFault(f"the rules file cannot be read: {error.strerror}", where=where) from None
        except UnicodeDecodeError:
            raise UsageFault("the rules file is not text in UTF-8", where=where) from None
        if not texts[-1].strip() or "\0" in texts[-1]:
            raise UsageFault("the rules file is empty or not text", where=where)
    whole = "\n\n".join(text.strip("\n") for text in texts) + "\n" if texts else ""
    if len(whole.encode()) > RULES_BYTES:
        raise _too_long(_where(place, paths[-1]))
    return whole


def _where(place: str, path: str) -> str:
    """Where a path was asked for, and the path."""
    return f"{place} {path}" if place.startswith("--") else f"{place}: {path}" if place else path


def _too_long(where: str) -> UsageFault:
    return UsageFault(f"rules files may hold {RULES_BYTES >> 10} KiB together", where=where, hint="shorten them")


def _skill_names(content: Path, where: str) -> tuple[str, ...]:
    files = [path for path in content.glob(f"*/{SKILL}") if path.is_file()]
    found = tuple(sorted(path.parent.name for path in files))
    strange = [name for name in found if not name.isprintable()]
    if strange:
        raise UsageFault(f"not a name for a skill: {strange[0][:100]!a}", where=where, hint="rename its directory")
    outside = [path.parent.name for path in files if not path.resolve().is_relative_to(content.resolve())]
    if outside:
        raise UsageFault(
            f"the skill {outside[0][:100]} is a link to a place outside of this directory, which no sandbox shows",
            where=where,
            hint="copy the skill into the directory",
        )
    if not found:
        raise UsageFault(
            "there is no skill in this directory", where=where, hint=f"a skill is a directory in it with a {SKILL}"
        )
    return found


def _variables(name: str, values: Mapping[str, str]) -> dict[str, str]:
    """Variables as a manifest may hold them."""
    if not values:
        return {}
    return {name: ", ".join(sorted(values)), f"{name}_digest": digest(dict(values))}
