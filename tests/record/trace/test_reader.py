"""Readers: strict on a finished log, tolerant of a torn end, live while it grows, unmoved by hostile files."""

from __future__ import annotations

import os
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from proctor.base.errors import BrokenSeal
from proctor.record.trace.event import EVENT_BYTES, Event
from proctor.record.trace.reader import follow, iterate_events, read_events, read_finished_events

TIMEOUT = 60


@pytest.fixture
def path(make_run: Any, tmp_path: Path) -> Path:
    """A log of five events."""
    with make_run.writer(tmp_path / "events.jsonl") as trace:
        for number in range(5):
            trace.append("run.finished", {"status": str(number)})
    return tmp_path / "events.jsonl"


def test_an_empty_log_has_no_events(tmp_path: Path) -> None:
    (tmp_path / "events.jsonl").touch()
    assert read_events(tmp_path / "events.jsonl") == []
    assert read_finished_events(tmp_path / "events.jsonl") == ([], 0)


def test_every_cut_leaves_exactly_the_finished_events(path: Path) -> None:
    data = path.read_bytes()
    ends = [at + 1 for at, byte in enumerate(data) if byte == 10]
    for size in range(len(data) + 1):
        path.write_bytes(data[:size])
        events, torn = read_finished_events(path)
        whole = [end for end in ends if end <= size]
        assert len(events) == len(whole)
        assert torn == size - (whole[-1] if whole else 0)


def test_a_strict_reader_refuses_a_torn_end(path: Path) -> None:
    with path.open("ab") as file:
        file.write(b"{")
    with pytest.raises(BrokenSeal) as caught:
        read_events(path)
    assert caught.value.where == "events.jsonl#5"
    assert caught.value.exit_code == 4


def test_tolerance_ends_at_the_last_line(path: Path) -> None:
    lines = path.read_bytes().splitlines(keepends=True)
    path.write_bytes(b"".join([*lines[:2], lines[2][:-5] + b"\n", *lines[3:]]))
    with pytest.raises(BrokenSeal) as caught:
        read_finished_events(path)
    assert caught.value.where == "events.jsonl#2"


def test_events_stream_one_at_a_time(path: Path) -> None:
    events = iterate_events(path)
    assert next(events).seq == 0
    assert next(events).seq == 1


@pytest.mark.parametrize("read", [read_events, read_finished_events])
def test_a_line_without_an_end_is_not_read_for_ever(path: Path, read: Any) -> None:
    os.truncate(path, path.stat().st_size + (1 << 36))
    with pytest.raises(BrokenSeal) as caught:
        read(path)
    assert caught.value.where == "events.jsonl#5"


def test_the_longest_line_is_bounded(tmp_path: Path) -> None:
    assert EVENT_BYTES <= 64 << 20


def test_links_pipes_directories_and_absent_files_are_refused(path: Path, tmp_path: Path) -> None:
    (tmp_path / "link").symlink_to(path)
    os.mkfifo(tmp_path / "pipe")
    (tmp_path / "directory").mkdir()
    for name in ("link", "pipe", "directory", "absent"):
        with pytest.raises(BrokenSeal):
            read_events(tmp_path / name)


class Following:
    """Follows a log in a thread and lets the test wait for events."""

    def __init__(self, path: Path) -> None:
        self.done = threading.Event()
        self.seen: list[Event] = []
        self.error: BrokenSeal | None = None
        self._changed = threading.Condition()
        self._thread = threading.Thread(target=self._run, args=(path,))
        self._thread.start()

    def _run(self, path: Path) -> None:
        try:
            for event in follow(path, stop=self.done.is_set, poll_seconds=0.001):
                with self._changed:
                    self.seen.append(event)
                    self._changed.notify_all()
        except BrokenSeal as error:
            self.error = error

    def wait_for(self, count: int) -> None:
        with self._changed:
            assert self._changed.wait_for(lambda: len(self.seen) >= count, TIMEOUT)

    def join(self) -> None:
        self.done.set()
        self.ended()

    def ended(self) -> None:
        self._thread.join(TIMEOUT)
        assert not self._thread.is_alive()


@pytest.fixture
def follower(tmp_path: Path) -> Iterator[Following]:
    following = Following(tmp_path / "live.jsonl")
    yield following
    following.join()


def test_following_a_log_that_grows(follower: Following, make_run: Any, tmp_path: Path) -> None:
    with make_run.writer(tmp_path / "live.jsonl") as trace:
        for number in range(20):
            trace.append("run.finished", {"status": str(number)})
            follower.wait_for(number + 1)
        trace.append("run.finished", {"status": "last"})
    follower.join()
    assert [event.payload["status"] for event in follower.seen] == [*map(str, range(20)), "last"]
    assert follower.error is None


def test_following_waits_for_the_rest_of_a_line(follower: Following, path: Path, tmp_path: Path) -> None:
    live = tmp_path / "live.jsonl"
    data = path.read_bytes()
    with live.open("ab", buffering=0) as file:
        for at in range(0, len(data), 100):
            file.write(data[at : at + 100])
        follower.wait_for(5)
        file.write(b'{"torn')
    follower.join()
    assert len(follower.seen) == 5
    assert follower.error is None


def test_following_stops_at_a_break(follower: Following, path: Path, tmp_path: Path) -> None:
    lines = path.read_bytes().splitlines(keepends=True)
    (tmp_path / "live.jsonl").write_bytes(lines[0] + lines[2])
    follower.ended()
    assert follower.error is not None
    assert follower.error.where == "events.jsonl#1"


def test_following_what_never_comes_ends_when_told(follower: Following) -> None:
    follower.join()
    assert follower.seen == []
