"""Checks of stored records against their published JSON Schemas."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from functools import cache
from pathlib import Path
from typing import Any

from jsonschema import Draft202012Validator

from proctor.record.manifest_model import manifest_schema
from proctor.record.report_model import report_schema
from proctor.record.trace.event_types import event_schema

SCHEMAS: dict[str, Callable[[int], dict[str, Any]]] = {
    "manifest.json": manifest_schema,
    "report.json": report_schema,
}
"""The schema of each file of a run directory, by the schema number of the record."""


@cache
def validator(name: str, schema: int) -> Draft202012Validator:
    """The validator of a kind of record in the form of ``schema``."""
    found = SCHEMAS[name](schema)
    Draft202012Validator.check_schema(found)
    return Draft202012Validator(found)


def problems(name: str, record: Any) -> list[str]:
    """Where a record departs from its schema, and how."""
    errors = validator(name, record["schema"]).iter_errors(record)
    return [f"{name}: {error.json_path}: {error.message[:200]}" for error in errors]


@cache
def event_validators() -> tuple[Draft202012Validator, dict[str, Draft202012Validator]]:
    """The validator of a line of the trace, and that of each type's payload, which the first contains."""
    found = event_schema()
    Draft202012Validator.check_schema(found)
    payloads = {
        case["if"]["properties"]["type"]["const"]: Draft202012Validator(case["then"]["properties"]["payload"])
        for case in found["allOf"]
    }
    line = {name: part for name, part in found.items() if name != "allOf"}
    return Draft202012Validator(line), payloads


def event_problems(event: dict[str, Any]) -> list[str]:
    """Where an event departs from its schema, and how; the payload is compared with that of its type alone."""
    line, payloads = event_validators()
    errors = [*line.iter_errors(event)]
    if "payload" in event and event["type"] in payloads:
        errors += payloads[event["type"]].iter_errors(event["payload"])
    return [f"{event['type']}: {error.json_path}: {error.message[:200]}" for error in errors]


def require_valid(run: Path) -> None:
    """Every record of a run directory has the form that is published."""
    assert not [problem for name in SCHEMAS for problem in problems(name, json.loads((run / name).read_bytes()))]
    for line in (run / "events.jsonl").read_bytes().splitlines():
        assert not event_problems(json.loads(line)), line


def planted(record: dict[str, Any]) -> Iterator[tuple[str, dict[str, Any]]]:
    """Copies of a record with an unknown key, without a key, and with a wrong type, at the top and in one part."""
    inner = next(name for name, value in record.items() if isinstance(value, dict) and value)
    part = record[inner]
    yield "an unknown key", {**record, "unknown": 1}
    yield "an unknown key inside", {**record, inner: {**part, "unknown": []}}
    yield "a missing key", {name: value for name, value in record.items() if name != inner}
    yield "a wrong type", {**record, inner: 7}
    yield "a wrong type inside", {**record, inner: {**part, next(iter(part)): 0.5}}
