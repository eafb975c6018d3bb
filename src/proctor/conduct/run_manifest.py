"""The manifest of a run: who and what takes part, bound before anything acts.

It is assembled from the prepared contract, the agent's description and this machine. The observed tree is compared
with the layer's record; a difference makes the run invalid, never a failure.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator, Mapping
from functools import lru_cache
from pathlib import Path
from typing import Any

import proctor
from proctor.base.canonical import NotCanonical, canonical, sha256
from proctor.base.clock import utc_text
from proctor.base.dataclass_fields import field_items
from proctor.base.errors import InfrastructureFault, UsageFault
from proctor.base.json_records import from_json
from proctor.conduct.machine_setup import Machine
from proctor.conduct.plug_ins import plug_ins_of, record_of
from proctor.contract.model import ArchiveRepository, Contract
from proctor.execute.agents.interface import AgentDescription
from proctor.execute.agents.registry import description_problems
from proctor.execute.prepare import PreparedBase
from proctor.execute.sandbox.sandbox_registry import isolation_of
from proctor.execute.workspace.layer_store import DamagedLayer, Layer
from proctor.record.completeness import check_manifest
from proctor.record.manifest_model import (
    AgentIdentity,
    CheckCommand,
    Configuration,
    Harness,
    InputFile,
    MachineSize,
    Manifest,
    OperatingSystem,
    RepositoryIdentity,
    SandboxIdentity,
    Seeds,
    SetupIdentity,
    Start,
    Submodule,
    Variables,
)
from proctor.record.report_model import ContractName
from proctor.record.run_directory import JSON_BYTES
from proctor.record.schema_versions import MANIFEST

PLANNED_SEED = 20260307
TOOLS = ("python3", "node", "gcc", "git")
"""The parts of a root's identity that are tool chains."""

ASKED_FOR = ("agent", "configuration", "price_table")
"""The parts of a manifest that come from the request, and not from the machine or the contract."""

MARGIN_BYTES = 1 << 16
"""Room for the names of the parts of a manifest."""


def manifest(
    machine: Machine,
    prepared: PreparedBase,
    agent: AgentDescription,
    run_id: str,
    configuration: Mapping[str, Any],
    price_table: str | None = None,
) -> Manifest:
    """Everything that identifies a run, in the form in which it is written first and never changed."""
    contract = prepared.contract
    backend = machine.backend(contract)
    wall_ns = machine.clock.wall_ns()
    variables = prepared.environment
    dialects = tuple((configuration.get("gateway") or {}).get("upstreams", ()))
    return Manifest(
        schema=MANIFEST.schema,
        kind=MANIFEST.kind,
        run=run_id,
        contract=ContractName(id=prepared.content_id, name=contract.name, version=prepared.content_id[7:19]),
        repository=_repository(contract, prepared),
        inputs=tuple(
            InputFile(name=item.name, file=file.name, sha256=file.sha256, audience=item.audience)
            for item in contract.inputs
            for file in item.source.files
        ),
        setup=SetupIdentity(
            commands=tuple(step.run for step in contract.setup),
            layer=prepared.layers[0].key,
            layer_digest=prepared.layers[0].entries_digest,
        ),
        sandbox=SandboxIdentity(
            backend=backend.name,
            identity={**prepared.identity, "digest": prepared.root_digest},
            isolation=isolation_of(backend),
        ),
        plugins=record_of(plug_ins_of(contract, dialects)) or None,
        toolchain={key: value for key, value in prepared.identity.items() if key in TOOLS},
        harness=Harness(
            version=proctor.__version__,
            python=".".join(map(str, sys.version_info[:3])),
            digest=harness_digest(),
        ),
        agent=AgentIdentity(
            name=agent.name,
            kind=agent.kind,
            command=agent.command,
            digest=agent.digest,
            settings=agent.settings,
        ),
        checks=tuple(CheckCommand(id=check.id, command=check.run) for check in contract.checks),
        environment=Variables(variables=variables, absent=True),
        seeds=Seeds(
            planned=PLANNED_SEED,
            observed=contract.environment.seed,
            hash_seed=variables["PYTHONHASHSEED"],
            source_date=variables["SOURCE_DATE_EPOCH"],
        ),
        os=OperatingSystem(system=os.uname().sysname, kernel=os.uname().release, architecture=os.uname().machine),
        locale=variables.get("LC_ALL", "C"),
        machine=MachineSize(cpus=os.cpu_count() or 1, memory_bytes=_memory_bytes()),
        limits=dict(field_items(contract.budget)),
        started=Start(wall_ns=str(wall_ns), text=utc_text(wall_ns), boot_id=boot_id()),
        configuration=from_json(Configuration, configuration),
        price_table=price_table,
    )


