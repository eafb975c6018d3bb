"""Run directories: their places, their canonical files, their blobs."""

from __future__ import annotations

import hashlib
import os
import stat
import subprocess
import sys
from pathlib import Path

import pytest

from proctor.base.canonical import NotCanonical, canonical
from proctor.base.errors import BrokenSeal, InfrastructureFault
from proctor.record.run_directory import JSON_BYTES, RunDirectory


@pytest.fixture
def run(tmp_path: Path) -> RunDirectory:
    return RunDirectory(tmp_path / "runs" / "one").create()


def test_the_places_are_those_of_the_design(run: RunDirectory) -> None:
    places = {
        "manifest": "manifest.json",
        "events": "events.jsonl",
        "contract": "contract.json",
        "report": "report.json",
        "seal": "seal.json",
        "patch": "workspace/final.patch",
        "changes": "workspace/changes.json",
        "results": "acceptance/results.json",
        "logs": "acceptance/logs",
        "blobs": "blobs",
        "lock": ".lock",
    }
    assert {name: run.name(getattr(run, name)) for name in places} == places


def test_creating_makes_the_directories_once(run: RunDirectory) -> None:
    found = sorted(path.relative_to(run.path).as_posix() for path in run.path.rglob("*"))
    assert found == ["acceptance", "acceptance/logs", "blobs", "workspace"]
    with pytest.raises(InfrastructureFault, match="already exists"):
        run.create()


def test_w6_runs_are_private_whatever_the_umask(tmp_path: Path) -> None:
    script = (
        "import os, sys\nfrom pathlib import Path\nfrom proctor.record.run_directory import RunDirectory\nos.umask(0)\n"
        "run = RunDirectory(Path(sys.argv[1]) / 'run').create()\n"
        "run.write_json(run.report, {})\nrun.write_blob(b'x')\n"
    )
    subprocess.run([sys.executable, "-c", script, tmp_path], check=True, stdin=subprocess.DEVNULL, timeout=60)
    for path in (tmp_path / "run", *(tmp_path / "run").rglob("*")):
        assert stat.S_IMODE(path.stat().st_mode) == (0o700 if path.is_dir() else 0o644)


def test_json_files_are_exactly_their_canonical_bytes(run: RunDirectory) -> None:
    value = {"b": [1, None, True], "a": "caf\u00e9"}
    run.write_json(run.report, value)
    assert run.report.read_bytes() == canonical(value)
    assert run.read_json(run.report) == value
    run.write_json(run.report, {}, sync=False)
    assert run.read_json(run.report) == {}


def test_what_is_not_canonical_is_not_written(run: RunDirectory) -> None:
    with pytest.raises(NotCanonical):
        run.write_json(run.report, {"a": 0.5})
    with pytest.raises(InfrastructureFault, match="larger"):
        run.write_json(run.report, {"a": "x" * JSON_BYTES})
    assert not run.report.exists()


@pytest.mark.parametrize("data", [b"", b"{", b"{}\n", b'{"b":1,"a":1}', b'{"a":1.5}', b"\xff", b"[" * 9999])
def test_what_is_not_canonical_is_not_read(run: RunDirectory, data: bytes) -> None:
    run.report.write_bytes(data)
    with pytest.raises(BrokenSeal) as caught:
        run.read_json(run.report)
    assert caught.value.where == "report.json"


def test_reading_is_bounded_and_follows_no_link(run: RunDirectory, tmp_path: Path) -> None:
    with pytest.raises(BrokenSeal, match="No such file"):
        run.read_json(run.report)
    (tmp_path / "real.json").write_bytes(b"{}")
    run.report.symlink_to(tmp_path / "real.json")
    with pytest.raises(BrokenSeal, match="cannot be read"):
        run.read_json(run.report)
    os.mkfifo(run.changes)
    with pytest.raises(BrokenSeal, match="regular"):
        run.read_json(run.changes)
    run.contract.touch()
    os.truncate(run.contract, 1 << 36)
    with pytest.raises(BrokenSeal, match="larger"):
        run.read_json(run.contract)


def test_blobs_are_kept_once_under_their_digest(run: RunDirectory) -> None:
    name = run.write_blob(b"data")
    assert name == run.write_blob(b"data") == hashlib.sha256(b"data").hexdigest()
    assert [path.name for path in run.blobs.iterdir()] == [name]
    assert (run.blobs / name).read_bytes() == b"data"


def test_names_in_messages(run: RunDirectory) -> None:
    assert run.name(run.results) == "acceptance/results.json"
    assert run.name(Path("/elsewhere/x")) == "/elsewhere/x"
