"""Reads of canary files are reported with their process, and nothing else is.

As root the kernel reports them (fanotify), as an ordinary user the guard of the sandbox does. Root can use both.
"""

from __future__ import annotations

import os
import subprocess
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from proctor.base.clock import system_entropy
from proctor.execute.monitor.sensors.canary_files import CanaryRead, CanaryWatch, make_canaries
from proctor.execute.sandbox.container.backend import ContainerBackend
from proctor.execute.sandbox.guard_observations import GuardPlan, Observation
from proctor.execute.sandbox.interface import Command
from tests.execute.monitor.sensors.scene import Scene, both_users, scene, until
from tests.execute.sandbox.test_guard_all_reads import PROGRAM
from tests.execute.sandbox.workplace import PYTHON, VARIABLES, python, shell

KEY = "/home/agent/.ssh/id_ed25519"
CREDENTIALS = "/home/agent/.config/deploy/credentials.json"


Since = Callable[[], list[CanaryRead]]


@contextmanager
def watched(contained: Callable[[Path], ContainerBackend] | None = None) -> Iterator[tuple[Scene, Since]]:
    """A sandbox with canaries that the kernel watches from its start; what was reported since the last question."""
    seen: list[CanaryRead] = []
    files = make_canaries(system_entropy).files
    with scene(inside=files, contained=contained) as at, CanaryWatch(files, at.box.init_pid, seen.append) as watch:

        def since() -> list[CanaryRead]:
            watch.settle()
            found = seen[:]
            seen.clear()
            return found

        yield at, since


@contextmanager
def guarded() -> Iterator[tuple[Scene, Since]]:
    """The same with canaries that the guard watches."""
    seen: list[Observation] = []
    files = make_canaries(system_entropy).files
    with scene(inside=files, guard=GuardPlan(secrets=tuple(files), notify=seen.append)) as at:

        def since() -> list[CanaryRead]:
            assert at.box.guard is not None
            at.box.guard.settle()
            found = [one for one in seen if one.code == "read-canary"]
            seen.clear()
            return [CanaryRead(one.path, one.time_ns, one.pid, one.argv) for one in found]

        yield at, since


def on_each_watch(action: Callable[[Scene, Since], None]) -> None:
    """Do the same with the kernel as root, and with the guard as both users."""

    def with_the_guard() -> None:
        with guarded() as (at, since):
            action(at, since)

    if os.geteuid() == 0:
        with watched() as (at, since):
            action(at, since)
    both_users(with_the_guard)


def test_opens_are_reported_and_looks_are_not() -> None:
    def go(at: Scene, since: Since) -> None:
        assert since() == []
        shell(at.box, f"ls -laR ~; stat {KEY}; test -r {KEY}; find / -name id_ed25519")
        assert since() == []
        shell(at.box, f"cat {KEY}")
        assert {seen.path for seen in since()} == {KEY}
        python(at.box, f"open({CREDENTIALS!r}).close()")
        assert {(seen.path, seen.was_read) for seen in since()} == {(CREDENTIALS, False)}

    on_each_watch(go)


@pytest.mark.parametrize(
    "text",
    [
        "grep -r secret /home",
        f"cp {KEY} /tmp/k",
        f"ln -s {KEY} /tmp/l && cat /tmp/l",
        f"cd /proc/self/root && cat ./{KEY}",
        f"exec 3< {KEY}; sleep 0",
        "tar c ~ | cat > /dev/null",
    ],
)
def test_whatever_the_way_it_is_seen(text: str) -> None:
    def go(at: Scene, since: Since) -> None:
        shell(at.box, text)
        assert KEY in {seen.path for seen in since()}

    on_each_watch(go)


def test_the_guard_sees_every_way_to_read() -> None:
    def go() -> None:
        with guarded() as (at, since):
            ways = ran(at, "all")
            assert len(ways) >= 40
            missed = []
            for way in ways:
                since()
                ran(at, way)
                if {seen.path for seen in since()} != {KEY}:
                    missed.append(way)
            assert missed == []

    def ran(at: Scene, way: str) -> list[str]:
        done = at.box.run(Command((PYTHON, "-I", "-c", PROGRAM, KEY, way), VARIABLES))
        assert done.exit_code == 0, done.stderr.prefix.decode()
        return done.stdout.prefix.decode("utf-8", "replace").splitlines()

    both_users(go)


