"""Frozen data classes that cost nothing to define.

``dataclasses`` compiles several methods for every class; with the hundred small classes of this project that is a
noticeable part of the start of a command. ``@frozen`` reads the annotations once and shares one constructor, one
comparison and one representation between all classes.

    @frozen
    class Span:
        start: int
        end: int = 0

Defaults must be immutable values. A class may define ``__post__`` to check its fields.
"""

from __future__ import annotations

from collections.abc import Iterator
from types import MappingProxyType
from typing import Any, TypeVar, dataclass_transform

T = TypeVar("T")

EMPTY: MappingProxyType[str, Any] = MappingProxyType({})
"""The default of a field that holds a mapping."""

_MISSING = object()


class _Frozen:
    """What every frozen class shares; never used by itself."""

    _names: tuple[str, ...] = ()
    _defaults: dict[str, Any] = {}

    def __init__(self, *values: Any, **named: Any) -> None:
        names = self._names
        if len(values) > len(names):
            raise TypeError(f"{type(self).__name__} takes {len(names)} values, not {len(values)}")
        state = self.__dict__
        state.update(zip(names, values, strict=False))
        for name, value in named.items():
            if name in state or name not in names:
                raise TypeError(f"{type(self).__name__}: unknown or repeated field {name!r}")
            state[name] = value
        if len(state) < len(names):
            for name in names:
                if name not in state:
                    value = self._defaults.get(name, _MISSING)
                    if value is _MISSING:
                        raise TypeError(f"{type(self).__name__}: missing field {name!r}")
                    state[name] = value
        check = getattr(self, "__post__", None)
        if check is not None:
            check()

    def __setattr__(self, name: str, value: Any) -> None:
        raise AttributeError(f"{type(self).__name__} is frozen: cannot set {name!r}")

    def __delattr__(self, name: str) -> None:
        raise AttributeError(f"{type(self).__name__} is frozen: cannot delete {name!r}")

    def __eq__(self, other: object) -> bool:
        if type(other) is not type(self):
            return NotImplemented
        mine, others = self.__dict__, other.__dict__
        return all(mine[name] == others[name] for name in self._names)

    def __hash__(self) -> int:
        return hash((type(self).__name__, *(self.__dict__[name] for name in self._names)))

    def __repr__(self) -> str:
        inside = ", ".join(f"{name}={self.__dict__[name]!r}" for name in self._names)
        return f"{type(self).__name__}({inside})"


@dataclass_transform(frozen_default=True, eq_default=True)
def frozen(cls: type[T]) -> type[T]:
    """Make ``cls`` a frozen class whose fields are its annotations, in order, after those of its bases."""
    names: list[str] = []
    defaults: dict[str, Any] = {}
    for base in reversed(cls.__mro__[1:]):
        if issubclass(base, _Frozen):
            names.extend(name for name in base._names if name not in names)
            defaults.update(base._defaults)
    for name, annotation in cls.__dict__.get("__annotations__", {}).items():
        if str(annotation).startswith(("ClassVar", "typing.ClassVar")):
            continue
        if name not in names:
            names.append(name)
        if name in cls.__dict__:
            defaults[name] = cls.__dict__[name]
    inside = {key: value for key, value in cls.__dict__.items() if key not in ("__dict__", "__weakref__")}
    inside |= {"_names": tuple(names), "_defaults": defaults}
    bases = cls.__bases__ if any(issubclass(base, _Frozen) for base in cls.__bases__) else _with_frozen(cls.__bases__)
    kind: Any = type(cls)
    made: type[T] = kind(cls.__name__, bases, inside)
    made.__qualname__ = cls.__qualname__
    return made


def replace(value: T, /, **changes: Any) -> T:
    """A copy of a frozen ``value`` with some fields changed."""
    return type(value)(**{**dict(items(value)), **changes})


def items(value: object) -> Iterator[tuple[str, Any]]:
    """The fields of a frozen ``value`` with their contents, in order."""
    if not isinstance(value, _Frozen):
        raise TypeError(f"{type(value).__name__} is not frozen data")
    for name in value._names:
        yield name, value.__dict__[name]


def field_names(cls: type[object]) -> tuple[str, ...]:
    """The names of the fields of a frozen class, in order."""
    if not issubclass(cls, _Frozen):
        raise TypeError(f"{cls.__name__} is not frozen data")
    return cls._names


def _with_frozen(bases: tuple[type, ...]) -> tuple[type, ...]:
    return (*(base for base in bases if base is not object), _Frozen)
