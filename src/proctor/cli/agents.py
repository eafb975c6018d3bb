"""``proctor agents``: the agents that can attempt a contract, and installing those that people already use."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from proctor.cli.output import Group, as_json, print_json, print_table

if TYPE_CHECKING:
    from proctor.execute.agents.install.lock import AgentLock
    from proctor.execute.agents.install.store import AgentStore, Installation


@click.group(cls=Group, invoke_without_command=True, epilog="Example: proctor agents install mini-swe-agent")
@as_json
@click.pass_context
def command(context: click.Context, json_: bool) -> None:
    """List the agents that can attempt a contract; install one that comes from a registry."""
    if context.invoked_subcommand is None:
        context.invoke(list_, json_=json_)


@command.command("list", epilog="Example: proctor agents list --json")
@as_json
def list_(json_: bool) -> None:
    """List all agents: built in, from registries, from installed packages."""
    from proctor.execute.agents.adapters.table import NAMES, find_adapter
    from proctor.execute.agents.registry import BUILT_IN, WORDS, plug_ins

    rows = [[kind, "built in", "", WORDS[kind]] for kind in BUILT_IN]
    store = _store()
    for name in NAMES:
        adapter, found = find_adapter(name), store.get(name)
        version = found.lock.version if found else "not installed"
        rows.append([name, adapter.recipe.registry, version, f"{adapter.words} ({', '.join(adapter.dialects)})"])
    rows += [[kind, "plug-in", "", ""] for kind in plug_ins()]
    if json_:
        names = ("kind", "from", "installed", "words")
        print_json(
            [dict(zip(names, [*row[:2], row[2].replace("not installed", ""), row[3]], strict=True)) for row in rows]
        )
    else:
        print_table(["AGENT", "FROM", "INSTALLED", "WHAT IT DOES"], rows)


@command.command(epilog="Example: proctor agents install mini-swe-agent codex")
@click.argument("names", nargs=-1, required=True)
@click.option(
    "--lock",
    "lock_file",
    type=click.Path(exists=True, dir_okay=False, path_type=Path),
    help="Install exactly what this lock says, which `proctor agents show NAME --lock` printed.",
)
@as_json
def install(names: tuple[str, ...], lock_file: Path | None, json_: bool) -> None:
    """Install agents from PyPI or npm into Proctor's home, for use inside sandboxes. Nothing of theirs runs here.

    What was installed before is left as it is; what was cut off is taken up again.
    """
    from proctor.base.errors import UsageFault
    from proctor.cli.known import require_installable
    from proctor.execute.agents.adapters.table import find_adapter

    for name in names:
        require_installable(name)
    adapters = [find_adapter(name) for name in names]
    lock = _read_lock(lock_file) if lock_file else None
    if lock is not None and len(adapters) > 1:
        raise UsageFault("a lock is the lock of one agent", hint="proctor agents install NAME --lock FILE")
    store = _store()
    installed = []
    for adapter in adapters:
        found = store.install(adapter, lambda words: click.echo(words, err=True), lock)
        installed.append(_fields(adapter.name, found))
        if not json_:
            click.echo(
                f"{adapter.name} {found.lock.version}: {found.size_bytes >> 20} MiB, {found.layer.entries_digest}"
            )
    if json_:
        print_json(installed)


@command.command(epilog="Example: proctor agents show codex")
@click.argument("name")
@click.option("--lock", "as_lock", is_flag=True, help="Print the lock of the installation, for `install --lock`.")
@as_json
def show(name: str, as_lock: bool, json_: bool) -> None:
    """Show what is known of agent NAME and of its installation."""
    from proctor.base.errors import UsageFault
    from proctor.cli.known import require_installable
    from proctor.execute.agents.adapters.table import find_adapter

    require_installable(name)
    adapter = find_adapter(name)
    found = _store().get(name)
    if as_lock:
        if found is None:
            raise UsageFault(f"{name} is not installed", hint=f"proctor agents install {name}")
        print_json(found.lock.payload())
        return
    whole: dict[str, Any] = {
        "agent": name,
        "words": adapter.words,
        "packages": list(adapter.recipe.packages),
        "registry": adapter.recipe.registry,
        "dialects": list(adapter.dialects),
        "acp": adapter.acp is not None,
        "trajectory": list(adapter.trajectory),
        "installed": _fields(name, found) if found else None,
    }
    if json_:
        print_json(whole)
        return
    for key, value in whole.items():
        if key == "installed":
            for inner, words in (value or {"installed": "no"}).items():
                click.echo(f"{inner + ':':12} {words}")
        else:
            text = ", ".join(value) if isinstance(value, list) else "yes" if value is True else value or "no"
            click.echo(f"{key + ':':12} {text}")


def _store() -> AgentStore:
    from proctor.cli.wiring import home
    from proctor.execute.agents.install.store import AgentStore
    from proctor.execute.inputs.fetch import InputCache

    place = home()
    place.create()
    return AgentStore(place.agents, InputCache(place.inputs))


def _read_lock(path: Path) -> AgentLock:
    from proctor.base.canonical import parse
    from proctor.base.errors import UsageFault
    from proctor.base.files import read_bounded
    from proctor.execute.agents.install.lock import LOCK_BYTES, read_lock

    try:
        value = parse(read_bounded(path, LOCK_BYTES))
    except ValueError as error:
        raise UsageFault(f"the lock cannot be read: {error}", where=str(path)) from None
    return read_lock(value, str(path))


def _fields(name: str, found: Installation) -> dict[str, Any]:
    return {"agent": name, **found.settings(), "bytes": found.size_bytes, "releases": len(found.lock.releases)}