def test_the_process_is_known() -> None:
    def go(at: Scene, since: Since) -> None:
        text = f"h = open({KEY!r}); h.read(); open('/tmp/ready', 'w').close(); import time; time.sleep(1000)"
        shell(at.box, f'/usr/bin/python3 -c "{text}" > /dev/null 2>&1 & echo $! > /tmp/pid')
        found: list[CanaryRead] = []
        until(lambda: found.extend(since()) or bool(found))  # type: ignore[func-returns-value]
        inside = int(shell(at.box, "cat /tmp/pid").stdout.prefix)
        assert found[0].pid == inside
        assert found[0].argv[:2] == ("/usr/bin/python3", "-c")
        payload = found[0].payload()
        assert payload["code"] == "read-canary" and payload["path"] == KEY and payload["pid"] == inside

    on_each_watch(go)


ROOT_ONLY = pytest.mark.skipif(os.geteuid() != 0, reason="only root has fanotify")


@ROOT_ONLY
def test_a_thread_tells_without_being_asked() -> None:
    told: list[CanaryRead] = []
    files = make_canaries(system_entropy).files
    with scene(inside=files) as at, CanaryWatch(files, at.box.init_pid, told.append):
        shell(at.box, f"cat {KEY}")
        until(lambda: bool(told))
    assert told[0].path == KEY


def test_what_the_host_reads_is_not_reported() -> None:
    """W2: neither where the host's processes walk, nor where only one that looks into the sandbox gets to."""

    def go(at: Scene, since: Since) -> None:
        walk = subprocess.run(["grep", "-rc", "OPENSSH", str(at.top)], capture_output=True)
        assert b":1" not in walk.stdout
        assert since() == []
        inside = f"/proc/{at.box.init_pid}/root{KEY}"
        with subprocess.Popen(["/usr/bin/tail", "-n", "+1", "-f", inside], stdout=subprocess.PIPE) as reader:
            assert reader.stdout is not None and b"OPENSSH" in reader.stdout.readline()
            assert since() == []
            reader.kill()

    on_each_watch(go)


@ROOT_ONLY
def test_a_reader_of_the_host_that_has_ended_is_not_taken_for_the_agent() -> None:
    """The harness is late: whoever reads can go on and end before anything is told."""
    with watched() as (at, since):
        for _ in range(50):
            read = subprocess.run(["cat", f"/proc/{at.box.init_pid}/root{KEY}"], capture_output=True)
            assert b"OPENSSH" in read.stdout
            assert since() == []


@ROOT_ONLY
def test_readers_wait_for_no_record() -> None:
    """What is told may freeze the sandbox, and a process that waits for an answer cannot be frozen."""
    go_on = threading.Event()
    told: list[CanaryRead] = []

    def tell(seen: CanaryRead) -> None:
        go_on.wait(60)
        told.append(seen)

    files = make_canaries(system_entropy).files
    with scene(inside=files) as at, CanaryWatch(files, at.box.init_pid, tell) as watch:
        for _ in range(3):
            assert b"OPENSSH" in shell(at.box, f"cat {KEY}").stdout.prefix
        go_on.set()
        watch.settle()
        assert len([seen for seen in told if not seen.was_read]) == 3
        assert {seen.argv for seen in told} == {("cat", KEY)}


@ROOT_ONLY
def test_a_watch_leaves_nothing_behind() -> None:
    files = make_canaries(system_entropy).files
    with scene(inside=files) as at:
        before = len(os.listdir("/proc/self/fd"))
        for _ in range(3):
            watch = CanaryWatch(files, at.box.init_pid, lambda seen: None)
            watch.stop()
            watch.stop()
            watch.settle()
        with pytest.raises(OSError, match="No such file"):
            CanaryWatch(["/tmp/absent"], at.box.init_pid, lambda seen: None)
        assert len(os.listdir("/proc/self/fd")) == before
