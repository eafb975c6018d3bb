"""Which program another one comes from, however many forks lie between them and whoever of them has ended."""

from __future__ import annotations

import os
from collections.abc import Iterator

import pytest

from tests.execute.sandbox.guarded import Seen, guarded
from tests.execute.sandbox.workplace import ORDINARY, as_ordinary_user, open_directory, python, shell

FORKS = """
import os, signal, subprocess

def fork(act):
    pid = os.fork()
    if not pid:
        act()
        os._exit(0)
    return pid

def ended(pid):
    os.waitpid(pid, 0)

def run(name):
    subprocess.run(["/bin/echo", name])

def orphan(name):
    ours, theirs = os.pipe()
    def wait():
        os.close(theirs)
        os.read(ours, 1)  # until every parent has ended
        run(name)
        os.write(done, b"x")
    ended(fork(lambda: fork(wait)))
    os.close(theirs)
    os.close(ours)

heard, done = os.pipe()
"""
DEEP = "ended(fork(lambda: ended(fork(lambda: ended(fork(lambda: run('deep')))))))"
UNSEEN = "orphan('unseen')\nos.read(heard, 1)"
BEFORE = """
ours, theirs = os.pipe()
def call():
    def inner():
        os.read(ours, 1)
        run("older")
        os.write(done, b"x")
    fork(inner)
    os.execv("/bin/sleep", ["sleep", "1000"])
pid = fork(call)
while open(f"/proc/{pid}/comm").read() != "sleep\\n":
    os.sched_yield()
os.write(theirs, b"x")
os.read(heard, 1)
os.kill(pid, signal.SIGKILL)
"""


@pytest.fixture(scope="module")
def shared() -> Iterator[Seen]:
    with open_directory() as top, guarded(top) as seen:
        yield seen


def origins(seen: Seen, text: str) -> dict[str, str]:
    """By the last argument of each program: that of the program it comes from, or why there is none."""
    seen.clear()
    assert seen.box is not None
    finished = python(seen.box, FORKS + text)
    assert finished.exit_code == 0, finished.stderr.prefix.decode()
    programs = seen.kind("exec")
    names = {one.pid: one.argv[-1] for one in programs[1:]} | {programs[0].pid: "agent", 0: "nobody"}
    return {one.argv[-1]: names[one.origin] for one in programs[1:]}


def test_forks_that_start_nothing_are_passed_over(shared: Seen) -> None:
    assert origins(shared, DEEP) == {"deep": "agent"}


def test_a_fork_without_living_ancestors_still_comes_from_its_program(shared: Seen) -> None:
    assert origins(shared, UNSEEN) == {"unseen": "agent"}


def test_a_fork_from_before_a_program_does_not_come_from_it(shared: Seen) -> None:
    assert origins(shared, BEFORE) == {"1000": "agent", "older": "agent"}


def test_a_fork_that_was_seen_stays_known_after_the_end_of_what_it_comes_from(shared: Seen) -> None:
    shared.clear()
    assert shared.box is not None
    loop = "(/bin/echo attached; echo x > seen; read x < gate; /bin/echo left; echo x > done) & read y < seen"
    script = f"mkfifo gate seen done; sh -c '{loop}'; echo x > gate; read z < done"
    assert shell(shared.box, script).exit_code == 0
    by_name = {one.argv[-1]: one for one in shared.kind("exec")}
    assert by_name["left"].parent == by_name["attached"].parent != by_name["left"].origin
    assert by_name["left"].origin == by_name["attached"].origin
    (inner,) = [one for one in shared.kind("exec") if one.pid == by_name["left"].origin]
    assert inner.argv[0] == "sh" and inner.pid in {one.pid for one in shared.kind("exit")}


def test_an_ordinary_users_guard_tells_the_same() -> None:
    def inside() -> None:
        with guarded(top) as seen:
            assert origins(seen, DEEP) == {"deep": "agent"}
            assert origins(seen, BEFORE) == {"1000": "agent", "older": "agent"}

    with open_directory() as top:
        os.chown(top, ORDINARY, ORDINARY)
        as_ordinary_user(inside)


def test_what_shows_whose_fork_a_process_is_cannot_be_changed(shared: Seen) -> None:
    shared.clear()
    assert shared.box is not None
    text = "import ctypes; libc = ctypes.CDLL(None, use_errno=True); print(libc.prctl(35, 5, 4096, 0, 0))"
    assert python(shared.box, text).stdout.prefix == b"-1\n"
    (attempt,) = shared.kind("attempt")
    assert (attempt.code, attempt.syscall, attempt.errno) == ("syscall-trace", "prctl", "EPERM")
