"""Which installed packages take part in a run besides its agent: loaded before it begins, recorded in its manifest.

What a package does decides how a run ends, so packages and versions are part of the comparability class. To verify or
to rescore a run none of them is needed: everything that follows from their work is recorded.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from proctor.base.entry_points import Package, PlugIns
from proctor.contract.model import ArchiveRepository, Contract
from proctor.execute.gateway.dialects.dialect_routes import PLUG_INS as DIALECTS
from proctor.execute.inputs.input_cache import PLUG_INS as INPUT_SOURCES
from proctor.execute.monitor.breakers.breaker_registry import PLUG_INS as BREAKERS
from proctor.execute.monitor.breakers.breaker_registry import load_breaker
from proctor.execute.monitor.breakers.breaker_settings import settings_of
from proctor.execute.monitor.price_table import FALLBACK
from proctor.execute.monitor.run_state import RunState
from proctor.execute.sandbox.sandbox_registry import PLUG_INS as SANDBOXES
from proctor.judge.checks.results_readers.reader_registry import PLUG_INS as RESULTS_READERS
from proctor.record.manifest_model import PlugIn

TABLES: dict[str, PlugIns[Any]] = {
    "breakers": BREAKERS,
    "dialects": DIALECTS,
    "input_sources": INPUT_SOURCES,
    "results_readers": RESULTS_READERS,
    "sandboxes": SANDBOXES,
}
"""The tables of what a run may use, by the last part of the entry-point group."""


def plug_ins_of(contract: Contract, dialects: tuple[str, ...] = ()) -> dict[str, dict[str, Package]]:
    """The packages that ``contract`` and the ``dialects`` of a model need, by kind and name; each part is loaded."""
    found: dict[str, dict[str, Package]] = {}
    for kind, name in (*_named(contract), *(("dialects", dialect) for dialect in dialects)):
        table = TABLES[kind]
        if name in table.built_in or name in found.get(kind, {}):
            continue
        table.require(name)
        if kind == "breakers":
            load_breaker(name, RunState(FALLBACK.table), settings_of(contract))
        package = table.package(name)
        assert package is not None
        found.setdefault(kind, {})[name] = package
    return found


def _named(contract: Contract) -> Iterator[tuple[str, str]]:
    yield "sandboxes", contract.environment.sandbox
    yield from (("results_readers", check.results) for check in contract.checks)
    yield from (("input_sources", one.source.kind) for one in contract.inputs)
    if isinstance(contract.repository, ArchiveRepository):
        yield "input_sources", contract.repository.source.kind
    yield from (("breakers", name) for name in contract.policy.breakers)


def record_of(found: Mapping[str, Mapping[str, Package]]) -> dict[str, dict[str, PlugIn]]:
    """The packages as a manifest has them."""
    return {
        kind: {name: PlugIn(package=package.name, version=package.version) for name, package in sorted(parts.items())}
        for kind, parts in sorted(found.items())
    }


def took_part(manifest: Mapping[str, Any]) -> tuple[dict[str, str], ...]:
    """The plug-ins in a manifest: kind, name, package, version, and what this machine has of them instead.

    ``here`` is the version of the package that is installed here; empty if it is not.
    """
    rows = []
    recorded = manifest.get("plugins")
    for kind, parts in recorded.items() if isinstance(recorded, Mapping) else ():
        table = TABLES.get(kind)
        for name, origin in parts.items():
            installed = table.packages(name) if table is not None else ()
            here = next((one.version for one in installed if one.name == origin["package"]), "")
            what = table.what if table is not None else str(kind)
            rows.append({"kind": what, "name": str(name), **origin, "here": here})
    return tuple(rows)


def notes_of(manifest: Mapping[str, Any]) -> list[str]:
    """A line for each plug-in that took part in a run, for people."""
    lines = []
    for one in took_part(manifest):
        state = ""
        if not one["here"]:
            state = "; it is not installed here, so its own work was not repeated"
        elif one["here"] != one["version"]:
            state = f"; version {one['here']} is installed here, so its own work was not repeated"
        lines.append(f"{one['kind']} {one['name']} of the package {one['package']} {one['version']} took part{state}")
    return lines
