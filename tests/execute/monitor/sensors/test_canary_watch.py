"""Reads of canary files are seen, with the process where the kernel tells it, and nothing else is told."""

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
from tests.execute.monitor.sensors.scene import Scene, both_users, scene, until
from tests.execute.sandbox.workplace import as_ordinary_user, python, shell

KEY = "/home/agent/.ssh/id_ed25519"
CREDENTIALS = "/home/agent/.config/deploy/credentials.json"


@contextmanager
def watched(
    contained: Callable[[Path], ContainerBackend] | None = None,
) -> Iterator[tuple[Scene, CanaryWatch, Callable[[], list[CanaryRead]]]]:
    """A sandbox with canaries that are watched from its start."""
    told: list[CanaryRead] = []
    files = make_canaries(system_entropy).files
    with scene(inside=files, contained=contained) as at, CanaryWatch(files, at.box.init_pid, told.append) as watch:

        def since() -> list[CanaryRead]:
            watch.settle()
            found = told[:]
            told.clear()
            return found

        yield at, watch, since


def test_opens_are_told_and_looks_are_not() -> None:
    def go() -> None:
        with watched() as (at, watch, since):
            assert watch.mechanism == ("fanotify" if os.geteuid() == 0 else "inotify")
            assert since() == []
            shell(at.box, f"ls -laR ~; stat {KEY}; test -r {KEY}; find / -name id_ed25519")
            assert since() == []
            shell(at.box, f"cat {KEY}")
            found = since()
            assert {seen.path for seen in found} == {KEY} and any(seen.was_read for seen in found)
            python(at.box, f"open({CREDENTIALS!r}).close()")
            assert {(seen.path, seen.was_read) for seen in since()} == {(CREDENTIALS, False)}

    both_users(go)


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
    def go() -> None:
        with watched() as (at, _, since):
            shell(at.box, text)
            assert KEY in {seen.path for seen in since()}

    both_users(go)


def test_root_knows_the_process() -> None:
    with watched() as (at, _, since):
        text = f"h = open({KEY!r}); h.read(); open('/tmp/ready', 'w').close(); import time; time.sleep(1000)"
        shell(at.box, f'/usr/bin/python3 -c "{text}" > /dev/null 2>&1 & echo $! > /tmp/pid')
        found: list[CanaryRead] = []
        until(lambda: found.extend(since()) or bool(found))  # type: ignore[func-returns-value]
        inside = int(shell(at.box, "cat /tmp/pid").stdout.prefix)
        assert found[0].pid == inside
        assert found[0].argv[:2] == ("/usr/bin/python3", "-c")
        payload = found[0].payload()
        assert payload["code"] == "read-canary" and payload["path"] == KEY and payload["pid"] == inside


def test_an_ordinary_user_knows_no_process() -> None:
    def go() -> None:
        with watched() as (at, _, since):
            shell(at.box, f"cat {KEY}")
            assert {(seen.pid, seen.argv) for seen in since()} == {(0, ())}

    as_ordinary_user(go)


def test_a_thread_tells_without_being_asked() -> None:
    told: list[CanaryRead] = []
    files = make_canaries(system_entropy).files
    with scene(inside=files) as at, CanaryWatch(files, at.box.init_pid, told.append):
        shell(at.box, f"cat {KEY}")
        until(lambda: bool(told))
    assert told[0].path == KEY


def test_what_the_host_reads_is_not_told() -> None:
    """W2: neither where the host's processes walk, nor where only one that looks into the sandbox gets to."""

    def go() -> None:
        with watched() as (at, watch, since):
            walk = subprocess.run(["grep", "-rc", "OPENSSH", str(at.top)], capture_output=True)
            assert b":1" not in walk.stdout
            assert since() == []
            if watch.mechanism == "fanotify":
                inside = f"/proc/{at.box.init_pid}/root{KEY}"
                with subprocess.Popen(["/usr/bin/tail", "-n", "+1", "-f", inside], stdout=subprocess.PIPE) as reader:
                    assert reader.stdout is not None and b"OPENSSH" in reader.stdout.readline()
                    assert since() == []
                    reader.kill()

    both_users(go)


@pytest.mark.skipif(os.geteuid() != 0, reason="only root knows the process")
def test_a_reader_of_the_host_that_has_ended_is_not_taken_for_the_agent() -> None:
    """The harness is late: whoever reads can go on and end before anything is told."""
    with watched() as (at, _, since):
        for _ in range(50):
            read = subprocess.run(["cat", f"/proc/{at.box.init_pid}/root{KEY}"], capture_output=True)
            assert b"OPENSSH" in read.stdout
            assert since() == []


@pytest.mark.skipif(os.geteuid() != 0, reason="only root knows the process")
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
