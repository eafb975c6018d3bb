"""The resolved form of a contract, its content id, and the way back.

The resolved form is plain data with every default written out and every named file as path, digest and executable bit;
it is what a run directory keeps as ``contract.json``. The content id is a digest over that form without the places that
bytes came from: the directory of the contract, the path or address of a git repository (its commit pins it) and of an
archive (its digest pins it). Both follow the annotations of the model, so a new field is covered from its first day.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import replace
from pathlib import Path
from types import MappingProxyType
from typing import Any

from proctor.base.canonical import digest
from proctor.base.dataclass_fields import EMPTY, field_items, field_names
from proctor.base.errors import ContractError, Mistake
from proctor.contract import model
from proctor.contract.model import ArchiveRepository, Contract, GitRepository, Source
from proctor.contract.schema import SCHEMA_VERSION

RECORD = "contract"
GROWN: dict[str, dict[str, Any]] = {
    "Check": {"flake_tolerance": "0", "inverted": model.Inverted()},
    "Environment": {"hide": ()},
    "Input": {"accept_copy": ""},
    "Policy": {"breakers": ()},
    "Reference": {"alternatives": ()},
}
"""Fields that were added later, with the value that leaves them out: earlier contracts keep their form and their id."""

LATER: dict[str, tuple[str, ...]] = {
    "Environment": ("image",),
    "Policy": (
        *("stages", "forbid_commands", "forbid_syscalls", "dependencies", "canaries", "reads", "words", "ask", "rules"),
        *("checkpoints", "rollback"),
    ),
    "Budget": (
        *("usd", "tokens", "tool_calls", "failed_cycles", "dependency_resolutions", "cpu_seconds", "disk_bytes"),
        "inodes",
    ),
}
"""Fields that are missing in the contracts of the earliest runs and present in all later ones."""

_HEAD = {"schema": SCHEMA_VERSION, "record": RECORD}


def resolved(contract: Contract) -> dict[str, Any]:
    """``contract`` as plain data that has a canonical form; all of it but its directory."""
    fields = {name: _plain(value) for name, value in field_items(contract) if name != "directory"}
    return {**_HEAD, **fields}


def content_id(contract: Contract) -> str:
    """``sha256:`` and the digest over what the contract means."""
    bare = replace(contract, repository=_placeless(contract.repository), inputs=tuple(map(_placeless, contract.inputs)))
    return digest(resolved(bare))


def recorded_content_id(data: Mapping[str, Any]) -> str:
    """The content id of a resolved contract as it was recorded, also in an earlier form with fewer fields."""
    placed = {name: _placeless_data(data[name]) for name in ("repository", "inputs") if name in data}
    return digest({**data, **placed})


def from_resolved(data: Mapping[str, Any], directory: Path) -> Contract:
    """The contract whose resolved form is ``data``; :class:`ContractError` if ``data`` is not a contract.

    Fields that an earlier Proctor did not write get their defaults, which match its behaviour.
    """
    if not isinstance(data, Mapping):
        raise _unreadable("contract", "expected an object")
    fields = dict(data)
    for name, value in _HEAD.items():
        if fields.pop(name, None) != value:
            raise _unreadable(name, f"expected {value!r}")
    made = _fields(Contract, fields, "contract", {"directory": directory})
    assert isinstance(made, Contract)
    return made


def _placeless(value: Any) -> Any:
    """``value`` without the places that its bytes came from."""
    if isinstance(value, GitRepository):
        return replace(value, git="", submodules=tuple(replace(one, git="") for one in value.submodules))
    if isinstance(value, ArchiveRepository | model.Input):
        return replace(value, source=_placeless(value.source))
    if isinstance(value, Source) and value.kind == "archive":
        return replace(value, spec="")
    return value


def _placeless_data(value: Any) -> Any:
    """The same of the repository or the inputs in their resolved form."""
    if isinstance(value, list):
        return [_placeless_data(item) for item in value]
    if not isinstance(value, Mapping):
        return value
    bare = dict(value)
    if "commit" in bare:
        bare["git"] = ""
    if bare.get("kind") == "archive" and "spec" in bare:
        bare["spec"] = ""
    for name in ("submodules", "source"):
        if name in bare:
            bare[name] = _placeless_data(bare[name])
    return bare


def _plain(value: Any) -> Any:
    if value is None or isinstance(value, str | int):
        return value
    if isinstance(value, tuple):
        return [_plain(item) for item in value]
    if isinstance(value, Mapping):
        return dict(value)
    later = GROWN.get(type(value).__name__, {})
    return {name: _plain(inner) for name, inner in field_items(value) if name not in later or inner != later[name]}


def _fields(cls: type[Any], data: Any, where: str, known: Mapping[str, Any] = EMPTY) -> object:
    """An object of the model class ``cls`` from the fields in ``data``."""
    names = [name for name in field_names(cls) if name not in known]
    if not isinstance(data, Mapping) or not _has_fields(cls, data, names):
        raise _unreadable(where, f"expected the fields {', '.join(names)}")
    given = [name for name in names if name in data]
    values = {name: _value(cls.__annotations__[name], data[name], f"{where}.{name}") for name in given}
    return cls(**known, **values)


def _has_fields(cls: type[Any], data: Mapping[str, Any], names: Collection[str]) -> bool:
    """Whether ``data`` has exactly the fields ``names``, except those that may be left out or were added later."""
    optional = {*GROWN.get(cls.__name__, ()), *LATER.get(cls.__name__, ())}
    return set(data) | optional == set(names) | optional and set(data) <= set(names)


def _value(annotation: str, data: Any, where: str) -> Any:
    """``data`` as what ``annotation`` says: a subset of Python's type annotations."""
    choices = annotation.split(" | ")
    if "None" in choices and data is None:
        return None
    if len(choices) > 1:
        choices = [choice for choice in choices if choice != "None" and _fits(choice, data)]
        annotation = choices[0] if choices else ""
    if annotation.startswith("tuple["):
        if not isinstance(data, list):
            raise _unreadable(where, "expected a list")
        inner = annotation[len("tuple[") : -len(", ...]")]
        return tuple(_value(inner, item, f"{where}[{index}]") for index, item in enumerate(data))
    if annotation == "Mapping[str, str]":
        if not isinstance(data, dict) or not all(type(inner) is str for inner in data.values()):
            raise _unreadable(where, "expected a map of texts")
        return MappingProxyType(dict(data)) if data else EMPTY
    simple = {"str": str, "int": int, "bool": bool}.get(annotation)
    if simple is not None:
        if type(data) is not simple:
            raise _unreadable(where, f"expected {annotation}")
        return data
    cls = getattr(model, annotation, None) if annotation else None
    if cls is model.Network and data == "none":  # the first form of a closed network
        return model.Network()
    if cls is None:
        raise _unreadable(where, "the form is not known")
    return _fields(cls, data, where)


def _fits(choice: str, data: Any) -> bool:
    """Whether ``data`` can be the member ``choice`` of a union."""
    cls = getattr(model, choice, None)
    return cls is None or (isinstance(data, dict) and _has_fields(cls, data, field_names(cls)))


def _unreadable(where: str, message: str) -> ContractError:
    return ContractError(
        [Mistake("contract.json", 0, 0, f"{where}: {message}", "not a resolved contract of this version")]
    )
