"""Records of other versions: newer ones are called so and never broken, older ones are read."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from proctor.base.canonical import canonical, parse
from proctor.base.errors import BrokenSeal, NewerSchema
from proctor.record.run_directory import RunDirectory
from proctor.record.schema_versions import FILES, REPORT, check_version
from tests.conduct.resealing import Forger
from tests.corpus_runs import unpack

NEWER = "written by a newer Proctor (schema 99; this one reads up to {})"


@pytest.fixture
def forger(tmp_path: Path) -> Forger:
    """A sealed run in the home of the test."""
    return Forger(RunDirectory(unpack("report-2-success", tmp_path / "home" / "runs")))


@pytest.mark.parametrize("name", [name for name in FILES if name != "seal.json"])
def test_i4_a_newer_file_is_called_newer_and_not_broken(forger: Forger, proctor: Any, name: str) -> None:
    forger.forge(name, ("schema",), 99, scored=False)
    expected = NEWER.format(FILES[name].schema)
    for command in ("verify", "rescore"):
        done = proctor(command, forger.run.path.name)
        assert done.returncode == 2 and expected in done.stderr and name in done.stderr
        assert "broken" not in done.stdout + done.stderr and "changed" not in done.stdout + done.stderr
    (listed,) = json.loads(proctor("runs", "--json").stdout)["runs"]
    shown = proctor("show", forger.run.path.name)
    if name in ("manifest.json", "report.json"):
        assert listed["state"] == "newer"
    assert shown.returncode == 2 and expected in shown.stderr


@pytest.mark.parametrize("name", ["manifest.json", "report.json"])
def test_j7_a_number_that_was_changed_after_the_seal_is_broken(forger: Forger, proctor: Any, name: str) -> None:
    forger.forge(name, ("schema",), 99, scored=False)
    (forger.run.path / "seal.json").write_bytes(forger.original["seal.json"])
    for command in ("verify", "rescore", "show"):
        done = proctor(command, forger.run.path.name)
        assert done.returncode == 4 and name in done.stdout + done.stderr, command


def test_i4_a_newer_seal_is_called_newer_and_not_broken(forger: Forger, proctor: Any) -> None:
    forger.run.seal.write_bytes(canonical({**parse(forger.original["seal.json"]), "schema": 99}))
    for command in ("verify", "rescore", "show"):
        done = proctor(command, forger.run.path.name)
        assert done.returncode == 2 and NEWER.format(1) in done.stderr
    (listed,) = json.loads(proctor("runs", "--json").stdout)["runs"]
    assert listed["state"] == "newer"


def test_i4_a_newer_trace_is_called_newer_and_not_broken(forger: Forger, proctor: Any) -> None:
    forger.forge("run.started#0", ("payload", "schema"), 99, scored=False)
    for command in ("verify", "rescore", "trace", "replay"):
        done = proctor(command, forger.run.path.name)
        assert done.returncode == 2 and NEWER.format(1) in done.stderr, (command, done.stderr)


@pytest.mark.parametrize("name", ["reviews.jsonl", "retention.jsonl"])
def test_i4_a_newer_record_beside_the_seal_is_called_newer(forger: Forger, proctor: Any, name: str) -> None:
    from proctor.record.chained_log import ChainedLog
    from proctor.record.seal import load_seal

    anchor = load_seal(forger.run).digest.removeprefix("sha256:")
    kind = "proctor.review" if name == "reviews.jsonl" else "proctor.retention"
    ChainedLog(forger.run.path / name, anchor=anchor).append({"kind": kind, "schema": 99})
    (forger.run.path / name).chmod(0o644)
    done = proctor("verify", forger.run.path.name)
    assert done.returncode == 2 and NEWER.format(1) in done.stderr


def test_i4_a_newer_attestation_is_called_newer(forger: Forger, proctor: Any, tmp_path: Path) -> None:
    from proctor.record.signing.attestation import Envelope, envelope_bytes, statement_bytes

    statement = parse(statement_bytes(forger.run))
    statement["predicateType"] = "urn:proctor:run:v99"
    forger.run.attestation.write_bytes(envelope_bytes(Envelope(canonical(statement), "key", b"signature")))
    forger.run.attestation.chmod(0o644)
    done = proctor("verify", forger.run.path.name)
    assert done.returncode == 2 and NEWER.format(1) in done.stderr


@pytest.mark.parametrize("schema", [0, -1, True, "1", None, 1.5, []])
def test_what_is_no_schema_number_is_broken(schema: Any) -> None:
    with pytest.raises(BrokenSeal, match="has no schema number"):
        check_version(REPORT, {"kind": REPORT.kind, "schema": schema}, "report.json")


def test_kinds_and_schemas() -> None:
    assert check_version(REPORT, {"kind": REPORT.kind, "schema": 1}, "report.json") == 1
    assert check_version(REPORT, {}, "report.json") == 1
    assert REPORT.head() == {"kind": "proctor.report", "schema": REPORT.schema}
    with pytest.raises(BrokenSeal, match=r"is not a record of the kind proctor\.report"):
        check_version(REPORT, {"kind": "proctor.seal"}, "report.json")
    with pytest.raises(NewerSchema):
        check_version(REPORT, {"kind": REPORT.kind, "schema": REPORT.schema + 1}, "report.json")
