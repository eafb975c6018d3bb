"""Judging slots, with real threads and real processes."""

from __future__ import annotations

import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from proctor.execute.judging_slots import Slots, default_slots

HOLD = """
import sys, time
from pathlib import Path
from proctor.execute.judging_slots import Slots
with Slots(Path(sys.argv[1]), int(sys.argv[2])).hold():
    print("held", flush=True)
    time.sleep(60)
"""


@contextmanager
def holder(directory: Path, count: int) -> Iterator[None]:
    """A process that holds a slot, and is killed at the end of the ``with`` block."""
    arguments = [sys.executable, "-c", HOLD, str(directory), str(count)]
    with subprocess.Popen(arguments, stdout=subprocess.PIPE, text=True) as child:
        try:
            assert child.stdout is not None
            assert child.stdout.readline() == "held\n"
            yield
        finally:
            child.kill()


@pytest.mark.parametrize("count", [1, 3])
def test_j5_no_more_threads_than_slots_are_inside(tmp_path: Path, count: int) -> None:
    slots = Slots(tmp_path / "slots", count)
    lock = threading.Lock()
    inside, most = 0, 0

    def work() -> None:
        nonlocal inside, most
        with slots.hold():
            with lock:
                inside += 1
                most = max(most, inside)
            time.sleep(0.02)
            with lock:
                inside -= 1

    threads = [threading.Thread(target=work) for _ in range(20)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert most == count


def test_j5_processes_share_slots_and_a_killed_one_gives_its_slot_back(tmp_path: Path) -> None:
    taken = threading.Event()
    waited: list[int] = []

    def work() -> None:
        with Slots(tmp_path, 1).hold() as waited_ns:
            waited.append(waited_ns)
            taken.set()

    thread = threading.Thread(target=work)
    with holder(tmp_path, 1):
        thread.start()
        assert not taken.wait(0.3)
    thread.join(10)
    assert taken.is_set()
    assert waited[0] >= 300_000_000


def test_j5_who_has_more_slots_does_not_wait_for_who_has_fewer(tmp_path: Path) -> None:
    done: list[int] = []

    def work() -> None:
        with Slots(tmp_path, 1).hold() as waited_ns:
            done.append(waited_ns)

    queued = threading.Thread(target=work)
    with holder(tmp_path, 1):
        queued.start()
        time.sleep(0.1)
        with Slots(tmp_path, 2).hold():
            assert not done
    queued.join(10)
    assert done


def test_j5_a_free_slot_is_not_waited_for(tmp_path: Path) -> None:
    with Slots(tmp_path, 2).hold() as first, Slots(tmp_path, 2).hold() as second:
        assert first < 5_000_000_000 and second < 5_000_000_000


def test_j5_a_slot_is_given_back_after_an_error(tmp_path: Path) -> None:
    slots = Slots(tmp_path, 1)
    with pytest.raises(ValueError, match="inside"), slots.hold():
        raise ValueError("inside")
    with slots.hold():
        pass


def test_j5_there_is_a_slot_for_each_processor() -> None:
    assert default_slots() >= 1
