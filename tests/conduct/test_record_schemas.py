"""The published schemas hold for the records of every version, and refuse records of another form."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest
from jsonschema import Draft202012Validator

from proctor.record.trace.event_types import event_schema
from tests.corpus_runs import NAMES, unpack
from tests.record_schemas import SCHEMAS, event_problems, event_validators, planted, problems, require_valid

Proctor = Callable[..., subprocess.CompletedProcess[str]]


@pytest.mark.parametrize("name", NAMES)
def test_x8_records_of_every_version_have_the_published_form(tmp_path: Path, name: str) -> None:
    require_valid(unpack(name, tmp_path))


@pytest.mark.parametrize("name", SCHEMAS)
def test_x8_a_record_of_another_form_is_refused(tmp_path: Path, name: str) -> None:
    record = json.loads((unpack("report-3-forged", tmp_path) / name).read_bytes())
    assert problems(name, record) == []
    for what, changed in planted(record):
        assert problems(name, changed), what


def test_x8_an_event_of_another_form_is_refused(tmp_path: Path) -> None:
    lines = (unpack("report-3-forged", tmp_path) / "events.jsonl").read_bytes().splitlines()
    for event in map(json.loads, lines):
        assert event_problems(event) == []
        for what, changed in planted(event):
            assert event_problems(changed), (event["type"], what)
    whole, _ = event_validators()
    assert whole.is_valid(event) and not whole.is_valid({**event, "type": "run.begun"})


def test_x8_an_event_without_its_payload_has_the_digest_of_it(tmp_path: Path) -> None:
    lines = (unpack("report-3-forged", tmp_path) / "events.jsonl").read_bytes().splitlines()
    event = json.loads(lines[0])
    rest = {name: value for name, value in event.items() if name not in ("payload", "salt")}
    assert event_problems(rest)
    assert event_problems({**rest, "digest": "0" * 64}) == []
    assert event_problems({**event, "digest": "0" * 64})


def test_x8_the_schema_of_a_line_holds_for_the_payload_too(tmp_path: Path) -> None:
    lines = (unpack("report-3-forged", tmp_path) / "events.jsonl").read_bytes().splitlines()
    whole = Draft202012Validator(event_schema())
    for event in map(json.loads, lines[:3]):
        assert whole.is_valid(event)
        assert not whole.is_valid({**event, "payload": {**event["payload"], "unknown": 1}})


def test_x8_the_command_prints_the_schema_of_each_record(proctor: Proctor) -> None:
    for name in (*(name.partition(".")[0] for name in SCHEMAS), "event", "protocol", "journal"):
        printed = json.loads(proctor("schema", name).stdout)
        assert printed["$schema"] == "https://json-schema.org/draft/2020-12/schema"
        assert printed["$id"].startswith("urn:proctor:")
        assert printed["additionalProperties"] is False
