"""The seal: it lists everything, comes last, and refuses what cannot be sealed."""

from __future__ import annotations

import hashlib
import os
from pathlib import Path
from typing import Any

import pytest

from proctor.base.canonical import canonical, digest
from proctor.base.errors import BrokenSeal, InfrastructureFault
from proctor.record.seal import load_seal, read_seal, write_seal
from proctor.record.trace.reader import read_events
from proctor.record.verify import verify


def test_a_seal_lists_every_file_and_directory(make_run: Any) -> None:
    run, trace = make_run.unsealed()
    before = {
        path.relative_to(run.path).as_posix(): path for path in sorted(run.path.rglob("*")) if path.name != ".lock"
    }
    value = write_seal(run, trace)
    assert [entry["path"] for entry in value["directories"]] == sorted(n for n, p in before.items() if p.is_dir())
    assert {entry["path"] for entry in value["files"]} == {n for n, p in before.items() if p.is_file()}
    for entry in value["files"]:
        data = before[entry["path"]].read_bytes()
        assert (entry["bytes"], entry["sha256"]) == (len(data), hashlib.sha256(data).hexdigest())
        assert entry["mode"] == "0644"
    events = read_events(run.events)
    assert value["events"] == {"count": len(events), "head": events[-1].hash, "root": trace.root()}


def test_a_seal_is_canonical_and_digests_itself(make_run: Any) -> None:
    run, trace = make_run.unsealed()
    value = write_seal(run, trace)
    assert run.seal.read_bytes() == canonical(value)
    claimed = value.pop("digest")
    assert claimed == digest(value) == load_seal(run).digest == verify(run).digest


def test_the_same_run_has_the_same_seal(make_run: Any, tmp_path: Path) -> None:
    first = make_run.sealed(5)
    data = first.seal.read_bytes()
    first.path.rename(tmp_path / "aside")
    assert make_run.sealed(5).seal.read_bytes() == data


def test_nothing_is_appended_after_the_seal(make_run: Any) -> None:
    run, trace = make_run.unsealed()
    write_seal(run, trace)
    with pytest.raises(InfrastructureFault, match="closed"):
        trace.append("run.finished", {"status": "success"})
    with pytest.raises(BrokenSeal, match="already sealed"):
        write_seal(run, trace)


def test_odd_names_are_sealed_and_found(make_run: Any) -> None:
    run, trace = make_run.unsealed()
    logs = os.fsencode(run.logs)
    os.mkdir(logs + b"/d\xff\n")
    for name in (b"\xff\xfe.log", b"new\nline", b"back\\slash", "caf\u00e9".encode(), b"d\xff\n/inner"):
        with open(logs + b"/" + name, "wb") as file:
            file.write(name)
        os.chmod(logs + b"/" + name, 0o600)
    write_seal(run, trace)
    assert verify(run).status == "intact"
    os.rename(logs + b"/new\nline", logs + b"/new line")
    assert {problem.where for problem in verify(run).problems} == {
        "acceptance/logs/new\\x0aline",
        "acceptance/logs/new line",
    }


@pytest.mark.parametrize("kind", ["link", "pipe"])
def test_what_is_neither_file_nor_directory_cannot_be_sealed(make_run: Any, kind: str) -> None:
    run, trace = make_run.unsealed()
    if kind == "link":
        (run.logs / "odd").symlink_to("/etc/passwd")
    else:
        os.mkfifo(run.logs / "odd")
    with pytest.raises(BrokenSeal) as caught:
        write_seal(run, trace)
    assert caught.value.where == "acceptance/logs/odd"
    assert not run.seal.exists()


def test_a_log_that_somebody_else_wrote_to_is_not_sealed(make_run: Any) -> None:
    run, trace = make_run.unsealed()
    with run.events.open("ab") as file:
        file.write(b"more\n")
    with pytest.raises(BrokenSeal, match="another length"):
        write_seal(run, trace)


def test_a_log_edited_in_place_before_the_seal_is_found(make_run: Any) -> None:
    run, trace = make_run.unsealed()
    run.events.write_bytes(run.events.read_bytes().replace(b'"exit_code":0', b'"exit_code":1', 1))
    write_seal(run, trace)
    found = verify(run)
    assert found.status == "broken"
    assert found.problems[0].where.startswith("events.jsonl#")


def test_files_are_durable_before_the_seal_stands(make_run: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    run, trace = make_run.unsealed()
    files = {path.stat().st_ino for path in run.path.rglob("*")}
    synced: set[int] = set()
    real = os.fsync

    def noted(handle: int) -> None:
        if not run.seal.exists():
            synced.add(os.fstat(handle).st_ino)
        real(handle)

    monkeypatch.setattr(os, "fsync", noted)
    write_seal(run, trace)
    assert files <= synced


def test_the_lock_is_left_out(make_run: Any) -> None:
    run, trace = make_run.unsealed()
    run.lock.touch()
    value = write_seal(run, trace)
    assert ".lock" not in {entry["path"] for entry in value["files"]}


def test_a_seal_is_read_with_its_parts(make_run: Any) -> None:
    run = make_run.sealed()
    seal = read_seal(run.seal.read_bytes())
    assert seal.files["report.json"].mode == "0644"
    assert seal.directories["blobs"] == "0700"
    assert seal.count == len(read_events(run.events))
