"""The published schemas hold for the records of every version, and refuse records of another form."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.corpus_runs import NAMES, unpack
from tests.record_schemas import SCHEMAS, planted, problems, require_valid

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


def test_x8_the_command_prints_the_schema_of_each_record(proctor: Proctor) -> None:
    for name in SCHEMAS:
        printed = json.loads(proctor("schema", name.partition(".")[0]).stdout)
        assert printed["$schema"] == "https://json-schema.org/draft/2020-12/schema"
        assert printed["$id"].startswith("urn:proctor:")
        assert printed["additionalProperties"] is False
