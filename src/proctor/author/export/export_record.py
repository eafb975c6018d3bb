"""``export.json``: what an export was made from, what is in it, and what could not be carried over."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Annotated, Any

from proctor.base.json_records import json_schema

KIND, SCHEMA = "proctor.export", 1
NAME = "export.json"


@dataclass(frozen=True, kw_only=True)
class ExportLoss:
    """Something that the format has no place for."""

    subject: Annotated[str, "The contract or run; empty for all."]
    code: Annotated[str, "What is lost."]
    values: Annotated[Mapping[str, Any], "What it is about; each code has its own names."]


@dataclass(frozen=True, kw_only=True)
class ExportSubject:
    """A contract or a run that was exported."""

    kind: Annotated[str, "contract or run."]
    name: Annotated[str, "The name of the contract, or the id of the run."]
    id: Annotated[str, "The content id of the contract, or the digest of the seal of the run."]


@dataclass(frozen=True, kw_only=True)
class ExportFile:
    """A file of the export."""

    path: Annotated[str, "The path below the folder."]
    sha256: Annotated[str, "The digest of the file."]
    bytes: Annotated[int, "The size of the file."]


@dataclass(frozen=True, kw_only=True)
class ExportRecord:
    """An export: its subjects, its files, and what could not be carried over."""

    schema: Annotated[int, "The version of this form."]
    kind: Annotated[str, "What the record is."]
    format: Annotated[str, "swebench, harbor, atif, inspect or otel."]
    format_version: Annotated[str, "The version of that format."]
    proctor: Annotated[str, "The version of Proctor."]
    contains: Annotated[tuple[str, ...], "What no agent may see: hidden-tests, solution; empty if there is none."]
    subjects: Annotated[tuple[ExportSubject, ...], "What was exported."]
    files: Annotated[tuple[ExportFile, ...], "The files, in the order of their paths."]
    losses: Annotated[tuple[ExportLoss, ...], "What could not be carried over."]


def export_schema() -> dict[str, Any]:
    """The JSON Schema of ``export.json``."""
    return json_schema(ExportRecord, "export", NAME, SCHEMA, kind=KIND)
