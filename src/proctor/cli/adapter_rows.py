"""The rows of ``proctor agents list`` for agents with an adapter; a broken one of another package is a row as well."""

from __future__ import annotations

from proctor.base.errors import ProctorError, UsageFault
from proctor.execute.agents.adapters.interface import Adapter
from proctor.execute.agents.adapters.plugins import package_named, taken_names
from proctor.execute.agents.adapters.table import NAMES, OTHER_KINDS, adapter_names, find_adapter
from proctor.execute.agents.description import at_fault
from proctor.execute.agents.install.store import AgentStore


def loaded(name: str) -> Adapter:
    """The adapter ``name``. An exception in the code of another package is reported as an error of that package."""
    try:
        return find_adapter(name)
    except ProctorError:
        raise
    except (Exception, SystemExit) as error:
        package = package_named(name)
        if not package:
            raise
        raise at_fault(name, package, f"{type(error).__name__}: {error}".splitlines()[0]) from None


def adapter_rows(store: AgentStore) -> list[list[str]]:
    """Name, registry, installed version and description of every agent with an adapter."""
    rows = []
    for name in adapter_names():
        try:
            adapter = loaded(name)
        except UsageFault as fault:
            rows.append([name, "plug-in", "", str(fault)])
            continue
        found = store.get(name)
        about = f"{adapter.words} ({', '.join(adapter.dialects)})"
        about += f"; adapter of {adapter.package}" if adapter.package else ""
        rows.append([name, adapter.recipe.registry, found.lock.version if found else "not installed", about])
        rows += [[f"{name}@{other}", adapter.recipe.registry, other, ""] for other in store.versions(name)]
    for name, package in taken_names((*NAMES, *OTHER_KINDS)):
        rows.append([name, "plug-in", "", f"the package {package} cannot replace the built-in agent {name!r}"])
    return rows
