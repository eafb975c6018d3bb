"""The writer: crash-safe, group-committed, safe among threads, and whole again after a failed write."""

from __future__ import annotations

import os
import random
import signal
import stat
import subprocess
import sys
import threading
from pathlib import Path
from typing import Any

import pytest

from proctor.base.clock import SystemClock, system_entropy
from proctor.base.errors import InfrastructureFault
from proctor.record.trace.event import EVENT_BYTES
from proctor.record.trace.reader import read_events, read_finished_events
from proctor.record.trace.writer import TraceWriter

TIMEOUT = 60


def test_what_is_appended_is_read(make_run: Any, tmp_path: Path) -> None:
    path = tmp_path / "events.jsonl"
    with make_run.writer(path) as trace:
        written = [trace.append("run.finished", {"status": str(number)}) for number in range(600)]
        assert read_events(path) == written
        assert trace.size == path.stat().st_size
    assert [event.seq for event in written] == list(range(600))
    assert len({event.salt for event in written}) == 600
    assert stat.S_IMODE(path.stat().st_mode) == 0o644


def test_an_actor_may_be_named(make_run: Any, tmp_path: Path) -> None:
    with make_run.writer(tmp_path / "events.jsonl") as trace:
        assert trace.append("run.terminated", {"code": "x", "rationale": "y", "evidence": []}).actor == "harness"
        event = trace.append("run.terminated", {"code": "x", "rationale": "y", "evidence": []}, actor="operator")
        assert event.actor == "operator"


def test_an_existing_log_is_never_taken_over(make_run: Any, tmp_path: Path) -> None:
    (tmp_path / "there").write_bytes(b"old")
    (tmp_path / "link").symlink_to(tmp_path / "elsewhere")
    for name in ("there", "link"):
        with pytest.raises(FileExistsError):
            make_run.writer(tmp_path / name)


class JumpingClock:
    """A wall clock that is set back, beside a steady one that does not care."""

    def __init__(self) -> None:
        self.walls = [10_000, 5, 5, 5]
        self.steady = 100

    def wall_ns(self) -> int:
        return self.walls.pop(0)

    def steady_ns(self) -> int:
        self.steady += 7
        return self.steady


def test_a_clock_that_is_set_back_does_not_move_time(tmp_path: Path) -> None:
    with TraceWriter.create(tmp_path / "events.jsonl", JumpingClock(), random.Random(0).randbytes) as trace:
        times = [int(trace.append("run.finished", {"status": ""}).t) for _ in range(3)]
    assert times == [10_007, 10_014, 10_021]


