"""The machine that makes the runs of a pilot, as far as it decides whether runs can be compared.

The identity of a machine is what sandboxes see of it: packages, tools, isolation, and the version of the harness. Runs
that differ in it belong to different comparability classes.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, TypeAlias

import proctor
from proctor.base.canonical import digest
from proctor.base.dataclass_fields import field_items
from proctor.conduct.machine_setup import Machine
from proctor.contract.model import Contract
from proctor.execute.sandbox.sandbox_registry import isolation_of

Identity: TypeAlias = tuple[tuple[str, str], ...]
"""The fields of a manifest that say which machine made a run, each with its value."""
Identify: TypeAlias = "Callable[[Contract], Identity]"
SHOWN = 24
"""How much of a value a message shows."""


@dataclass(frozen=True)
class Change:
    """A field in which the machine differs from the one that made ``run``."""

    field: str
    before: str
    after: str
    run: str

    def __str__(self) -> str:
        return f"{self.field}: {_short(self.before)} -> {_short(self.after)}"

    def record(self) -> dict[str, Any]:
        """The change as data."""
        return dict(field_items(self))


def identity_of(manifest: Mapping[str, Any]) -> Identity:
    """The machine that made a run."""
    sandbox = manifest.get("sandbox") or {}
    own = {name: value for name, value in (sandbox.get("identity") or {}).items() if name != "digest"}
    version = (manifest.get("harness") or {}).get("version", "")
    return _flat(sandbox.get("backend", ""), own, sandbox.get("isolation") or {}, version)


def identity_here(machine: Machine, contract: Contract) -> Identity:
    """The machine that would make a run of ``contract`` now."""
    backend = machine.backend(contract)
    return _flat(backend.name, backend.identity(), isolation_of(backend), proctor.__version__)


def _flat(backend: object, identity: Mapping[str, Any], isolation: Mapping[str, Any], version: object) -> Identity:
    found = {"sandbox.backend": backend, "harness.version": version}
    found |= {f"sandbox.identity.{name}": value for name, value in identity.items()}
    found |= {f"sandbox.isolation.{name}": value for name, value in isolation.items()}
    return tuple(sorted((name, str(value)) for name, value in found.items()))


def digest_of(identity: Identity) -> str:
    """An identity as one digest."""
    return digest([list(field) for field in identity])


def _short(value: str) -> str:
    return (value if len(value) <= SHOWN else f"{value[: SHOWN - 3]}...") or "nothing"
