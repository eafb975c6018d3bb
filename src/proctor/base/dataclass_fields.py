"""The fields of frozen dataclasses by name, without copying what is in them as ``dataclasses.asdict`` does."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import fields
from types import MappingProxyType
from typing import Any

EMPTY: MappingProxyType[str, Any] = MappingProxyType({})
"""The default of a parameter that takes a mapping."""


def field_items(value: Any) -> Iterator[tuple[str, Any]]:
    """The fields of ``value`` with their contents, in order."""
    for name in field_names(type(value)):
        yield name, getattr(value, name)


def field_names(cls: type[Any]) -> tuple[str, ...]:
    """The names of the fields of a dataclass, in order."""
    return tuple(field.name for field in fields(cls))