def test_threads_append_side_by_side(tmp_path: Path) -> None:
    path = tmp_path / "events.jsonl"
    with TraceWriter.create(path, SystemClock(), system_entropy) as trace:

        def work(name: int) -> None:
            for number in range(100):
                trace.append("run.finished", {"status": f"{name}.{number}"})
                if number % 25 == 0:
                    trace.sync()

        threads = [threading.Thread(target=work, args=(name,)) for name in range(6)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join(TIMEOUT)
    events = read_events(path)
    assert len(events) == 600
    for name in range(6):
        mine = [event.payload["status"] for event in events if event.payload["status"].startswith(f"{name}.")]
        assert mine == [f"{name}.{number}" for number in range(100)]


def test_callers_at_the_same_time_share_one_sync(
    make_run: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    trace = make_run.writer(tmp_path / "events.jsonl")
    entered, release, appended = threading.Event(), threading.Event(), threading.Semaphore(0)
    calls: list[int] = []

    def slow_sync(handle: int) -> None:
        calls.append(handle)
        entered.set()
        assert release.wait(TIMEOUT)

    monkeypatch.setattr(os, "fdatasync", slow_sync)

    def work() -> None:
        trace.append("run.finished", {"status": ""})
        appended.release()
        trace.sync()

    first = threading.Thread(target=trace.sync)
    first.start()
    assert entered.wait(TIMEOUT)
    others = [threading.Thread(target=work) for _ in range(8)]
    for thread in others:
        thread.start()
    for _ in others:
        assert appended.acquire(timeout=TIMEOUT)
    release.set()
    for thread in (first, *others):
        thread.join(TIMEOUT)
        assert not thread.is_alive()
    assert len(calls) == 2
    trace.sync()
    assert len(calls) == 2
    trace.close()


def test_a_failed_sync_is_final(make_run: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    trace = make_run.writer(tmp_path / "events.jsonl")
    trace.append("run.finished", {"status": ""})

    def failing(handle: int) -> None:
        raise OSError(5, "Input/output error")

    with monkeypatch.context() as patch:
        patch.setattr(os, "fdatasync", failing)
        with pytest.raises(InfrastructureFault, match="could not be synced"):
            trace.sync()
    for action in (trace.sync, lambda: trace.append("run.finished", {"status": ""}), trace.close):
        with pytest.raises(InfrastructureFault, match="could not be synced"):
            action()
    trace.close()
    assert len(read_events(trace.path)) == 1


def test_a_closed_trace_takes_nothing_more(make_run: Any, tmp_path: Path) -> None:
    trace = make_run.writer(tmp_path / "events.jsonl")
    trace.append("run.finished", {"status": ""})
    trace.close()
    trace.close()
    trace.sync()
    with pytest.raises(InfrastructureFault, match="closed"):
        trace.append("run.finished", {"status": ""})
    assert trace.count == 1
    assert len(read_events(trace.path)) == 1


def test_an_event_that_is_too_large_is_refused(make_run: Any, tmp_path: Path) -> None:
    with make_run.writer(tmp_path / "events.jsonl") as trace:
        with pytest.raises(InfrastructureFault, match="larger"):
            trace.append("run.finished", {"status": "x" * EVENT_BYTES})
        trace.append("run.finished", {"status": "x" * (EVENT_BYTES - 1000)})
    assert len(read_events(trace.path)) == 1


FULL = """
import resource, sys
from pathlib import Path
from proctor.base.clock import SystemClock, system_entropy
from proctor.base.errors import InfrastructureFault
from proctor.record.trace.writer import TraceWriter
trace = TraceWriter.create(Path(sys.argv[1]), SystemClock(), system_entropy)
resource.setrlimit(resource.RLIMIT_FSIZE, (10_000, resource.RLIM_INFINITY))
written = 0
try:
    while True:
        trace.append("run.finished", {"status": "x" * 700})
        written += 1
except InfrastructureFault as error:
    print(written, error.message)
print(trace.count, trace.size)
resource.setrlimit(resource.RLIMIT_FSIZE, (20_000, resource.RLIM_INFINITY))
trace.append("run.fault", {"message": "no room", "phase": "agent"})
trace.close()
"""


def test_a_full_disk_leaves_whole_events_and_room_to_say_so(tmp_path: Path) -> None:
    path = tmp_path / "events.jsonl"
    done = subprocess.run(
        [sys.executable, "-c", FULL, path], stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=TIMEOUT
    )
    assert done.returncode == 0, done.stderr
    assert "cannot write an event: File too large" in done.stdout
    events = read_events(path)
    assert [event.type for event in events] == ["run.finished"] * (len(events) - 1) + ["run.fault"]
    assert len(events) > 5


WRITING = """
import os, sys
from pathlib import Path
from proctor.base.clock import SystemClock, system_entropy
from proctor.record.trace.writer import TraceWriter
trace = TraceWriter.create(Path(sys.argv[1]), SystemClock(), system_entropy)
while True:
    event = trace.append("run.finished", {"status": "x" * (trace.count * 37 % 3000)})
    os.write(1, event.hash.encode() + b"\\n")
"""


@pytest.mark.parametrize("after", [1, 50, 400])
def test_killing_the_harness_loses_no_finished_event(tmp_path: Path, after: int) -> None:
    path = tmp_path / "events.jsonl"
    with subprocess.Popen(
        [sys.executable, "-c", WRITING, path], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE
    ) as child:
        assert child.stdout
        told = [child.stdout.readline() for _ in range(after)]
        os.kill(child.pid, signal.SIGKILL)
        told += child.stdout.readlines()
    finished = [line.decode().strip() for line in told if line.endswith(b"\n")]
    events, _ = read_finished_events(path)
    assert len(finished) >= after
    assert [event.hash for event in events][: len(finished)] == finished
