"""Frozen data classes that cost nothing to define.

``dataclasses`` compiles several methods for every class; with the hundred small classes of this project that is a
noticeable part of the start of a command. ``@frozen`` reads the annotations once and gives all classes the same
constructor, comparison and representation, where they do not define their own.

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
    """The methods that every frozen class gets, and the two attributes they need; never used by itself."""

    _frozen_names: tuple[str, ...] = ()
    _frozen_defaults: dict[str, Any] = {}

    def __init__(self, *values: Any, **named: Any) -> None:
        names = self._frozen_names
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
                    value = self._frozen_defaults.get(name, _MISSING)
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
        return all(mine[name] == others[name] for name in self._frozen_names)

    def __hash__(self) -> int:
        return hash((type(self).__name__, *(self.__dict__[name] for name in self._frozen_names)))

    def __repr__(self) -> str:
        inside = ", ".join(f"{name}={self.__dict__[name]!r}" for name in self._frozen_names)
        return f"{type(self).__name__}({inside})"


_SHARED = tuple((name, method) for name, method in vars(_Frozen).items() if callable(method))


@dataclass_transform(frozen_default=True, eq_default=True)
def frozen(cls: type[T]) -> type[T]:
    """Make ``cls`` a frozen class whose fields are its annotations, in order, after those of its bases."""
    own = cls.__dict__
    names: dict[str, None] = {}
    defaults: dict[str, Any] = {}
    for base in reversed(cls.__mro__[1:-1]):
        names.update(dict.fromkeys(base.__dict__.get("_frozen_names", ())))
        defaults.update(base.__dict__.get("_frozen_defaults", ()))
    for name, annotation in own.get("__annotations__", {}).items():
        if str(annotation).startswith(("ClassVar", "typing.ClassVar")):
            continue
        names[name] = None
        if name in own:
            defaults[name] = own[name]
    made: Any = cls
    made._frozen_names, made._frozen_defaults = tuple(names), defaults
    for name, method in _SHARED:
        if getattr(cls, name) is getattr(object, name):
            setattr(cls, name, method)
    return cls


def replace(value: T, /, **changes: Any) -> T:
    """A copy of a frozen ``value`` with some fields changed."""
    return type(value)(**{**dict(items(value)), **changes})


def items(value: object) -> Iterator[tuple[str, Any]]:
    """The fields of a frozen ``value`` with their contents, in order."""
    for name in field_names(type(value)):
        yield name, value.__dict__[name]


def field_names(cls: type[object]) -> tuple[str, ...]:
    """The names of the fields of a frozen class, in order."""
    names: tuple[str, ...] | None = getattr(cls, "_frozen_names", None)
    if names is None:
        raise TypeError(f"{cls.__name__} is not frozen data")
    return names
