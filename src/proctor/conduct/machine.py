"""What runs are made with on this machine: home, sandbox backend, caches, time and chance."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from proctor.base.clock import Clock, Entropy
from proctor.base.errors import MissingIsolation, UsageFault
from proctor.base.owned import owned_directory
from proctor.contract.model import Contract
from proctor.execute.home import Home
from proctor.execute.inputs.fetch import InputCache
from proctor.execute.prepare import Prepared, prepare
from proctor.execute.sandbox.bubblewrap.backend import BubblewrapBackend
from proctor.execute.workspace.store import LayerStore


class Machine:
    """Shared by all runs of one command. It holds no state of any run."""

    def __init__(self, home: Home, backend: BubblewrapBackend, clock: Clock, entropy: Entropy) -> None:
        self.home = home
        self.backend = backend
        self.clock = clock
        self.entropy = entropy
        self.store = LayerStore(home.layers)
        self.inputs = InputCache(home.inputs)

    @contextmanager
    def scratch(self, name: str) -> Iterator[Path]:
        """A directory of one's own for the time of a ``with`` block; what a crash leaves is swept."""
        with owned_directory(self.home.scratch / f"{name}.{self.entropy(4).hex()}") as path:
            yield path

    def isolation(self) -> dict[str, str]:
        """How strictly sandboxes are bounded here, for the manifest: what enforces the limits, what the tree is."""
        place = self.backend.place
        return {
            "memory": "cgroup" if place.limits_memory else "rlimit",
            "processes": "cgroup" if place.limits_processes else "rlimit",
            "workspace": "overlay" if self.backend.overlays() else "copy",
        }

    def prepare(self, contract: Contract) -> Prepared:
        """Make ``contract`` ready, or say what this machine lacks for it."""
        if contract.policy.stages.ladder == "requested":
            raise UsageFault(
                "a ladder that the agent climbs by asking is not carried out by this version",
                where=str(contract.directory / "contract.yaml"),
                hint="set policy.stages.ladder to automatic or none",
            )
        missing = self.backend.missing(contract.environment.require)
        if missing:
            raise MissingIsolation(
                "this machine cannot isolate as the contract asks: " + "; ".join(missing),
                where=str(contract.directory / "contract.yaml"),
                hint="proctor doctor says how to get the rest; the contract's environment.require names what it needs",
            )
        with self.scratch("prepare") as scratch:
            return prepare(contract, self.backend, self.store, self.inputs, scratch)
