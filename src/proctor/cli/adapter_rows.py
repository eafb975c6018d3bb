"""The rows of ``proctor agents list`` for agents with an adapter; a broken one of another package is a row as well."""

from __future__ import annotations

from proctor.base.errors import UsageFault
from proctor.execute.agents.adapters.plugins import taken_names
from proctor.execute.agents.adapters.table import NAMES, OTHER_KINDS, adapter_names, find_adapter
from proctor.execute.agents.install.store import AgentStore


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
        about = f"{adapter.words} ({', '.join(adapter.dialects)})"
        about += f"; adapter of {adapter.package}" if adapter.package else ""
        rows.append([name, adapter.recipe.registry, found.lock.version if found else "not installed", about])
        rows += [[f"{name}@{other}", adapter.recipe.registry, other, ""] for other in store.versions(name)]
    for name, package in taken_names((*NAMES, *OTHER_KINDS)):
        rows.append([name, "plug-in", "", f"the package {package} cannot replace the built-in agent {name!r}"])
    return rows
