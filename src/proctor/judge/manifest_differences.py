"""Why two runs cannot be compared: every field of their manifests that differs, and the group of that field. Pure.

Fields belong to groups by their paths, the longest path that fits. Most groups decide: runs that differ there did not
attempt the same thing under the same conditions. ``agent`` is what a comparison is about. ``machine`` is only reported:
it changes times, not outcomes. Fields that always differ (id, time, place in a batch) are left out. A field that no
table lists decides, so that a later field is not overlooked.

Values are equal if their canonical bytes are: ``true`` is not 1, and a missing field is not equal to a text that says
so. A text that reads like the other side's value, or like a missing field, is shown with quotation marks.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from proctor.base.canonical import canonical
from proctor.judge.run_report import OWN_TO_A_RUN

ABSENT = "absent"
_MISSING = object()
"""A missing field; not equal to any value."""

SUBJECT, MACHINE, OWN, OTHER = "agent", "machine", "", "other"
GROUPS = (
    *("contract", "repository", "environment", "toolchain", "budget", "policy", "prices", "harness", "seeds", "model"),
    *(OTHER, SUBJECT, MACHINE),
)
"""Every group, in the order in which differences are listed."""

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
    "plugins": "harness",
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
    "configuration.variation": "seeds",
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
Way = tuple[str, ...]
"""The names that lead to a field, without indexes of lists."""

_WAYS: dict[Way, str] = {tuple(path.split(".")): group for path, group in _PATHS.items()}
_CONTRACT_PATHS = {"policy": "policy", "budget": "budget", "environment": "environment", "repository": "repository"}


@dataclass(frozen=True)
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
        Difference(group, path, *_shown(left, right))
        for way, path, left, right in _unlike(one, other)
        if (group := _group(way))
    ]
    if contracts is not None and any(item.path == "contract.id" for item in found):
        for way, path, left, right in _unlike(*contracts):
            group = _CONTRACT_PATHS.get(way[0] if way else "", "contract")
            found.append(Difference(group, f"contract.json: {path}", *_shown(left, right)))
    return tuple(sorted(found, key=lambda item: GROUPS.index(item.group)))


def _group(way: Way) -> str:
    """The group of the longest path that leads to a field."""
    for length in range(len(way), 0, -1):
        if way[:length] in _WAYS:
            return _WAYS[way[:length]]
    return OTHER


def _unlike(one: Any, other: Any, way: Way = (), path: str = "") -> Iterator[tuple[Way, str, Any, Any]]:
    """The innermost fields that differ: the names on the way to each, its path, and both values."""
    if isinstance(one, Mapping) and isinstance(other, Mapping):
        for name in sorted({*one, *other}):
            inner = f"{path}.{name}" if path else name
            yield from _unlike(one.get(name, _MISSING), other.get(name, _MISSING), (*way, name), inner)
    elif _is_list(one) and _is_list(other) and len(one) == len(other):
        for index, (left, right) in enumerate(zip(one, other, strict=True)):
            yield from _unlike(left, right, way, f"{path}[{index}]")
    elif one is _MISSING or other is _MISSING or canonical(one) != canonical(other):
        yield way, path, one, other


def _is_list(value: Any) -> bool:
    return isinstance(value, Sequence) and not isinstance(value, str)


def _shown(one: Any, other: Any) -> tuple[str, str]:
    """Two values that differ as texts that differ."""
    texts = _text(one), _text(other)
    if isinstance(one, str) and (one == ABSENT or one == texts[1]):
        texts = canonical(one).decode(), texts[1]
    if isinstance(other, str) and (other == ABSENT or other == _text(one)):
        texts = texts[0], canonical(other).decode()
    return texts


def _text(value: Any) -> str:
    if value is _MISSING:
        return ABSENT
    return value if isinstance(value, str) else canonical(value).decode()
