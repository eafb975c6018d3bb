"""Stored records as frozen dataclasses: how they are read from JSON, written as JSON, and described by a JSON Schema.

    @dataclass(frozen=True, kw_only=True)
    class Gate:
        '''The verdict of one gate.'''

        id: Annotated[str, "G1 to G4."]
        evidence: Annotated[tuple[str, ...], "The events that show it."]
        note: Annotated[str | None, "A remark."] = None

The payload of an event is a ``TypedDict`` with the same types; it is written and read as it is, and only described.
A field is a key of the object; :class:`Key` gives it another name. The text in ``Annotated`` describes the field. A
field with a default may be missing. It is left out when it has its default, unless :class:`Since` says that every
record from some schema on has it; then the default is what older records are read with.

Types are ``str``, ``Annotated[str, Pattern(...)]``, ``int``, ``bool``, ``None``, ``Literal``, ``tuple[T, ...]``,
``Mapping[str, T]``, other records, unions of these, and ``Any`` for data that belongs to someone else. Reading ignores
unknown keys; the JSON Schema refuses them.
"""

from __future__ import annotations

import dataclasses
import operator
import re
import types
import typing
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cache, reduce
from typing import Annotated, Any, Literal, TypeVar, cast

T = TypeVar("T")
DIALECT = "https://json-schema.org/draft/2020-12/schema"


class NotARecord(ValueError):
    """Data that does not have the form of a record; the message names the place."""


OTHER_FORM = (KeyError, TypeError, ValueError, AttributeError, IndexError, ArithmeticError)
"""The errors of code that reads a record as data and finds another form than it expects."""


def _any(kind: Any) -> Any:
    """``kind`` without its static type, for which a class counts as hashable."""
    return kind


@dataclass(frozen=True)
class Key:
    """The key of a field in JSON, where the field itself has another name."""

    name: str


@dataclass(frozen=True)
class Since:
    """The schema from which on every record has the key. Early records of schema 1 may lack one that it added.

    A field that is read as ``None`` from older records is null in JSON only if it is ``nullable``.
    """

    schema: int
    nullable: bool = False


@dataclass(frozen=True)
class Pattern:
    """The form that a text must have: ``Annotated[str, Pattern("[0-9]+", "a number")]``."""

    expression: str
    words: str


Amount = Annotated[str, Pattern(r"-?[0-9]+(\.[0-9]+)?", "a decimal number as text")]
"""A number with a fraction, as decimal text."""


@dataclass(frozen=True)
class _Slot:
    """One field of a record."""

    name: str
    key: str
    type: Any
    words: str
    since: int
    nullable: bool
    default: Any

    def required(self, schema: int) -> bool:
        """Whether every record of ``schema`` has the key; within the first schema, fields were added without count."""
        return self.default is dataclasses.MISSING or 0 < self.since <= schema > 1


@cache
def _slots(cls: Any) -> tuple[_Slot, ...]:
    hints = typing.get_type_hints(cls, include_extras=True)
    if typing.is_typeddict(cls):
        return tuple(_slot(name, hint, dataclasses.MISSING) for name, hint in hints.items())
    return tuple(_slot(field.name, hints[field.name], _default(field)) for field in dataclasses.fields(cls))


def _default(field: dataclasses.Field[Any]) -> Any:
    return field.default if field.default_factory is dataclasses.MISSING else field.default_factory()


def _slot(name: str, hint: Any, default: Any) -> _Slot:
    key, words, since, nullable = name, "", 0, False
    if typing.get_origin(hint) is typing.NotRequired:
        (hint,) = typing.get_args(hint)
        default, nullable = None, True
    if typing.get_origin(hint) is Annotated:
        hint, *marks = typing.get_args(hint)
        for mark in marks:
            if isinstance(mark, Key):
                key = mark.name
            elif isinstance(mark, Since):
                since, nullable = mark.schema, mark.nullable
            elif isinstance(mark, Pattern):
                hint = Annotated[hint, mark]
            else:
                words = str(mark)
    return _Slot(name, key, hint, words, since, nullable, default)


def to_json(record: Any, schema: int | None = None) -> dict[str, Any]:
    """The JSON object of ``record``; with ``schema`` without the keys that were added after it."""
    found = {}
    for slot in _slots(_any(type(record))):
        value = getattr(record, slot.name)
        if slot.since:
            if schema is not None and schema < slot.since:
                continue
        elif slot.default is not dataclasses.MISSING and value == slot.default:
            continue
        found[slot.key] = _plain(value, schema)
    return found


def _plain(value: Any, schema: int | None) -> Any:
    if dataclasses.is_dataclass(value):
        return to_json(value, schema)
    if isinstance(value, tuple | list):
        return [_plain(one, schema) for one in value]
    if isinstance(value, Mapping):
        return {name: _plain(one, schema) for name, one in value.items()}
    return value


def from_json(cls: type[T], value: Any) -> T:
    """The record of class ``cls`` that ``value`` holds; :class:`NotARecord` if it holds none."""
    return cast("T", _reader(_any(cls))(value, ""))


_Reader = Callable[[Any, str], Any]
_UNIONS = (types.UnionType, typing.Union)