def require_described(description: AgentDescription) -> None:
    """Refuse an agent whose description does not fit into a manifest."""
    problems = list(description_problems(description))
    if problems:
        raise UsageFault(f"the agent cannot be identified: {'; '.join(problems)}", hint="nothing was run")


def require_complete(bound: Mapping[str, Any]) -> None:
    """Refuse a run before it begins if its manifest would be incomplete: its evidence could not support a verdict.

    Missing values of the agent, its model or the configuration are usage errors. Anything else is a fault of this
    machine.
    """
    problems = [*check_manifest(bound), *_unrecordable(bound)]
    if not problems:
        return
    asked = [problem for problem in problems if problem.startswith(ASKED_FOR)]
    if asked:
        raise UsageFault(
            f"the run cannot be identified: {'; '.join(asked)}",
            hint="fix the description of the agent, its model or the configuration; nothing was run",
        )
    raise InfrastructureFault(
        f"this machine cannot identify the run: {'; '.join(problems)}",
        hint="proctor doctor says what is missing; nothing was run",
    )


def _unrecordable(bound: Mapping[str, Any]) -> Iterator[str]:
    """The parts that have no canonical form or are too large to record."""
    size = 0
    for name, part in bound.items():
        try:
            size += len(canonical(part))
        except NotCanonical as error:
            yield f"{name} cannot be recorded: {error}"
    if size > JSON_BYTES - MARGIN_BYTES:
        yield f"configuration: the manifest would be larger than {JSON_BYTES} bytes"


def observed_identity(machine: Machine, prepared: PreparedBase) -> tuple[dict[str, str], dict[str, str]]:
    """What the manifest says of tree and root, and what is found at the start; equal when all is well."""
    expected = {layer.key: layer.fingerprint for layer in prepared.layers}
    observed = {layer.key: _observed(machine, layer) for layer in prepared.layers}
    root = prepared.contract.environment.root
    if root:
        expected["root"] = root
        observed["root"] = prepared.root_digest
    return expected, observed


def _observed(machine: Machine, layer: Layer) -> str:
    try:
        machine.store.check(layer)
    except DamagedLayer as error:
        return f"changed: {error.message}"
    return layer.fingerprint


def boot_id() -> str:
    """The id that the kernel drew when it started."""
    return Path("/proc/sys/kernel/random/boot_id").read_text().strip()


@lru_cache(maxsize=1)
def harness_digest() -> str:
    """A digest over the sizes and times of the harness's own files: cheap, and different for every change of them."""
    top = os.path.dirname(proctor.__file__)
    rows: list[str] = []
    waiting = [top]
    while waiting:
        with os.scandir(waiting.pop()) as entries:
            for entry in entries:
                if entry.is_dir(follow_symlinks=False):
                    if entry.name != "__pycache__":
                        waiting.append(entry.path)
                else:
                    found = entry.stat(follow_symlinks=False)
                    rows.append(f"{entry.path[len(top) :]}\0{found.st_size}\0{found.st_mtime_ns}\n")
    return sha256("".join((sys.version, "\n", *sorted(rows))).encode("utf-8", "surrogateescape"))


def _repository(contract: Contract, prepared: PreparedBase) -> RepositoryIdentity:
    repository = contract.repository
    submodules: tuple[Submodule, ...] = ()
    if isinstance(repository, ArchiveRepository):
        identity, kind = repository.source.files[0].sha256, "archive"
    else:
        identity, kind = repository.commit, "git"
        submodules = tuple(Submodule(path=module.path, commit=module.commit) for module in repository.submodules)
    return RepositoryIdentity(kind=kind, identity=identity, submodules=submodules, tree_digest=prepared.tree_digest)


def _memory_bytes() -> int:
    return os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
