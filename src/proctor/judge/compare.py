"""What makes two runs incomparable: every field of their manifests that differs, and what that field stands for. Pure.

Fields belong to groups by their paths, the longest path that fits. Most groups decide: runs that differ there did not
attempt the same thing under the same conditions. ``agent`` is what a comparison is about. ``machine`` is remarked: it
moves times, not outcomes. What is each run's own (its id, its time, its place in a batch) is left out, and a field that
no table names decides, so that a later field cannot slip through.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from proctor.base.canonical import canonical
from proctor.base.frozen import frozen
from proctor.judge.report import OWN_TO_A_RUN

ABSENT = "absent"
SUBJECT, MACHINE, OWN, OTHER = "agent", "machine", "", "other"
GROUPS = (
    *("contract", "repository", "environment", "toolchain", "budget", "policy", "prices", "harness", "seeds", "model"),
    *(OTHER, SUBJECT, MACHINE),
)
"""Every group, in the order in which differences are told."""

_PATHS = {
    "contract": "contract",
    "contract.name": OWN,
    "contract.version": OWN,
    "checks": "contract",
    "repository": "repository",
    "inputs": "environment",
    "setup": "environment",
    "setup.layer": OWN,
    "setup.layer_digest": MACHINE,
    "sandbox": "environment",
    "environment": "environment",
    "locale": "environment",
    "toolchain": "toolchain",
    "limits": "budget",
    "configuration.watch": "policy",
    "configuration.watch.task_usd": "budget",
    "configuration.watch.batch_usd": "budget",
    "configuration.watch.caps": "budget",
    "configuration.watch.prices": "prices",
    "price_table": "prices",
    "harness": "harness",
    "harness.digest": MACHINE,
    "seeds": "seeds",
    "configuration.model": "model",
    "configuration.gateway": "model",
    "configuration.replay_of": "model",
    "agent": SUBJECT,
    "configuration.agent": SUBJECT,
    "configuration.method": SUBJECT,
    "configuration.pilot": OWN,
    "configuration.stage": OWN,
    "os": MACHINE,
    "machine": MACHINE,
    "run": OWN,
    "started": OWN,
    **{f"configuration.{name}": OWN for name in ("batch", "repeat", "contract", "contract_path", "baseline_runs")},
    **{f"configuration.watch.{name}": OWN for name in OWN_TO_A_RUN},
}
_CONTRACT_PATHS = {"policy": "policy", "budget": "budget", "environment": "environment", "repository": "repository"}


@frozen
class Difference:
    """A field that differs: its group, its path (in ``manifest.json`` unless it says otherwise) and both values."""

    group: str
    path: str
    one: str
    other: str

    @property
    def decides(self) -> bool:
        """Whether it makes the runs incomparable."""
        return self.group not in (SUBJECT, MACHINE)

    def __str__(self) -> str:
        return f"{self.path}: {self.one} and {self.other}"


def differences(
    one: Mapping[str, Any],
    other: Mapping[str, Any],
    contracts: tuple[Mapping[str, Any], Mapping[str, Any]] | None = None,
) -> tuple[Difference, ...]:
    """Every field in which two manifests differ and that is not a run's own, those that decide first.

    Where the contracts themselves differ, ``contracts`` says in which fields.
    """
    found = [
        Difference(group, path, _shown(left), _shown(right))
        for path, left, right in _unlike(one, other, "")
        if (group := _group(path))
    ]
    if contracts is not None and any(item.path == "contract.id" for item in found):
        for path, left, right in _unlike(*contracts, ""):
            group = _CONTRACT_PATHS.get(path.partition(".")[0], "contract")
            found.append(Difference(group, f"contract.json: {path}", _shown(left), _shown(right)))
    return tuple(sorted(found, key=lambda item: GROUPS.index(item.group)))


def _group(path: str) -> str:
    while path:
        if path in _PATHS:
            return _PATHS[path]
        path = path[: max(path.rfind("."), path.rfind("["), 0)]
    return OTHER


def _unlike(one: Any, other: Any, path: str) -> Iterator[tuple[str, Any, Any]]:
    """The innermost fields that differ, with both values."""
    if isinstance(one, Mapping) and isinstance(other, Mapping):
        for name in sorted({*one, *other}):
            inner = f"{path}.{name}" if path else name
            yield from _unlike(one.get(name, ABSENT), other.get(name, ABSENT), inner)
    elif _is_list(one) and _is_list(other) and len(one) == len(other):
        for index, (left, right) in enumerate(zip(one, other, strict=True)):
            yield from _unlike(left, right, f"{path}[{index}]")
    elif one != other:
        yield path, one, other


def _is_list(value: Any) -> bool:
    return isinstance(value, Sequence) and not isinstance(value, str)


def _shown(value: Any) -> str:
    return value if isinstance(value, str) else canonical(value).decode()
