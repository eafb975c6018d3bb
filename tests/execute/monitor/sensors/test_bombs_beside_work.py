"""Bombs in one sandbox while another goes on with its work: each is seen, ends within its limits, leaves nothing."""

from __future__ import annotations

import threading
from pathlib import Path

import pytest

from proctor.base.clock import SystemClock
from proctor.execute.monitor.sensors.resource_sampling import Alert, Ceilings, Sample, Sampler, SamplingThread
from proctor.execute.sandbox.bubblewrap.live_sandbox import LiveSandbox
from proctor.execute.sandbox.interface import CommandResult, Limits
from tests.execute.monitor.sensors.scene import MIB, both_users, scene
from tests.execute.sandbox.workplace import shell

LIMITS = Limits(memory_bytes=128 * MIB, processes=30, file_bytes=8 * MIB, tmp_bytes=8 * MIB)
CEILINGS = Ceilings(memory_bytes=128 * MIB, processes=20, disk_bytes=16 * MIB, inodes=300)

FORKS = """/usr/bin/python3 -c '
import os, time
while True:
    try:
        if os.fork() == 0:
            time.sleep(1000)
    except OSError:
        time.sleep(0.01)'"""
WILD_FORKS = "f() { f | f & f; }; f"
MEMORY = "while :; do /usr/bin/python3 -c 'b=[bytes([1])*(1<<20)]\nwhile True: b.append(bytes([1])*(1<<20))'; done"
DISK = "i=0; while :; do head -c 4000000 /dev/zero > big$i; i=$((i+1)); sleep 0.05; done"
INODES = "i=0; while :; do mkdir d$i; i=$((i+1)); for k in 1 2 3 4 5 6 7 8 9; do : > d$i.$k; done; sleep 0.01; done"
NAMELESS = """/usr/bin/python3 -c '
import os, time
held = []
while True:
    held.append(os.open("x", os.O_CREAT | os.O_RDWR))
    os.unlink("x")
    os.write(held[-1], bytes(4000000))
    time.sleep(0.05)'"""
TMP = "while :; do head -c 9000000 /dev/zero > /tmp/f; sleep 0.05; done"

WORK = "i=0; while [ $i -lt 40 ]; do echo $i > f$i; cat f$i > /dev/null; i=$((i+1)); done; ls | wc -l"


class Post:
    """Watches a sandbox and ends everything in it at an alert of the awaited kind."""

    def __init__(self, box: LiveSandbox, code: str) -> None:
        self.seen = threading.Event()
        self.last: Sample | None = None
        self._box = box
        self._code = code

    def __call__(self, sample: Sample, found: tuple[Alert, ...]) -> None:
        self.last = sample
        if self._code in [alert.code for alert in found]:
            self.seen.set()
            self._box.end_all()


@pytest.mark.parametrize(
    ("bomb", "code"),
    [
        (FORKS, "processes"),
        (DISK, "disk"),
        (INODES, "inodes"),
        (NAMELESS, "disk"),
        (TMP, "tmpfs-full"),
    ],
    ids=["forks", "disk", "inodes", "nameless files", "tmpfs"],
)
def test_a_bomb_is_seen_and_ended_while_other_work_goes_on(bomb: str, code: str) -> None:
    def go() -> None:
        with scene(limits=LIMITS) as at, scene() as beside:
            results: list[CommandResult] = []
            work = threading.Thread(target=lambda: results.extend(shell(beside.box, WORK) for _ in range(3)))
            post = Post(at.box, code)
            sampler = Sampler(at.box, at.workspace, SystemClock(), CEILINGS)
            with SamplingThread(sampler, post, 0.02) as watching:
                work.start()
                ended = shell(at.box, bomb, timeout_seconds=120)
                work.join()
                assert post.seen.is_set() and not watching.problem
            assert ended.exit_code != 0 and not ended.timed_out
            assert [(done.exit_code, done.stdout.prefix) for done in results] == [(0, b"45\n")] * 3
            at.box.end_all()
            assert sampler.sample().processes == 0
            sampler.close()
            assert shell(at.box, "echo alive").stdout.prefix == b"alive\n"

    both_users(go)


def test_a_memory_bomb_is_seen_and_ended_while_other_work_goes_on() -> None:
    with scene(limits=LIMITS) as at, scene() as beside:
        post = Post(at.box, "oom")
        with SamplingThread(Sampler(at.box, at.workspace, SystemClock(), CEILINGS), post, 0.02):
            bomb = threading.Thread(target=shell, args=(at.box, MEMORY))
            bomb.start()
            done = shell(beside.box, WORK)
            bomb.join()
        assert post.seen.is_set() and post.last is not None and post.last.oom_kills
        assert (done.exit_code, done.stdout.prefix) == (0, b"45\n")
        assert beside.box.usage().oom_kills == 0


def test_the_machine_is_clean_after_a_bomb() -> None:
    def go() -> None:
        with scene(limits=LIMITS) as at:
            group = at.box._guarded.group.directories
            init = at.box.init_pid
            thread = threading.Thread(target=shell, args=(at.box, WILD_FORKS, 2))
            thread.start()
            thread.join()
        assert not any(directory.exists() for directory in group)
        assert not Path(f"/proc/{init}").exists() and not at.top.exists()

    both_users(go)
