"""How values are put together: lists, maps, shapes with named fields, and choices between shapes.

A :class:`Shape` is a table of fields; reading one gives a :class:`Part`, which is a dictionary that knows its place in
the file. Unknown keys, missing keys and combinations that make no sense are mistakes, and the JSON Schema says so too.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from proctor.contract.scalar_types import Kind, Text, did_you_mean, quoted, whole, wrong_kind
from proctor.contract.strict_yaml import Node, Report

REQUIRED: Any = object()
"""The default of a field that must be given."""

OMITTED: Any = object()
"""The default of a field that may be left out and whose absence cannot be written."""


class Part(dict[str, Any]):
    """What was read of a map: every field has a value, given or by default."""

    def __init__(self, node: Node, variant: str = "") -> None:
        super().__init__()
        self.node = node
        self.variant = variant

    def given(self, name: str) -> bool:
        """Whether the field was written down."""
        return self.node.kind == "map" and name in self.node.value

    def place(self, name: str) -> Node:
        """The position of the field, or of the whole part if the field was left out."""
        found: Node = self.node.value[name] if self.given(name) else self.node
        return found


@dataclass(frozen=True)
class Field:
    """One field of a shape; ``description`` is its line in the reference."""

    name: str
    kind: Kind
    description: str
    default: Any = REQUIRED


@dataclass(frozen=True)
class Rule:
    """When ``field`` has one of ``values``, the fields in ``needs`` must be given and those in ``refuses`` must not.

    With ``other``, the rule applies when ``field`` has any other value.
    """

    field: str
    values: tuple[Any, ...]
    needs: tuple[str, ...] = ()
    refuses: tuple[str, ...] = ()
    other: bool = False

    def applies(self, value: Any) -> bool:
        """Whether the rule is about a field with ``value``."""
        return (value in self.values) != self.other


@dataclass(frozen=True)
class Shape:
    """A map with known keys. ``together`` names fields that are given all or none."""

    name: str
    fields: tuple[Field, ...]
    rules: tuple[Rule, ...] = ()
    together: tuple[str, ...] = ()

    @property
    def blank(self) -> Part:
        return self.blank_at(Node("bad", None, 0, 0))

    def blank_at(self, node: Node) -> Part:
        part = Part(node)
        part.update({field.name: _absent(field, node) for field in self.fields})
        return part

    def read(self, node: Node, report: Report) -> Part:
        if node.kind != "map":
            wrong_kind(node, report, f"a map of {self.name}'s fields")
            return self.blank_at(Node("bad", None, node.line, node.column))
        part = Part(node)
        names = [field.name for field in self.fields]
        for key, place in (node.keys or {}).items():
            if key not in names:
                near = did_you_mean(key, names) if len(report.mistakes) < 50 else ""
                report.add(place, f"unknown key {quoted(key)} in {self.name}", near or f"known: {', '.join(names)}")
        for field in self.fields:
            inner = node.value.get(field.name)
            if inner is not None:
                part[field.name] = field.kind.read(inner, report)
            else:
                if field.default is REQUIRED:
                    report.add(node, f"{self.name}: the key {field.name!r} is missing", field.description)
                part[field.name] = _absent(field, node)
        self._check_rules(part, report)
        return part

    def _check_rules(self, part: Part, report: Report) -> None:
        by_name = {field.name: field for field in self.fields}
        for rule in self.rules:
            place = part.place(rule.field)
            unread = place.kind == "bad" or (rule.other and part.given(rule.field) and not part[rule.field])
            if unread or not rule.applies(part[rule.field]):
                continue
            reason = f"{rule.field}: {_yaml_text(part[rule.field])}"
            for name in rule.needs:
                if not part.given(name):
                    report.add(part.node, f"{self.name}: the key {name!r} is missing", f"needed with {reason}")
            for name in rule.refuses:
                if part.given(name) and part[name] != by_name[name].default:
                    report.add(part.place(name), f"{name!r} makes no sense with {reason}", "leave one of them out")
        missing = [name for name in self.together if not part.given(name)]
        if missing and len(missing) < len(self.together):
            names = " and ".join(self.together)
            report.add(part.node, f"{self.name}: the key {missing[0]!r} is missing", f"{names} go together")

    def schema(self) -> dict[str, Any]:
        schema: dict[str, Any] = {
            "type": "object",
            "additionalProperties": False,
            "properties": {field.name: _field_schema(field) for field in self.fields},
        }
        required = [field.name for field in self.fields if field.default is REQUIRED]
        if required:
            schema["required"] = required
        if self.rules:
            schema["allOf"] = [self._rule_schema(rule) for rule in self.rules]
        if self.together:
            schema["dependentRequired"] = {name: [o for o in self.together if o != name] for name in self.together}
        return schema

    def _rule_schema(self, rule: Rule) -> dict[str, Any]:
        by_name = {field.name: field for field in self.fields}
        values: dict[str, Any] = {"enum": list(rule.values)}
        condition: dict[str, Any] = {"properties": {rule.field: {"not": values} if rule.other else values}}
        if not rule.applies(by_name[rule.field].default):
            condition["required"] = [rule.field]
        then: dict[str, Any] = {}
        if rule.needs:
            then["required"] = list(rule.needs)
        if rule.refuses:
            then["properties"] = {name: _only_default(by_name[name]) for name in rule.refuses}
        return {"if": condition, "then": then}


@dataclass(frozen=True)
class Variants:
    """One of several shapes; the first field that is given decides which one.

    The first field of one shape may be a later field of another one, which is then the one that is meant.
    ``more`` gives the shapes that installed packages add.
    """

    name: str
    shapes: tuple[Shape, ...]
    more: Callable[[], tuple[Shape, ...]] = tuple

    @property
    def blank(self) -> Part:
        return self.blank_at(Node("bad", None, 0, 0))

    def blank_at(self, node: Node) -> Part:
        return Part(node)

    def read(self, node: Node, report: Report) -> Part:
        if node.kind != "map":
            wrong_kind(node, report, f"a map of {self.name}'s fields")
            return self.blank
        shapes = self.shapes
        if not any(shape.fields[0].name in node.value for shape in shapes):
            shapes = (*shapes, *self.more())
        keys = [shape.fields[0].name for shape in shapes]
        chosen = self._leading([key for key in keys if key in node.value])
        if len(chosen) != 1:
            known = {field.name for shape in shapes for field in shape.fields}
            strange = [key for key in node.value if key not in known]
            near = next((hint for key in strange[:20] if (hint := did_you_mean(key, keys))), "")
            message = (
                f"only one of {', '.join(chosen)} may be given" if chosen else f"one of {', '.join(keys)} is missing"
            )
            report.add(node, f"{self.name}: {message}", near)
            return self.blank
        part = shapes[keys.index(chosen[0])].read(node, report)
        part.variant = chosen[0]
        return part

    def _leading(self, given: list[str]) -> list[str]:
        """The ``given`` first fields that are not a later field of another shape whose first field is given."""
        later = {field.name for shape in self.shapes if shape.fields[0].name in given for field in shape.fields[1:]}
        return [key for key in given if key not in later]

    def schema(self) -> dict[str, Any]:
        return {"oneOf": [shape.schema() for shape in (*self.shapes, *self.more())]}


@dataclass(frozen=True)
class ListOf:
    """A list whose items are all of one kind."""

    kind: Kind
    least: int = 0
    unique: bool = False
    blank: tuple[Any, ...] = ()

    def read(self, node: Node, report: Report) -> tuple[Any, ...]:
        if node.kind != "list":
            wrong_kind(node, report, "a list", "write [] for none" if node.kind == "null" else "")
            return self.blank
        if len(node.value) < self.least:
            report.add(node, "the list must not be empty")
        values = tuple(self.kind.read(item, report) for item in node.value)
        if self.unique:
            seen: set[Any] = set()
            for item, value in zip(node.value, values, strict=True):
                if value in seen and value:
                    report.add(item, f"{quoted(value)} is given twice")
                seen.add(value)
        return values

    def schema(self) -> dict[str, Any]:
        least = {"minItems": self.least} if self.least else {}
        unique = {"uniqueItems": True} if self.unique else {}
        return {"type": "array", "items": self.kind.schema(), **least, **unique}


@dataclass(frozen=True)
class MapOf:
    """A map with free keys, each matching ``key``, and values of one kind."""

    key: Text
    kind: Kind
    blank: Any = dataclasses.field(default_factory=dict)

    def read(self, node: Node, report: Report) -> dict[str, Any]:
        if node.kind != "map":
            wrong_kind(node, report, "a map", "write {} for none" if node.kind == "null" else "")
            return {}
        for key, place in (node.keys or {}).items():
            if not self.key.matches(key):
                report.add(place, f"expected {self.key.expected}, not {quoted(key)}")
        return {key: self.kind.read(inner, report) for key, inner in node.value.items()}

    def schema(self) -> dict[str, Any]:
        names = {"pattern": whole(self.key.pattern)}
        return {"type": "object", "propertyNames": names, "additionalProperties": self.kind.schema()}


@dataclass(frozen=True)
class Either:
    """One of several kinds; the type of the value in the file decides: text, a list or a map."""

    expected: str
    kinds: dict[str, Kind]

    @property
    def blank(self) -> Any:
        return next(iter(self.kinds.values())).blank

    def read(self, node: Node, report: Report) -> Any:
        kind = self.kinds.get(node.kind)
        if kind is None:
            wrong_kind(node, report, self.expected)
            return self.blank
        return kind.read(node, report)

    def schema(self) -> dict[str, Any]:
        return {"anyOf": [kind.schema() for kind in self.kinds.values()]}


def _absent(field: Field, node: Node) -> Any:
    """The value of a field that was not given."""
    if field.default is not REQUIRED and field.default is not OMITTED:
        return field.default
    if isinstance(field.kind, Shape | Variants):
        return field.kind.blank_at(Node("bad", None, node.line, node.column))
    return field.kind.blank


def _field_schema(field: Field) -> dict[str, Any]:
    schema = {"description": field.description, **field.kind.schema()}
    if field.default is not REQUIRED and field.default is not OMITTED and not isinstance(field.default, Part):
        schema["default"] = plain_default(field.default)
    return schema


def _only_default(field: Field) -> Any:
    return False if field.default in (REQUIRED, OMITTED) else {"const": plain_default(field.default)}


def plain_default(value: Any) -> Any:
    """A default as JSON has it."""
    if isinstance(value, tuple):
        return [plain_default(item) for item in value]
    return dict(value) if hasattr(value, "keys") else value


def _yaml_text(value: Any) -> str:
    return {True: "true", False: "false"}.get(value, str(value)) if isinstance(value, bool) else str(value)
