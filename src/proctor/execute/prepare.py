"""From a contract to the base: the pristine tree and the results of setup, as cached layers.

The source layer depends on the repository alone, the setup layer on everything that setup can see. Both are built
once and found again by key; a changed layer is built again, unless something uses it. Setup runs
offline in a sandbox of its own; a step that fails makes the contract unusable on this machine, and says nothing about
any agent.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from pathlib import Path

from proctor.base.canonical import digest
from proctor.base.clock import seconds_text
from proctor.base.dataclass_fields import field_items
from proctor.base.errors import ProctorError
from proctor.base.reversible_escapes import name_text
from proctor.base.untrusted_directories import erase
from proctor.contract.digest import content_id, resolved
from proctor.contract.model import ArchiveRepository, Budget, Contract, SetupStep
from proctor.execute.inputs.input_cache import InputCache
from proctor.execute.inputs.input_files import inputs_directory
from proctor.execute.leakage.image_search import ImageSearch
from proctor.execute.leakage.project_copies import CopySearch
from proctor.execute.sandbox.interface import (
    HOME,
    INPUTS,
    MOST_STRETCH,
    Command,
    CommandResult,
    Limits,
    Mount,
    Sandbox,
    SandboxBackend,
    SandboxPlan,
)
from proctor.execute.workspace.archive_extraction import extract
from proctor.execute.workspace.git_checkout import export_commit
from proctor.execute.workspace.layer_stack import Stack
from proctor.execute.workspace.layer_store import DamagedLayer, Layer, LayerStore
from proctor.execute.workspace.workspace import Workspace, base_stack

FORMAT = 1
"""Part of every layer's key: raise it when the way in which layers are built changes."""

SOURCE_DATE_EPOCH = "1772841600"
"""The planned start of the protocol, 2026-03-07; shown to programs that stamp their output."""


class SetupFailed(ProctorError):
    """A setup step did not succeed on the pristine tree."""

    exit_code = 2


@dataclass(frozen=True)
class PreparedBase:
    """A contract made ready for runs. ``layers`` are listed from top to bottom; ``source`` is the pristine tree."""

    contract: Contract
    content_id: str
    source: Layer
    layers: tuple[Layer, ...]
    environment: Mapping[str, str]
    identity: Mapping[str, str]
    inputs: InputCache
    setup_cached: bool
    setup_steps: tuple[Mapping[str, object], ...] = ()

    @property
    def root_digest(self) -> str:
        """The digest of what identifies the root that sandboxes see; a contract may pin it."""
        return digest(dict(self.identity))

    @property
    def tree_digest(self) -> str:
        """The digest of the pristine tree, before setup."""
        return self.source.entries_digest


def prepare(
    contract: Contract, backend: SandboxBackend, store: LayerStore, inputs: InputCache, scratch: Path
) -> PreparedBase:
    """Build or find the layers of ``contract``. ``scratch`` is a directory that this call may fill and empties."""
    identity = backend.identity()
    source = source_layer(contract, store, inputs, scratch)
    environment = base_environment(contract)
    layers: tuple[Layer, ...] = (source,)
    cached, steps = True, ()
    if contract.setup:
        key = _setup_key(contract, identity, source)
        found = _found(store, key)
        if found is None:
            for item in contract.inputs:
                if item.audience == "setup":
                    inputs.ensure(item.source, contract.directory)
            cached = False
            found = _build_setup(contract, backend, store, inputs, scratch, source, environment, key)
        steps = tuple(found.facts["steps"])
        layers = (found, source) if found.facts["overlay"] else (found,)
    return PreparedBase(
        contract=contract,
        content_id=content_id(contract),
        source=source,
        layers=layers,
        environment=environment,
        identity=identity,
        inputs=inputs,
        setup_cached=cached,
        setup_steps=steps,
    )


def source_layer(contract: Contract, store: LayerStore, inputs: InputCache, scratch: Path) -> Layer:
    """The pristine tree of the contract's repository; git works in a directory below ``scratch``."""
    repository = contract.repository
    key = source_key(contract)
    found = _found(store, key)
    if found is not None:
        return found

    def build(directory: Path) -> dict[str, object]:
        tree = directory / "workspace"
        tree.mkdir(exist_ok=True)
        if isinstance(repository, ArchiveRepository):
            (archive,) = inputs.ensure(repository.source, contract.directory)
            extract(archive, tree, strip=repository.strip)
        else:
            modules = tuple(replace(one, git=_place(contract, one.git)) for one in repository.submodules)
            export_commit(_place(contract, repository.git), repository.commit, modules, tree, scratch=scratch)
        return {}

    return store.make(key, build)


def copy_search(contract: Contract, store: LayerStore, inputs: InputCache, records: Path, scratch: Path) -> CopySearch:
    """The search for the project under test in the setup inputs of ``contract``; findings are kept in ``records``."""

    def tree() -> Stack:
        return base_stack((source_layer(contract, store, inputs, scratch),))

    return CopySearch(contract, inputs, records, scratch, tree)


def image_search(
    contract: Contract,
    store: LayerStore,
    inputs: InputCache,
    records: Path,
    scratch: Path,
    export: Callable[[Path], None],
) -> ImageSearch:
    """The search for answers to the task in the image of ``contract``, which ``export`` writes to a file."""

    def tree() -> Stack:
        return base_stack((source_layer(contract, store, inputs, scratch),))

    return ImageSearch(contract, inputs, records, scratch, tree, export)


def _found(store: LayerStore, key: str) -> Layer | None:
    """A layer that was made before. A damaged one goes, to be made again; :class:`DamagedLayer` while it is used."""
    try:
        return store.sound(key)
    except DamagedLayer:
        if not store.remove(key):
            raise
        return None


