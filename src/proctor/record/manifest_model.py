"""The manifest of a run, ``manifest.json``: who and what takes part, written before anything acts.

It is written once and never changed. :mod:`proctor.record.completeness` says what it must not lack.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Annotated, Any

from proctor.base.errors import BrokenSeal
from proctor.base.json_records import Key, NotARecord, Since, from_json, json_schema
from proctor.record.report_model import ContractName
from proctor.record.run_directory import RunDirectory
from proctor.record.schema_versions import MANIFEST


@dataclass(frozen=True, kw_only=True)
class Submodule:
    """A submodule of a git repository."""

    path: Annotated[str, "The path of the submodule."]
    commit: Annotated[str, "The commit of the submodule."]


@dataclass(frozen=True, kw_only=True)
class RepositoryIdentity:
    """The tree that the task starts from."""

    kind: Annotated[str, "git or archive."]
    identity: Annotated[str, "The commit, or the digest of the archive."]
    submodules: Annotated[tuple[Submodule, ...], "The submodules with their commits."]
    tree_digest: Annotated[str, "The digest of the tree before setup."]


@dataclass(frozen=True, kw_only=True)
class InputFile:
    """A file that was fetched before the run."""

    name: Annotated[str, "The name of the input."]
    file: Annotated[str, "The name of the file."]
    sha256: Annotated[str, "The digest of the file."]
    audience: Annotated[str, "Who sees it: setup or judge.", Key("for")]


@dataclass(frozen=True, kw_only=True)
class SetupIdentity:
    """The commands of setup and what they made."""

    commands: Annotated[tuple[tuple[str, ...], ...], "The command lines of setup."]
    layer: Annotated[str | None, "The key of the layer that setup made."]
    layer_digest: Annotated[str, "The digest of the layer."]


@dataclass(frozen=True, kw_only=True)
class SandboxIdentity:
    """The sandbox of agent and checks."""

    backend: Annotated[str, "The backend, such as bubblewrap or container."]
    identity: Annotated[Mapping[str, str], "What identifies the root that sandboxes see, such as its packages."]
    isolation: Annotated[Mapping[str, str], "The means that this machine has for each kind of isolation."]


@dataclass(frozen=True, kw_only=True)
class Harness:
    """The Proctor that made the run."""

    version: Annotated[str, "The version of Proctor."]
    python: Annotated[str, "The version of Python."]
    digest: Annotated[str, "A digest over the sizes and times of its files."]


@dataclass(frozen=True, kw_only=True)
class AgentIdentity:
    """The agent."""

    name: Annotated[str, "The name of the agent."]
    kind: Annotated[str, "The kind of the agent, such as command or patch."]
    command: Annotated[tuple[str, ...], "Its command line."]
    digest: Annotated[str, "The digest of what identifies the agent."]
    settings: Annotated[Mapping[str, str], "Its options."]


@dataclass(frozen=True, kw_only=True)
class CheckCommand:
    """A check of the contract."""

    id: Annotated[str, "The id of the check."]
    command: Annotated[tuple[str, ...], "Its command line."]


@dataclass(frozen=True, kw_only=True)
class Variables:
    """The environment of agent and checks."""

    variables: Annotated[Mapping[str, str], "Every declared variable."]
    absent: Annotated[bool, "That every other variable is absent."]


@dataclass(frozen=True, kw_only=True)
class Seeds:
    """Seeds, and how programs get them."""

    planned: Annotated[int, "The seed of the planned protocol."]
    observed: Annotated[int, "The seed of the contract."]
    hash_seed: Annotated[str, "The variable of that name.", Key("PYTHONHASHSEED")]
    source_date: Annotated[str, "The variable of that name.", Key("SOURCE_DATE_EPOCH")]


@dataclass(frozen=True, kw_only=True)
class OperatingSystem:
    """The operating system of the machine."""

    system: Annotated[str, "The kernel's name."]
    kernel: Annotated[str, "The kernel's release."]
    architecture: Annotated[str, "The architecture, such as x86_64."]


@dataclass(frozen=True, kw_only=True)
class MachineSize:
    """The size of the machine."""

    cpus: Annotated[int, "The number of processors."]
    memory_bytes: Annotated[int, "The memory."]


@dataclass(frozen=True, kw_only=True)
class Start:
    """When the run started."""

    wall_ns: Annotated[str, "Nanoseconds since 1970."]
    text: Annotated[str, "The same as text, in UTC."]
    boot_id: Annotated[str, "The id that the kernel drew at boot."]


@dataclass(frozen=True, kw_only=True)
class RunVariation:
    """How the repeats of a pilot differ."""

    name: Annotated[str, "The name of the variation."]
    seed: Annotated[int | None, "A seed for the agent; null for the contract's."]
    preface: Annotated[str, "A text before the task; empty for none."]


@dataclass(frozen=True, kw_only=True)
class GatewayConfiguration:
    """The gateway to language models, without keys."""

    name: Annotated[str, "The model that the agent is given."]
    upstreams: Annotated[Mapping[str, str], "The endpoint of each protocol; empty where recorded calls answer."]
    models: Annotated[Mapping[str, str], "The provider's name of each model."]
    script: Annotated[str, "The digest of the script of a scripted model; empty for none."]
    cassette: Annotated[str, "off, record or replay."]
    tape: Annotated[str, "The digest of the cassette; empty for none."]
    provider_tools: Annotated[str, "strip, refuse or allow tools that the provider runs."]
    unknown_fields: Annotated[str, "strip, refuse or pass fields that the gateway does not know."]
    output_tokens: Annotated[int | None, "The most tokens of an answer."]
    wait_seconds: Annotated[
        int | None, "How long a silent provider is waited for; null: while the agent may act.", Since(1, nullable=True)
    ] = None
    redact: Annotated[str, "none, spans or all: what is hidden in recorded texts."]
    secrets: Annotated[tuple[str, ...], "Regular expressions for more secrets."]
    rules: Annotated[str, "The digest of the rules on secrets; empty for none.", Since(1)] = ""


@dataclass(frozen=True, kw_only=True)
class Configuration:
    """How the run was asked for, and its place in a batch or a pilot."""

    batch: Annotated[str | None, "The batch."] = None
    contract: Annotated[str | None, "The content id of the contract."] = None
    contract_path: Annotated[str | None, "The path of the contract."] = None
    repeat: Annotated[int | None, "Which repeat this is, from 1."] = None
    agent: Annotated[str | None, "The agent as it was asked for."] = None
    model: Annotated[str | None, "The model that was asked for; empty if none."] = None
    settings: Annotated[Mapping[str, str] | None, "Settings of the batch, in early records."] = None
    replay_of: Annotated[str | None, "The run whose recorded answers this one repeats."] = None
    retry_of: Annotated[str | None, "The invalid run that this one repeats."] = None
    attempt: Annotated[int | None, "Which attempt this is, if it repeats an invalid run."] = None
    pilot: Annotated[str | None, "The digest of the pilot's protocol."] = None
    stage: Annotated[str | None, "The stage of the pilot."] = None
    stratum: Annotated[str | None, "The stratum of the task in the pilot."] = None
    method: Annotated[str | None, "The method of the pilot."] = None
    variation: Annotated[RunVariation | None, "How this repeat of the pilot differs."] = None
    gateway: Annotated[GatewayConfiguration | None, "The gateway to the model."] = None
    watch: Annotated[Mapping[str, Any] | None, "The settings of the breakers, a record of its own."] = None
    baseline_runs: Annotated[tuple[str, ...] | None, "The runs whose findings do not count against the agent."] = None


@dataclass(frozen=True, kw_only=True)
class PlugIn:
    """The package of a plug-in."""

    package: Annotated[str, "The name of the package."]
    version: Annotated[str, "The version of the package."]


@dataclass(frozen=True, kw_only=True)
class Manifest:
    """The manifest of a run: contract, repository, inputs, sandbox, agent, machine and configuration."""

    schema: Annotated[int, "The version of this form."]
    kind: Annotated[str, "What the record is."]
    run: Annotated[str, "The id of the run."]
    contract: Annotated[ContractName, "The contract."]
    repository: RepositoryIdentity
    inputs: Annotated[tuple[InputFile, ...], "What was fetched before the run."]
    setup: SetupIdentity
    sandbox: SandboxIdentity
    plugins: Annotated[Mapping[str, Mapping[str, PlugIn]] | None, "Plug-ins that took part, by kind and name."] = None
    toolchain: Annotated[Mapping[str, str], "The versions of interpreters and compilers in the sandbox."]
    harness: Harness
    agent: Annotated[AgentIdentity, "The agent."]
    checks: Annotated[tuple[CheckCommand, ...], "The checks of the contract."]
    environment: Variables
    seeds: Seeds
    os: OperatingSystem
    locale: Annotated[str, "The locale of agent and checks."]
    machine: MachineSize
    limits: Annotated[Mapping[str, int | str | None], "The limits of the contract by name; null for none."]
    started: Start
    configuration: Configuration
    price_table: Annotated[str | None, "The id of the price table; null for the fallback schedule."]


def read_manifest(run: RunDirectory) -> Manifest:
    """The manifest of ``run``; :class:`BrokenSeal` if the file is not a manifest."""
    try:
        return from_json(Manifest, run.read_json(run.manifest))
    except NotARecord as error:
        where = run.name(run.manifest)
        raise BrokenSeal(f"is not a manifest as Proctor writes it: {error}", where=where) from None


def manifest_schema(schema: int = MANIFEST.schema) -> dict[str, Any]:
    """The JSON Schema of a manifest in the form of ``schema``."""
    return json_schema(Manifest, "manifest", "manifest.json", schema, kind=MANIFEST.kind)