@cache
def _reader(kind: Any) -> _Reader:
    """The function that reads a value of a type; it takes the value and its place."""
    if dataclasses.is_dataclass(kind):
        return _record_reader(kind)
    if kind is Any:
        return lambda value, place: value
    origin, parts = typing.get_origin(kind), typing.get_args(kind)
    if origin is Annotated:
        return _pattern_reader(parts[1])
    if origin is tuple:
        return _list_reader(_reader(parts[0]))
    if origin is Mapping:
        return _map_reader(_reader(parts[1]))
    if origin in _UNIONS:
        return _union_reader(parts)
    return _literal_reader(parts) if origin is Literal else _plain_reader(kind)


def _record_reader(cls: Any) -> _Reader:
    readers: list[tuple[_Slot, _Reader]] = []

    def read(value: Any, place: str) -> Any:
        if not readers:
            readers.extend((slot, _reader(slot.type)) for slot in _slots(cls))
        _expect(isinstance(value, Mapping), place, "an object")
        found = {}
        for slot, reader in readers:
            if slot.key in value:
                found[slot.name] = reader(value[slot.key], f"{place}.{slot.key}" if place else slot.key)
            elif slot.default is dataclasses.MISSING:
                raise NotARecord(f"{place}.{slot.key} is missing" if place else f"{slot.key} is missing")
        return cls(**found)

    return read


def _list_reader(inner: _Reader) -> _Reader:
    def read(value: Any, place: str) -> Any:
        _expect(isinstance(value, list | tuple), place, "a list")
        return tuple(inner(one, f"{place}[{index}]") for index, one in enumerate(value))

    return read


def _map_reader(inner: _Reader) -> _Reader:
    def read(value: Any, place: str) -> Any:
        _expect(isinstance(value, Mapping), place, "an object")
        return {name: inner(one, f"{place}.{name}") for name, one in value.items()}

    return read


def _union_reader(parts: tuple[Any, ...]) -> _Reader:
    readers = [_reader(part) for part in parts if part is not types.NoneType]

    def read(value: Any, place: str) -> Any:
        if value is None and types.NoneType in parts:
            return None
        for reader in readers[:-1]:
            try:
                return reader(value, place)
            except NotARecord:
                continue
        return readers[-1](value, place)

    return read


_WORDS = {str: "text", int: "a whole number", bool: "true or false", types.NoneType: "null"}


def _plain_reader(kind: Any) -> _Reader:
    words = _WORDS[kind]

    def read(value: Any, place: str) -> Any:
        _expect(type(value) is kind, place, words)
        return value

    return read


def _literal_reader(values: tuple[Any, ...]) -> _Reader:
    words = "one of " + ", ".join(map(repr, values))

    def read(value: Any, place: str) -> Any:
        _expect(any(type(value) is type(one) and value == one for one in values), place, words)
        return value

    return read


def _pattern_reader(pattern: Pattern) -> _Reader:
    expression = re.compile(pattern.expression)

    def read(value: Any, place: str) -> Any:
        _expect(isinstance(value, str) and expression.fullmatch(value) is not None, place, pattern.words)
        return value

    return read


def _expect(holds: bool, place: str, words: str) -> None:
    if not holds:
        raise NotARecord(f"{place or 'the record'} is not {words}")


def json_schema(cls: type[Any], name: str, title: str, schema: int, **fixed: Any) -> dict[str, Any]:
    """The JSON Schema of a record in the form of ``schema``, under the id ``urn:proctor:NAME``.

    ``fixed`` are keys whose value is always the same, such as its kind.
    """
    found = schema_of(cls, schema)
    for key, value in {"schema": schema, **fixed}.items():
        found["properties"][key] = {"description": found["properties"][key]["description"], "const": value}
    return {"$schema": DIALECT, "$id": f"urn:proctor:{name}:{schema}", "title": title, **found}


_NAMES = {str: "string", int: "integer", bool: "boolean", types.NoneType: "null"}


def schema_of(kind: Any, schema: int) -> dict[str, Any]:
    """The JSON Schema of a type in the form of ``schema``, without a name of its own."""
    origin, parts = typing.get_origin(kind), typing.get_args(kind)
    if dataclasses.is_dataclass(kind) or typing.is_typeddict(kind):
        slots = [slot for slot in _slots(_any(kind)) if slot.since <= schema]
        return {
            **({"description": " ".join(kind.__doc__.split())} if kind.__doc__ else {}),
            "type": "object",
            "properties": {slot.key: _described(slot, schema) for slot in slots},
            "required": [slot.key for slot in slots if slot.required(schema)],
            "additionalProperties": False,
        }
    if kind is Any:
        return {}
    if origin is Annotated:
        return {"type": "string", "pattern": f"^{parts[1].expression}$"}
    if origin in (tuple, list):
        return {"type": "array", "items": schema_of(parts[0], schema)}
    if origin is Mapping:
        return {"type": "object", "additionalProperties": schema_of(parts[1], schema)}
    if origin in _UNIONS:
        return {"anyOf": [schema_of(part, schema) for part in parts]}
    if origin is Literal:
        return {"enum": list(parts)}
    return {"type": _NAMES[kind]}


def _described(slot: _Slot, schema: int) -> dict[str, Any]:
    """The schema of a field; its own description comes before the one of its class."""
    kind = slot.type
    if slot.default is None and not slot.nullable:
        kind = reduce(operator.or_, (part for part in typing.get_args(kind) if part is not types.NoneType))
    found = schema_of(kind, schema)
    return {**found, "description": slot.words} if slot.words else found
