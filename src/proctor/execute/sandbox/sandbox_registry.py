"""The ways to isolate by name: on the host's own system, on an image, and those of installed packages.

``environment.sandbox`` of a contract is the name. A backend of a package is made once for each machine, is checked
when it is made, and may keep files in a directory of the home.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

from proctor.base.canonical import NotCanonical, canonical
from proctor.base.entry_points import SANDBOXES, PlugIns, lacks_methods, not_callable
from proctor.contract.model import SANDBOXES as BUILT_IN
from proctor.contract.model import Contract
from proctor.execute.sandbox.checked_sandbox import CheckedBackend
from proctor.execute.sandbox.interface import SandboxBackend

Maker = Callable[[Path], SandboxBackend]
"""What the entry point of a backend names: it is given a directory of the home for files of its own."""

PLUG_INS: PlugIns[Maker] = PlugIns(SANDBOXES, "sandbox", BUILT_IN, not_callable)
UNWATCHED = {"guard": "none"}
"""What the isolation of a backend that is not watched says besides, in the manifest and in reports."""


def load_backend(name: str, directory: Path) -> SandboxBackend:
    """The checked backend ``name`` of an installed package."""
    make = PLUG_INS.require(name)
    with PLUG_INS.blamed(name):
        directory.mkdir(parents=True, exist_ok=True)
        backend = make(directory)
        problem = next(backend_problems(backend, name), "")
    if problem:
        raise PLUG_INS.at_fault(name, problem)
    return CheckedBackend(backend, PLUG_INS)


def backend_problems(backend: Any, name: str) -> Iterator[str]:
    """What keeps ``backend``, whose entry point is ``name``, from being used."""
    yield from lacks_methods(backend, "identity", "isolation", "overlays", "missing", "open")
    if getattr(backend, "name", None) != name:
        yield f"its name is {getattr(backend, 'name', None)!r}, that of its entry point is {name!r}"
    if type(getattr(backend, "watched", None)) is not bool:
        yield "watched is not true or false"
    for method in ("identity", "isolation"):
        found = getattr(backend, method)()
        if not isinstance(found, Mapping) or not found or not _are_texts(found):
            yield f"{method}() does not return a map of texts"
    if type(backend.overlays()) is not bool:
        yield "overlays() does not return true or false"


def isolation_of(backend: SandboxBackend) -> dict[str, str]:
    """How strictly sandboxes of ``backend`` are bounded and watched, for records."""
    return {**backend.isolation(), **({} if backend.watched else UNWATCHED)}


def needs_watching(contract: Contract) -> tuple[str, ...]:
    """The parts of ``contract`` that only a backend with a guard can carry out."""
    policy = contract.policy
    needs = {
        "policy.network": policy.network.mode != "none",
        "policy.stages": policy.stages.ladder != "none",
        "policy.forbid_commands": bool(policy.forbid_commands),
        "policy.forbid_syscalls": bool(policy.forbid_syscalls),
        "policy.ask": bool(policy.ask),
        "policy.checkpoints": policy.checkpoints is not None,
        "policy.rollback": bool(policy.rollback),
        "policy.reads": policy.reads != "none",
    }
    return tuple(name for name, needed in needs.items() if needed)


def _are_texts(found: Mapping[Any, Any]) -> bool:
    try:
        canonical(dict(found))
    except (NotCanonical, TypeError, ValueError):
        return False
    return all(isinstance(one, str) for pair in found.items() for one in pair)
