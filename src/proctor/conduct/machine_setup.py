"""The resources for runs on this machine: home, sandbox backend, caches, time and randomness.

A home is opened after a sweep of what interrupted runs left behind: processes, cgroups, scratch directories.
Evidence stays.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import ExitStack, contextmanager
from pathlib import Path

from proctor.base.clock import Clock, Entropy, SystemClock, system_entropy
from proctor.base.errors import ContractError, MissingIsolation, Mistake
from proctor.base.untrusted_directories import owned_directory, sweep_unowned
from proctor.conduct.plug_ins import plug_ins_of
from proctor.contract.model import SANDBOXES, Contract
from proctor.execute.agents.interface import AgentFiles
from proctor.execute.inputs.input_cache import InputCache
from proctor.execute.judging_slots import Slots, default_slots
from proctor.execute.leakage.image_search import ImageSearch
from proctor.execute.prepare import PreparedBase, copy_search, image_search, prepare
from proctor.execute.proctor_home import Home
from proctor.execute.requirements import require_linux, require_machine
from proctor.execute.sandbox.bubblewrap.backend import BubblewrapBackend
from proctor.execute.sandbox.container.backend import ContainerBackend
from proctor.execute.sandbox.container.engine import Engine, find_socket
from proctor.execute.sandbox.interface import SandboxBackend
from proctor.execute.sandbox.sandbox_records import sweep
from proctor.execute.sandbox.sandbox_registry import load_backend, needs_watching
from proctor.execute.workspace.layer_store import LayerStore

Containers = Callable[[tuple[str, ...], tuple[str, ...]], "ContainerBackend"]
"""Makes the backend for an image that is named by the digests of its layers, without the paths to hide."""


class Machine:
    """Shared by all runs of one command. It holds no state of any run."""

    def __init__(
        self,
        home: Home,
        host: SandboxBackend,
        containers: Containers,
        clock: Clock,
        entropy: Entropy,
        judge_slots: int | None = None,
    ) -> None:
        self.home = home
        self._host = host
        self._containers = containers
        self._plug_ins: dict[str, SandboxBackend] = {}
        self._images: dict[tuple[tuple[str, ...], tuple[str, ...]], ContainerBackend] = {}
        self.clock = clock
        self.entropy = entropy
        self.store = LayerStore(home.layers)
        self.inputs = InputCache(home.inputs)
        self.slots = Slots(home.slots, judge_slots or default_slots())
        self.copies: dict[Path, AgentFiles] = {}
        """The files of agents as they were when they were first asked for: all runs of one command use those."""
        self._until_end = ExitStack()
        self._temporary: Path | None = None

    @contextmanager
    def scratch(self, name: str) -> Iterator[Path]:
        """A directory of one's own for the time of a ``with`` block; what a crash leaves is swept."""
        with owned_directory(self.home.scratch / f"{name}.{self.entropy(4).hex()}") as path:
            yield path

    def place_of_copies(self, *, kept: bool) -> Path:
        """Where agents' files are copied to: a place that stays, or one that ``discard_copies`` removes."""
        if kept:
            return self.home.agents
        if self._temporary is None:
            self._temporary = self._until_end.enter_context(self.scratch("copies"))
        return self._temporary

    def discard_copies(self) -> None:
        """Remove temporary copies, such as those that may contain secrets."""
        self._until_end.close()
        self._temporary = None
        self.copies.clear()

    def backend(self, contract: Contract) -> SandboxBackend:
        """What isolates every sandbox of ``contract``: the host's own system, an image, or the backend of a package."""
        if contract.environment.image:
            return self._container_backend(contract)
        name = contract.environment.sandbox
        if name in SANDBOXES:
            return self._host
        if name not in self._plug_ins:
            self._plug_ins[name] = load_backend(name, self.home.sandboxes / name)
        return self._plug_ins[name]

    def _container_backend(self, contract: Contract) -> ContainerBackend:
        wanted = contract.environment.image, contract.environment.hide
        if wanted not in self._images:
            self._images[wanted] = self._containers(*wanted)
        return self._images[wanted]

    def require(self, contracts: Iterable[Contract], *, acting: bool = False, model: bool = False) -> None:
        """Refuse contracts that this machine cannot run or judge, before anything is fetched or an agent acts.

        ``acting``: whether an agent is to act in a sandbox, and so has to be watched. ``model``: whether it uses one.
        """
        asked = list(contracts)
        require_machine(self.home, sandbox=any(contract.environment.sandbox == "host" for contract in asked))
        for contract in asked:
            plug_ins_of(contract)
            self._require_isolation(contract)
            if model and not self.backend(contract).watched:
                raise MissingIsolation(
                    f"no model can be reached from the sandbox {contract.environment.sandbox!r}, which is not watched",
                    where=str(contract.directory / "contract.yaml"),
                    hint="run an agent without a model, or set environment.sandbox to host or image",
                )
            if contract.environment.image:
                self._container_backend(contract).require(watched=acting)

    def require_no_answers_in_images(self, contracts: Iterable[Contract]) -> None:
        """Refuse contracts whose images show answers to their tasks, all at once, before any run begins.

        What has to be compared with an image is fetched.
        """
        mistakes: list[Mistake] = []
        with self.inputs.in_use():
            for contract in contracts:
                if contract.environment.image:
                    with self.scratch("search") as scratch:
                        try:
                            self.image_search(contract, scratch).require_none()
                        except ContractError as error:
                            mistakes += error.mistakes
        if mistakes:
            raise ContractError(mistakes)

    def prepare(self, contract: Contract) -> PreparedBase:
        """Make ``contract`` ready for an agent, or report what this machine lacks for it.

        A contract whose setup inputs contain another version of the project under test is refused, and one whose image
        shows such a version, git history, hidden tests or the solution.
        """
        self._require_isolation(contract)
        with self.scratch("search") as scratch:
            copy_search(contract, self.store, self.inputs, self.home.searches, scratch).require_none()
            if contract.environment.image:
                self.image_search(contract, scratch).require_none()
        return self.prepare_recorded(contract)

    def image_search(self, contract: Contract, scratch: Path) -> ImageSearch:
        """The search for answers to the task in the image of ``contract``."""
        export = self._container_backend(contract).export
        return image_search(contract, self.store, self.inputs, self.home.searches, scratch, export)

    def prepare_recorded(self, contract: Contract) -> PreparedBase:
        """Make ``contract`` ready to judge a recorded run again: no agent acts, so its inputs are not searched."""
        self._require_isolation(contract)
        with self.scratch("prepare") as scratch:
            return prepare(contract, self.backend(contract), self.store, self.inputs, scratch)

    def _require_isolation(self, contract: Contract) -> None:
        require_linux()
        backend = self.backend(contract)
        unwatched = needs_watching(contract) if not backend.watched else ()
        if unwatched:
            raise MissingIsolation(
                f"the sandbox {backend.name!r} cannot watch an agent, and the contract asks for it",
                where=f"{contract.directory / 'contract.yaml'}: {', '.join(unwatched)}",
                hint="leave these parts out, or set environment.sandbox to host or image",
            )
        missing = backend.missing(contract.environment.require)
        if missing:
            raise MissingIsolation(
                "this machine cannot isolate as the contract asks: " + "; ".join(missing),
                where=str(contract.directory / "contract.yaml"),
                hint="proctor doctor says how to get the rest; the contract's environment.require names what it needs",
            )


def open_machine(home: Home, judge_slots: int | None, warn: Callable[[str], None]) -> Machine:
    """This machine with ``home``; ``judge_slots`` is how many checks may run at once, else one per processor.

    ``warn`` gets a sentence if other users can change the home.
    """
    home.create()
    problem = home.shared()
    if problem:
        warn(problem)
    sweep_home(home)

    def containers(layers: tuple[str, ...], hide: tuple[str, ...]) -> ContainerBackend:
        return ContainerBackend(home.sessions, find_engine(os.environ).path, layers, hide)

    return Machine(home, BubblewrapBackend(home.sessions), containers, SystemClock(), system_entropy, judge_slots)


def find_engine(variables: Mapping[str, str]) -> Engine:
    """The container engine that the variables name, or one at a usual place."""
    path = find_socket(variables)
    if not path:
        raise MissingIsolation(
            "no container engine was found", hint="start Docker or podman, or name its socket in DOCKER_HOST"
        )
    return Engine(path)


def sweep_home(home: Home) -> list[str]:
    """Sweep, and say what was removed. Sandboxes exist on Linux only."""
    removed = sweep(home.sessions) if sys.platform == "linux" else []
    removed += [f"scratch directory {name}" for name in sweep_unowned(home.scratch)]
    return removed
