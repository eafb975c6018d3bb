"""What runs are made with on this machine: home, sandbox backend, caches, time and chance."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from proctor.base.clock import Clock, Entropy
from proctor.base.errors import MissingIsolation
from proctor.base.owned import owned_directory
from proctor.contract.model import Contract
from proctor.execute.home import Home
from proctor.execute.inputs.fetch import InputCache
from proctor.execute.prepare import Prepared, copy_search, prepare
from proctor.execute.requirements import require_machine
from proctor.execute.sandbox.bubblewrap.backend import BubblewrapBackend
from proctor.execute.slots import Slots, default_slots
from proctor.execute.workspace.store import LayerStore

if TYPE_CHECKING:
    from proctor.execute.sandbox.container.backend import ContainerBackend

Containers = Callable[[tuple[str, ...]], "ContainerBackend"]
"""Makes the backend for an image that is named by the digests of its layers."""


class Machine:
    """Shared by all runs of one command. It holds no state of any run."""

    def __init__(
        self,
        home: Home,
        host: BubblewrapBackend,
        containers: Containers,
        clock: Clock,
        entropy: Entropy,
        judge_slots: int | None = None,
    ) -> None:
        self.home = home
        self._host = host
        self._containers = containers
        self._images: dict[tuple[str, ...], ContainerBackend] = {}
        self.clock = clock
        self.entropy = entropy
        self.store = LayerStore(home.layers)
        self.inputs = InputCache(home.inputs)
        self.slots = Slots(home.slots, judge_slots or default_slots())

    @contextmanager
    def scratch(self, name: str) -> Iterator[Path]:
        """A directory of one's own for the time of a ``with`` block; what a crash leaves is swept."""
        with owned_directory(self.home.scratch / f"{name}.{self.entropy(4).hex()}") as path:
            yield path

    def backend(self, contract: Contract) -> BubblewrapBackend | ContainerBackend:
        """What isolates every sandbox of ``contract``: on the host's own system, or on the image that it names."""
        layers = contract.environment.image
        if not layers:
            return self._host
        if layers not in self._images:
            self._images[layers] = self._containers(layers)
        return self._images[layers]

    def require(self, contracts: Iterable[Contract]) -> None:
        """Refuse contracts that this machine cannot run or judge, before anything is fetched or an agent acts."""
        asked = list(contracts)
        require_machine(self.home, sandbox=any(not contract.environment.image for contract in asked))
        for contract in asked:
            self._require_isolation(contract)

    def prepare(self, contract: Contract) -> Prepared:
        """Make ``contract`` ready for an agent, or report what this machine lacks for it.

        A contract whose setup inputs contain another version of the project under test is refused.
        """
        self._require_isolation(contract)
        with self.scratch("search") as scratch:
            copy_search(contract, self.store, self.inputs, self.home.searches, scratch).require_none()
        return self.prepare_recorded(contract)

    def prepare_recorded(self, contract: Contract) -> Prepared:
        """Make ``contract`` ready to judge a recorded run again: no agent acts, so its inputs are not searched."""
        self._require_isolation(contract)
        with self.scratch("prepare") as scratch:
            return prepare(contract, self.backend(contract), self.store, self.inputs, scratch)

    def _require_isolation(self, contract: Contract) -> None:
        missing = self.backend(contract).missing(contract.environment.require)
        if missing:
            raise MissingIsolation(
                "this machine cannot isolate as the contract asks: " + "; ".join(missing),
                where=str(contract.directory / "contract.yaml"),
                hint="proctor doctor says how to get the rest; the contract's environment.require names what it needs",
            )
