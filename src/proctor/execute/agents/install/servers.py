"""MCP servers as installations: read-only layers with a lock, as agents are, and their command lines inside.

A server is started by its full path. A package from PyPI offers its console scripts and ``python``, a package from npm
its programs (``bin``). The files of an installation are read to find them, and nothing of it runs here.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass
from importlib.metadata import Distribution, distributions
from pathlib import Path

from proctor.base.canonical import digest
from proctor.base.errors import UsageFault
from proctor.base.files import read_bounded
from proctor.execute.agents.adapters.interface import NODE, PLAIN_NODE, Recipe
from proctor.execute.agents.install.store import AgentStore, Installation
from proctor.execute.agents.options import MCP_PLACE, McpServer, McpSource

PYTHON = "python"
PACKAGE_BYTES = 1 << 20


@dataclass(frozen=True)
class ServerPackage:
    """The release that an MCP server comes from, as the store of agents installs it."""

    name: str
    recipe: Recipe


def package_of(source: McpSource) -> ServerPackage:
    """What has to be installed for ``source``; servers of the same release share one installation."""
    package = source.package.rpartition("@" if source.registry == "npm" else "==")[0]
    spelled = re.sub(r"[^a-z0-9._-]", "+", package.removeprefix("@").lower())
    others = f"-{digest(list(source.beside))[7:15]}" if source.beside else ""
    recipe = Recipe(source.registry, (source.package, *source.beside))
    return ServerPackage(f"mcp-{source.registry}-{spelled}{others}", recipe)


def installed_server(store: AgentStore, source: McpSource, hint: str) -> Installation:
    """The verified installation of ``source``; ``hint`` is the command that makes it."""
    package = package_of(source)
    found = store.get(package.name, package.recipe.version)
    if found is None:
        raise UsageFault(f"the MCP server {source.name} ({source.package}) is not installed", hint=hint)
    return store.check(found)


def server_of(source: McpSource, installation: Installation) -> McpServer:
    """The server with its command line inside the sandbox."""
    place = f"{MCP_PLACE}/{source.name}"
    if source.registry == "npm":
        start, own = _node_command(source, installation.content, place), dict(PLAIN_NODE)
    else:
        start, own = _python_command(source, installation.content, place), {}
    return McpServer(source.name, (*start, *source.run[1:]), {**own, **source.environment})


def _python_command(source: McpSource, content: Path, place: str) -> tuple[str, ...]:
    python = f"{place}/bin/python"
    if source.run[:1] == (PYTHON,):
        return (python, "-I")
    points = [point for one in _own(source, content) for point in one.entry_points.select(group="console_scripts")]
    scripts = {point.name: point.value for point in points}
    module, _, function = _chosen(source, scripts, PYTHON).partition(":")
    start = f"import sys; from {module} import {function.partition('.')[0]}; sys.exit({function}())"
    return (python, "-I", "-c", start)


def _own(source: McpSource, content: Path) -> list[Distribution]:
    """The distribution of the server's own package."""
    name = _normal(source.package.partition("==")[0].partition("[")[0])
    sites = [str(path) for path in content.glob("lib/python*/site-packages")]
    return [one for one in distributions(path=sites) if _normal(one.metadata["Name"]) == name]


def _normal(name: str) -> str:
    return name.lower().replace("_", "-").replace(".", "-")


def _node_command(source: McpSource, content: Path, place: str) -> tuple[str, ...]:
    package = source.package.rpartition("@")[0]
    described = json.loads(read_bounded(content / "node_modules" / package / "package.json", PACKAGE_BYTES))
    given = described.get("bin") or {}
    programs = {package.rpartition("/")[2]: given} if isinstance(given, str) else dict(given)
    path = _chosen(source, programs).removeprefix("./")
    return (NODE, f"{place}/node_modules/{package}/{path}")


def _chosen(source: McpSource, programs: Mapping[str, str], *others: str) -> str:
    """The program that the first word of ``run`` names, or the only one if there is no ``run``."""
    if source.run and source.run[0] in programs:
        return programs[source.run[0]]
    if not source.run and len(programs) == 1:
        return next(iter(programs.values()))
    problem = f"it has no program {source.run[0][:100]!r}" if source.run else "run does not say which program"
    known = ", ".join([*sorted(programs), *others]) or "none"
    raise UsageFault(f"the MCP server {source.name}: {problem}", hint=f"programs of {source.package}: {known}")
