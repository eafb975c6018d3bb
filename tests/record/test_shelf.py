"""The shelf: which runs there are, in what state, and which one a short name means."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import pytest

from proctor.base.errors import UsageFault
from proctor.record.lock import RunLock
from proctor.record.rundir import RunDirectory
from proctor.record.shelf import Shelf, state


def bare(runs: Path, *names: str) -> Shelf:
    for name in names:
        RunDirectory(runs / name).create()
    return Shelf(runs)


def test_an_absent_shelf_is_empty(tmp_path: Path) -> None:
    assert Shelf(tmp_path / "absent").list() == ()


def test_a_finished_run_says_who_and_what(make_run: Any) -> None:
    run = make_run.sealed()
    (entry,) = Shelf(make_run.directory).list()
    assert entry.id == run.path.name
    assert (entry.contract, entry.agent, entry.status) == ("adding", "noop", "success")
    assert (entry.started, entry.state, entry.path) == ("2026-03-07T12:00:00Z", "finished", run.path)


def test_states(make_run: Any) -> None:
    run, _ = make_run.unsealed(1)
    assert state(run) == "cut"
    with RunLock.take(run):
        assert state(run) == "running"
    assert state(run) == "cut"
    assert state(make_run.sealed(2)) == "finished"


def test_runs_come_oldest_first_and_nothing_else_comes(tmp_path: Path) -> None:
    names = ["20260307T120002-aaaaaaaaaa", "20260307T120000-cccccccccc", "20260307T120001-bbbbbbbbbb"]
    shelf = bare(tmp_path, *names)
    (tmp_path / "notes").mkdir()
    (tmp_path / "20260307T120003-dddddddddd").write_text("a file")
    (tmp_path / "20260307T120004-eeeeeeeeee").symlink_to(tmp_path / names[0])
    assert [entry.id for entry in shelf.list()] == sorted(names)


@pytest.mark.parametrize("data", [b"", b"null", b"[]", b'{"contract":5,"agent":{"name":5}}', b"\xff", b"[" * 9999])
def test_an_unreadable_run_does_not_stop_the_list(tmp_path: Path, data: bytes) -> None:
    shelf = bare(tmp_path, "20260307T120000-cccccccccc")
    run = shelf.find("20260307T120000-cccccccccc")
    run.manifest.write_bytes(data)
    os.mkfifo(run.report)
    (entry,) = shelf.list()
    assert (entry.contract, entry.agent, entry.status, entry.started, entry.state) == ("", "", "", "", "cut")


def test_finding_by_id_beginning_and_last_part(tmp_path: Path) -> None:
    first, second = "20260307T120000-abc0000000", "20260307T120001-abd0000000"
    shelf = bare(tmp_path, first, second)
    for name in (first, "20260307T120000", "abc", "abc0000000"):
        assert shelf.find(name) == RunDirectory(tmp_path / first)
    assert shelf.find("20260307T120001-a") == RunDirectory(tmp_path / second)


def test_a_name_that_means_several_runs_lists_some(tmp_path: Path) -> None:
    shelf = bare(tmp_path, *(f"20260307T120000-abc000000{number}" for number in range(7)))
    with pytest.raises(UsageFault, match=r"7 runs .*abc0000000, .*\.\.\.") as caught:
        shelf.find("abc")
    assert "give more" in caught.value.hint


@pytest.mark.parametrize("name", ["", "zzz", "..", ".", "*", "x" * 200, "\0", "a\nb"])
def test_a_name_that_means_no_run(tmp_path: Path, name: str) -> None:
    shelf = bare(tmp_path, "20260307T120000-abc0000000")
    with pytest.raises(UsageFault, match="no run"):
        shelf.find(name)


def test_a_path_means_itself(tmp_path: Path, make_run: Any) -> None:
    run = make_run.sealed()
    assert Shelf(tmp_path / "elsewhere").find(str(run.path)) == run
    with pytest.raises(UsageFault, match="no run directory"):
        Shelf(tmp_path).find("absent/run")
