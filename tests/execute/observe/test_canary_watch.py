"""Reads of canary files are seen, with the process where the kernel tells it, and nothing else is told."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from proctor.base.clock import system_entropy
from proctor.execute.observe.canaries import make_canaries, mounts
from proctor.execute.observe.canary_watch import CanaryRead, CanaryWatch
from proctor.execute.sandbox.interface import Mount
from tests.execute.observe.scene import Scene, both_users, scene, until
from tests.execute.sandbox.workplace import as_ordinary_user, python, shell

KEY = "/home/agent/.ssh/id_ed25519"
CREDENTIALS = "/home/agent/.config/deploy/credentials.json"


@contextmanager
def watched() -> Iterator[tuple[Scene, CanaryWatch, Callable[[], list[CanaryRead]]]]:
    """A sandbox with canaries that are watched from before it opens."""
    told: list[CanaryRead] = []
    watches: list[CanaryWatch] = []

    def plant(top: Path) -> tuple[Mount, ...]:
        (top / "planted").mkdir()
        planted = make_canaries(system_entropy).plant(top / "planted")
        watches.append(CanaryWatch(planted, told.append))
        return mounts(planted)

    def since() -> list[CanaryRead]:
        watches[0].settle()
        found = told[:]
        told.clear()
        return found

    try:
        with scene(mounts=plant) as at:
            yield at, watches[0], since
    finally:
        for watch in watches:
            watch.stop()


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


def test_a_thread_tells_without_being_asked(tmp_path: Path) -> None:
    planted = make_canaries(system_entropy).plant(tmp_path)
    told: list[CanaryRead] = []
    with CanaryWatch(planted, told.append):
        subprocess.run(["/bin/cat", planted[KEY]], stdout=subprocess.DEVNULL, check=True)
        until(lambda: bool(told))
    assert told[0].path == KEY


def test_a_watch_leaves_nothing_behind(tmp_path: Path) -> None:
    planted = make_canaries(system_entropy).plant(tmp_path)
    before = len(os.listdir("/proc/self/fd"))
    for _ in range(3):
        watch = CanaryWatch(planted, lambda seen: None)
        watch.stop()
        watch.stop()
        watch.settle()
    with pytest.raises(OSError, match="No such file"):
        CanaryWatch({"/x": tmp_path / "absent"}, lambda seen: None)
    assert len(os.listdir("/proc/self/fd")) == before