def source_key(contract: Contract) -> str:
    """The key under which the pristine tree of the contract's repository is found again."""
    return digest({"kind": "source", "format": FORMAT, "repository": resolved(contract)["repository"]})


def _place(contract: Contract, git: str) -> str:
    """The location of a git repository: an address, or a path relative to the contract."""
    return git if "://" in git else str(contract.directory / git)


def base_environment(contract: Contract) -> dict[str, str]:
    """The variables that setup, agent and checks start with; nothing comes from the harness's own environment."""
    seed = str(contract.environment.seed)
    return {
        "PATH": "/usr/local/bin:/usr/bin:/bin:/usr/sbin:/sbin",
        "HOME": HOME,
        "USER": "agent",
        "LANG": "C.UTF-8",
        "LC_ALL": "C.UTF-8",
        "TZ": "UTC",
        "TMPDIR": "/tmp",
        "PYTHONHASHSEED": str(contract.environment.seed % 4294967296),
        "PYTHONDONTWRITEBYTECODE": "1",
        "SOURCE_DATE_EPOCH": SOURCE_DATE_EPOCH,
        "PROCTOR_SEED": seed,
        **contract.environment.variables,
    }


def limits_of(budget: Budget) -> Limits:
    """The sandbox limits that a budget asks for."""
    return Limits(
        memory_bytes=budget.memory_bytes,
        processes=budget.processes,
        file_bytes=budget.file_bytes,
        tmp_bytes=budget.tmp_bytes,
    )


def declared_mounts(contract: Contract) -> tuple[Mount, ...]:
    """The files that the contract shows inside every sandbox."""
    return tuple(Mount(contract.directory / placed.file.path, placed.to) for placed in contract.environment.files)


def secret_directories(contract: Contract) -> tuple[Path, ...]:
    """Directories that no sandbox may see, even inside a visible part of the host's system: they contain solutions."""
    repository = contract.repository
    if isinstance(repository, ArchiveRepository):
        return (contract.directory,)
    places = (_place(contract, git) for git in (repository.git, *(module.git for module in repository.submodules)))
    return (contract.directory, *(Path(place) for place in places if "://" not in place))


def setup_plan(contract: Contract, workspace: Workspace, shown: Path) -> SandboxPlan:
    """The sandbox that setup runs in, with the inputs in ``shown``."""
    return SandboxPlan(
        workspace=workspace.view(),
        limits=limits_of(contract.budget),
        mounts=(Mount(shown, INPUTS), *declared_mounts(contract)),
        setup_writable=True,
        measured=True,
        masked=secret_directories(contract),
    )


def run_setup_step(
    sandbox: Sandbox, step: SetupStep, contract: Contract, environment: Mapping[str, str]
) -> CommandResult:
    """One setup step to its end."""
    finished = sandbox.run(
        Command(
            arguments=step.run,
            environment=environment,
            directory=step.directory,
            timeout_seconds=step.timeout_seconds,
            output_bytes=contract.budget.output_bytes,
            stretch=MOST_STRETCH,
        )
    )
    sandbox.end_all()
    return finished


def step_problem(step: SetupStep, finished: CommandResult) -> str:
    """Why a setup step did not succeed, or nothing."""
    if not finished.started:
        return f"could not be started: {finished.problem}"
    if finished.timed_out:
        return f"took more than {step.timeout_seconds} s"
    if finished.exit_code:
        return f"exited with {finished.exit_code}"
    return ""


def _setup_key(contract: Contract, identity: Mapping[str, str], source: Layer) -> str:
    whole = resolved(contract)
    return digest(
        {
            "kind": "setup",
            "format": FORMAT,
            "source": source.key,
            "root": dict(identity),
            "setup": whole["setup"],
            "environment": whole["environment"],
            "inputs": [item for item in whole["inputs"] if item["audience"] == "setup"],
            "limits": dict(field_items(limits_of(contract.budget))),
        }
    )


def _build_setup(
    contract: Contract,
    backend: SandboxBackend,
    store: LayerStore,
    inputs: InputCache,
    scratch: Path,
    source: Layer,
    environment: Mapping[str, str],
    key: str,
) -> Layer:
    overlays = backend.overlays()
    workspace = Workspace.create((source,), scratch / "setup", overlays=overlays)
    try:
        shown = inputs_directory(contract, inputs, scratch / "inputs")
        steps: list[Mapping[str, object]] = []
        with backend.open(setup_plan(contract, workspace, shown)) as sandbox:
            for index, step in enumerate(contract.setup):
                finished = run_setup_step(sandbox, step, contract, environment)
                problem = step_problem(step, finished)
                if problem:
                    raise _setup_failed(contract, index, problem, finished)
                steps.append(_step_record(index, step, finished))
        facts = {"steps": steps, "overlay": overlays}
        return store.adopt(key, workspace.upper, facts)
    finally:
        workspace.discard()
        erase(scratch / "inputs")


def _step_record(index: int, step: SetupStep, finished: CommandResult) -> Mapping[str, object]:
    return {
        "index": index,
        "command": list(step.run),
        "exit_code": finished.exit_code,
        "wall_seconds": seconds_text(finished.wall_ns),
    }


def _setup_failed(contract: Contract, index: int, problem: str, finished: CommandResult) -> SetupFailed:
    said = (finished.stderr.prefix or finished.stdout.prefix)[-2000:].strip()
    return SetupFailed(
        f"setup step {index + 1} {problem}",
        where=str(contract.directory / "contract.yaml"),
        hint=f"it last said: {name_text(said[-600:])}" if said else "it said nothing",
    )
