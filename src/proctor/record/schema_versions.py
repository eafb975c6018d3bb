"""The newest schema that this Proctor reads, for every kind of record in a run directory.

A record names its kind and its schema. A record with a higher schema was written by a newer Proctor: it is refused as
newer and never reported as broken. Lower schemas are read. Early records that name neither count as schema 1.

A resolved contract names its kind in the field ``record``; its content id covers that field. The trace names both in
the payload of its first event. The attestation names them in its ``predicateType``.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from proctor.base.errors import BrokenSeal, NewerSchema


@dataclass(frozen=True)
class Version:
    """A kind of record and its newest known schema; ``field`` is the field that names the kind."""

    kind: str
    schema: int
    field: str = "kind"

    def head(self) -> dict[str, Any]:
        """The fields with which a new record names its kind and schema."""
        return {"schema": self.schema, self.field: self.kind}


MANIFEST = Version("proctor.manifest", 1)
CONTRACT = Version("contract", 1, "record")
TRACE = Version("proctor.trace", 1)
CHANGES = Version("proctor.changes", 1)
RESULTS = Version("proctor.results", 1)
REPORT = Version("proctor.report", 3)
SEAL = Version("proctor.seal", 1)
REVIEW = Version("proctor.review", 1)
RETENTION = Version("proctor.retention", 1)

FILES: Mapping[str, Version] = {
    "manifest.json": MANIFEST,
    "contract.json": CONTRACT,
    "workspace/changes.json": CHANGES,
    "acceptance/results.json": RESULTS,
    "report.json": REPORT,
    "seal.json": SEAL,
}
"""The JSON files of a run directory."""


def check_version(version: Version, value: Any, where: str) -> int:
    """The schema of the record ``value``; :class:`NewerSchema` above the newest, :class:`BrokenSeal` for no number."""
    fields = value if isinstance(value, Mapping) else {}
    kind, schema = fields.get(version.field, version.kind), fields.get("schema", 1)
    if kind != version.kind:
        raise BrokenSeal(f"is not a record of the kind {version.kind}: {str(kind)[:80]!r}", where=where)
    if type(schema) is not int or schema < 1:
        raise BrokenSeal(f"has no schema number: {str(schema)[:80]!r}", where=where)
    if schema > version.schema:
        raise NewerSchema(schema, version.schema, where=where)
    return schema
