"""``proctor agents``: the agents that can attempt a contract, and installing those that people already use."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from proctor.base.canonical import parse
from proctor.base.errors import UsageFault
from proctor.base.files import read_bounded
from proctor.cli.options import Renamed
from proctor.cli.output import Group, as_json, print_json, print_record, print_table
from proctor.cli.wiring import home
from proctor.conduct.session.agent_selection import require_agent, require_installable
from proctor.execute.agents import registry
from proctor.execute.agents.adapters.adapter_registry import PLUG_INS, adapter_names, find_adapter, is_adapted
from proctor.execute.agents.adapters.adapter_template import write_skeleton
from proctor.execute.agents.adapters.interface import Adapter
from proctor.execute.agents.agent_file import is_agent_file, load_agent_file, parse_agent
from proctor.execute.agents.builtin.builtin_agent import LIMITS
from proctor.execute.agents.install.agent_lock import LOCK_BYTES, AgentLock, read_lock
from proctor.execute.agents.install.agent_store import AgentStore, Installable, Installation, of_version
from proctor.execute.agents.interface import DIALECTS
from proctor.execute.agents.registry import BUILT_IN, DESCRIPTIONS, plug_in_names
from proctor.execute.agents.registry import PLUG_INS as PACKAGED_AGENTS
from proctor.execute.agents.resolve_options import options_of, package_of, refuse_others
from proctor.execute.inputs.input_cache import InputCache


def adapter_rows(store: AgentStore) -> list[list[str]]:
    """Name, registry, installed version and description of every agent with an adapter."""
    rows = []
    for name in adapter_names():
        try:
            adapter = find_adapter(name)
        except UsageFault as fault:
            rows.append([name, "plug-in", "", f"{fault.message} ({fault.hint})"])
            continue
        found = store.get(name)
        about = f"{adapter.description} ({', '.join(adapter.dialects)})"
        about += f"; adapter of {adapter.package}" if adapter.package else ""
        rows.append([name, adapter.recipe.registry, found.lock.version if found else "not installed", about])
        rows += [[f"{name}@{other}", adapter.recipe.registry, other, ""] for other in store.versions(name)]
    for name, package in PLUG_INS.taken():
        rows.append([name, "plug-in", "", f"the package {package.name} cannot replace the built-in agent {name!r}"])
    return rows


@click.group(cls=Group, invoke_without_command=True, epilog="Example: proctor agents install mini-swe-agent")
@as_json
@click.pass_context
def command(context: click.Context, json_: bool) -> None:
    """List, install and describe agents.

    Without a command, the agents are listed.
    """
    if context.invoked_subcommand is None:
        context.invoke(list_, json_=json_)


@command.command("list", epilog="Example: proctor agents list --json")
@as_json
def list_(json_: bool) -> None:
    """List the agents: built in, from registries, from packages."""
    rows = [[kind, "built in", "", DESCRIPTIONS[kind]] for kind in BUILT_IN]
    rows += adapter_rows(_store())
    for kind in plug_in_names():
        provided = " and ".join(map(str, PACKAGED_AGENTS.packages(kind)))
        rows.append([kind, "plug-in", "", f"an agent of {provided}"])
    if json_:
        names = ("kind", "from", "installed", "words")
        cells = ([*row[:2], row[2].replace("not installed", ""), row[3]] for row in rows)
        print_json({"agents": [dict(zip(names, row, strict=True)) for row in cells]})
    else:
        print_table(["AGENT", "FROM", "INSTALLED", "WHAT IT DOES"], rows)


@command.command(epilog="Example: proctor agents install mini-swe-agent codex")
@click.argument("names", nargs=-1, required=True, metavar="AGENT...")
@click.option(
    "--lock",
    "lock_file",
    type=click.Path(exists=True, dir_okay=False, path_type=Path),
    help="Install exactly these releases; `proctor agents show NAME --lock` prints such a lock.",
)
@as_json
def install(names: tuple[str, ...], lock_file: Path | None, json_: bool) -> None:
    """Install agents from PyPI or npm for use in sandboxes.

    They are installed into Proctor's home, and none of their code runs outside a sandbox. AGENT is a name, or
    NAME@VERSION for another release, which is installed in addition to the usual one. With an agent file (FILE.yaml)
    its agent and its MCP servers are installed. Agents that are already installed are not changed; an interrupted
    installation continues.
    """
    wanted = [one for name in names for one in _wanted(name)]
    lock = _read_lock(lock_file) if lock_file else None
    if lock is not None and len(wanted) > 1:
        raise UsageFault("--lock is the lock of one agent", hint="proctor agents install NAME --lock FILE")
    store = _store()
    installed = []
    for one, beside in wanted:
        if lock is not None and beside and lock.version != one.recipe.version:
            raise UsageFault(f"the lock is for version {lock.version}", where=str(lock_file))
        found = store.install(one, lambda message: click.echo(message, err=True), lock, beside=beside)
        installed.append(_fields(one.name, found))
        if not json_:
            click.echo(f"{one.name} {found.lock.version}: {found.size_bytes >> 20} MiB, {found.layer.entries_digest}")
    if json_:
        print_json({"installed": installed})
    elif not wanted:
        click.echo(f"nothing to install: {', '.join(names)} is part of Proctor or a program of your own")


def _wanted(name: str) -> list[tuple[Installable, bool]]:
    """The adapter in one argument of ``install``, and whether it is added to the usual version."""
    if not is_agent_file(name):
        return [_adapter(name)]
    asked = load_agent_file(Path(name))
    kind, version, argument = parse_agent(asked.agent)
    require_agent(kind)
    refuse_others(kind, argument, asked.wanted, where=name)
    agent = argument if kind == "acp" else f"{kind}@{version}" if version else kind
    servers: list[tuple[Installable, bool]] = [(package_of(one), True) for one in asked.wanted.mcp]
    return [*([_adapter(agent)] if is_adapted(agent.partition("@")[0]) else []), *servers]


def _adapter(name: str) -> tuple[Adapter, bool]:
    """The adapter of ``NAME`` or ``NAME@VERSION``, and whether it is another version than its own."""
    agent, at, version = name.partition("@")
    require_installable(agent)
    if at and not version:
        raise UsageFault("the version after the '@' is missing", where=name, hint=f"{agent} is its usual version")
    adapter = find_adapter(agent)
    asked = of_version(adapter, version)
    return asked, asked is not adapter


@command.command(epilog="Example: proctor agents show codex")
@click.argument("name")
@click.option(
    "--lock", "as_lock", is_flag=True, help="Print the lock of the installation, for `proctor agents install --lock`."
)
@as_json
def show(name: str, as_lock: bool, json_: bool) -> None:
    """Show an agent and its installation."""
    if name in BUILT_IN or name in plug_in_names():
        if as_lock:
            raise UsageFault(f"{name} is not installed from a registry, so it has no lock")
        _print_fields(_own_fields(name), json_=json_)
        return
    adapter, _ = _adapter(name)
    found = _store().get(adapter.name, name.partition("@")[2])
    if as_lock:
        if found is None:
            raise UsageFault(f"{name} is not installed", hint=f"proctor agents install {name}")
        print_record(found.lock.payload())
        return
    whole: dict[str, Any] = {
        "agent": adapter.name,
        "words": adapter.description,
        "packages": list(adapter.recipe.packages),
        "registry": adapter.recipe.registry,
        "dialects": list(adapter.dialects),
        "acp": adapter.acp is not None,
        "options": sorted(adapter.options),
        "trajectory": list(adapter.trajectory),
        "package": adapter.package or "proctor",
        "installed": _fields(adapter.name, found) if found else None,
    }
    _print_fields(whole, json_=json_)


def _own_fields(kind: str) -> dict[str, Any]:
    """What is known of an agent that is part of Proctor, or Python code of another package."""
    more = {"dialects": list(DIALECTS), "limits": list(LIMITS)} if kind == "builtin" else {}
    whole = {"agent": kind, "words": registry.DESCRIPTIONS.get(kind, ""), **more, "options": sorted(options_of(kind))}
    return {**whole, "package": str(registry.package_of(kind) or "proctor")}


def _print_fields(whole: dict[str, Any], *, json_: bool) -> None:
    if json_:
        print_json(whole)
        return
    for key, value in whole.items():
        if key == "installed":
            for inner, message in (value or {"installed": "no"}).items():
                click.echo(f"{inner + ':':12} {message}")
        else:
            text = ", ".join(value) if isinstance(value, list) else "yes" if value is True else value or "no"
            click.echo(f"{key + ':':12} {text}")


def _store() -> AgentStore:
    place = home()
    place.create()
    return AgentStore(place.agents, InputCache(place.inputs))


def _read_lock(path: Path) -> AgentLock:
    try:
        value = parse(read_bounded(path, LOCK_BYTES))
    except ValueError as error:
        raise UsageFault(f"the lock cannot be read: {error}", where=str(path)) from None
    return read_lock(value, str(path))


def _fields(name: str, found: Installation) -> dict[str, Any]:
    return {"agent": name, **found.settings(), "bytes": found.size_bytes, "releases": len(found.lock.releases)}


@command.command(epilog="Example: proctor agents new my-agent --npm @acme/agent@1.4.0")
@click.argument("name")
@click.option("--npm", metavar="PACKAGE@VERSION", help="The agent's own package on npm.")
@click.option("--pypi", metavar="PACKAGE==VERSION", help="The agent's own package on PyPI.")
@click.option("--program", default="", help="The program: a path below node_modules, or a Python module.")
@click.option(
    "--dialect", "dialects", multiple=True, help="A dialect of the agent; can be given several times.  [default: chat]"
)
@click.option(
    "--out",
    cls=Renamed,
    former=["--to"],
    type=click.Path(path_type=Path),
    metavar="DIRECTORY",
    help="The directory to write.  [default: proctor-NAME]",
)
@as_json
def new(
    name: str, npm: str | None, pypi: str | None, program: str, dialects: tuple[str, ...], out: Path | None, json_: bool
) -> None:
    """Write the skeleton of a package with an adapter.

    The package for agent NAME has an entry point, an adapter to fill in, a test and a README.
    """
    if bool(npm) == bool(pypi):
        raise UsageFault("name one package of the agent", hint="--npm PACKAGE@VERSION or --pypi PACKAGE==VERSION")
    registry, package = ("npm", npm) if npm else ("pypi", pypi)
    place = out or Path(f"proctor-{name}")
    written = write_skeleton(place, name, registry, package or "", program, dialects or ("chat",))
    if json_:
        print_json({"written": [str(path) for path in written]})
        return
    for path in written:
        click.echo(str(path))
    click.echo("next: fill in the adapter, then follow README.md")
