"""The shelf: which runs there are, in what state, and which one a short name means."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from proctor.base.errors import UsageFault
from proctor.record.retain import retain
from proctor.record.run_directory import RunDirectory, RunLock
from proctor.record.run_store import RunStore, state
from proctor.record.seal import load_seal


def bare(runs: Path, *names: str) -> RunStore:
    for name in names:
        RunDirectory(runs / name).create()
    return RunStore(runs)


def test_an_absent_shelf_is_empty(tmp_path: Path) -> None:
    assert RunStore(tmp_path / "absent").list() == ()


def test_a_finished_run_says_who_and_what(make_run: Any) -> None:
    run = make_run.sealed()
    (entry,) = RunStore(make_run.directory).list()
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


def test_a_run_that_asks_waits_until_it_is_answered(make_run: Any) -> None:
    run, trace = make_run.unsealed(1)
    with RunLock.take(run):
        trace.append("operator.asked", {"code": "dns", "question": "?", "deadline_seconds": 9, "alert": 1})
        assert state(run) == "waiting"
        trace.append("operator.decided", {"decision": "deny", "why": "", "code": "", "by": "me", "to": ""})
        assert state(run) == "running"
    trace.append("operator.asked", {"code": "dns", "question": "?", "deadline_seconds": 9, "alert": 1})
    assert state(run) == "cut", "nobody is there any more to take an answer"


def test_a_run_that_an_operator_paused_is_paused_until_it_goes_on_or_its_agent_ends(make_run: Any) -> None:
    run, trace = make_run.unsealed(1)

    def act(action: str, done: bool) -> None:
        said = {"why": "", "code": "", "by": "me", "request": 1, "problem": ""}
        trace.append("operator.acted", {"action": action, "done": done, **said})

    with RunLock.take(run):
        act("pause", False)
        assert state(run) == "running", "nothing was done"
        act("pause", True)
        act("pause", False)
        assert state(run) == "paused"
        trace.append("operator.asked", {"code": "dns", "question": "?", "deadline_seconds": 9, "alert": 1})
        assert state(run) == "waiting", "the question has a deadline"
        trace.append("operator.decided", {"decision": "approve", "why": "", "code": "", "by": "me", "to": ""})
        assert state(run) == "paused"
        act("resume", True)
        assert state(run) == "running"
        act("pause", True)
        trace.append("agent.rested", {"wall_seconds": "1"})
        assert state(run) == "running", "its patch is being judged"
    assert state(run) == "cut"


CHANGES: dict[str, Callable[[RunDirectory], object]] = {
    "a report with another verdict": lambda run: replace_in(run.report, b"success", b"failure"),
    "a manifest with another agent": lambda run: replace_in(run.manifest, b"noop", b"best"),
    "a longer log": lambda run: run.events.write_bytes(run.events.read_bytes() + b"\n"),
    "a report that is gone": lambda run: run.report.unlink(),
    "a seal that is none": lambda run: run.seal.write_bytes(b"{}"),
}


def replace_in(path: Path, old: bytes, new: bytes) -> None:
    data = path.read_bytes()
    assert old in data and len(old) == len(new)
    path.write_bytes(data.replace(old, new))


@pytest.mark.parametrize("name", CHANGES)
def test_a_run_that_is_not_what_was_sealed_is_broken_and_has_no_verdict(make_run: Any, name: str) -> None:
    run = make_run.sealed()
    CHANGES[name](run)
    (entry,) = RunStore(make_run.directory).list()
    assert (entry.state, entry.word) == ("broken", "broken")


def test_what_was_removed_with_approval_does_not_break_a_run(make_run: Any) -> None:
    run = make_run.sealed()
    retain(run, load_seal(run), "long-term", "jo", "the case is closed", 1)
    (entry,) = RunStore(make_run.directory).list()
    assert entry.word == "success" and not run.patch.exists()
    replace_in(run.report, b"success", b"failure")
    assert state(run) == "broken"


def test_a_report_without_a_seal_is_no_verdict(make_run: Any) -> None:
    make_run.unsealed()
    (entry,) = RunStore(make_run.directory).list()
    assert (entry.status, entry.word) == ("success", "cut")


def test_runs_of_one_second_come_in_the_order_in_which_they_began(tmp_path: Path) -> None:
    names = [f"20260307T120000-{letter * 10}" for letter in "bca"]
    shelf = bare(tmp_path, *names, "20260307T115959-ffffffffff")
    for number, name in enumerate(names):
        run = RunDirectory(tmp_path / name)
        run.write_json(run.manifest, {"started": {"wall_ns": str(999_999_999 + number)}}, sync=False)
    assert shelf.ids()[1:] == names, "999999999 comes before 1000000000"
    assert shelf.find("last") == RunDirectory(tmp_path / names[-1])


def test_without_runs_there_is_no_last_one(tmp_path: Path) -> None:
    with pytest.raises(UsageFault, match="there are no runs yet"):
        RunStore(tmp_path).find("last")


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
    assert "write more" in caught.value.hint


@pytest.mark.parametrize("name", ["", "zzz", "..", ".", "*", "x" * 200, "x" * 300, "\0", "a\nb"])
def test_a_name_that_means_no_run(tmp_path: Path, name: str) -> None:
    shelf = bare(tmp_path, "20260307T120000-abc0000000")
    with pytest.raises(UsageFault, match="no run"):
        shelf.find(name)


def test_a_path_means_itself(tmp_path: Path, make_run: Any) -> None:
    run = make_run.sealed()
    assert RunStore(tmp_path / "elsewhere").find(str(run.path)) == run
    with pytest.raises(UsageFault, match="no run directory"):
        RunStore(tmp_path).find("absent/run")
    with pytest.raises(UsageFault, match="this directory holds no run"):
        RunStore(tmp_path).find(str(run.path.parent))


def test_a_directory_that_is_not_that_of_a_run_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "contract").mkdir()
    monkeypatch.chdir(tmp_path)
    with pytest.raises(UsageFault, match="there is no run 'contract'") as caught:
        RunStore(tmp_path).find("contract")
    assert caught.value.hint == "`proctor runs` lists them; the directory 'contract' holds no run"
