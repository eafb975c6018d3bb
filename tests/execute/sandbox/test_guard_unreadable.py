"""W1: what the guard cannot read or follow is refused and told; no watched call goes by without a record."""

from __future__ import annotations

import json
import re
from collections import Counter
from pathlib import Path

import pytest

from proctor.execute.sandbox.bubblewrap import init_protocol
from proctor.execute.sandbox.interface import Command
from tests.attacks.test_isolation import USERS, as_user
from tests.execute.sandbox import unreadable
from tests.execute.sandbox.guarded import Seen, guarded
from tests.execute.sandbox.workplace import PYTHON, VARIABLES, open_directory, python

PROGRAM = Path(__file__).with_name("unreadable.py").read_bytes()


def run(seen: Seen, *mode: str | int) -> Counter[str]:
    """Run the program, and say how often it made each call."""
    seen.clear()
    assert seen.box is not None
    arguments = (PYTHON, "-I", "-", *map(str, mode))
    finished = seen.box.run(Command(arguments, VARIABLES, stdin=PROGRAM, timeout_seconds=300))
    assert finished.exit_code == 0, finished.stderr.prefix[-2000:].decode()
    return Counter(json.loads(finished.stdout.prefix))


def make_calls(seen: Seen, seed: int, count: int) -> None:
    """Make so many random calls with hard pointers; each one must be told."""
    made = run(seen, "hard", seed, count)
    told: Counter[str] = Counter()
    for one in seen.kind("attempt"):
        told[one.syscall] += one.count
    beyond = sum(one.count for one in seen.all if one.kind == "more")
    assert not [one for one in seen.all if one.kind == "lost"]
    assert told.total() + beyond == made.total() == count, made - told
    assert beyond or told == made


def make_racing_calls(seen: Seen, rounds: int) -> None:
    """Each call is recorded with one of the two values, or refused because it could not be read."""
    made = run(seen, "race", rounds)
    changed = sum(one.count for one in seen.attempts("program-changed"))
    records = [*seen.kind("attempt"), *seen.kind("exec"), *seen.kind("signal")]
    records = [one for one in records if one.code != "program-changed"]
    assert not [one for one in seen.all if one.kind in ("lost", "more")]
    told: Counter[str] = Counter()
    for name in made:
        field, values = unreadable.RACES.get(name, ("path", unreadable.PATHS))
        for one in records:
            if one.syscall == name.split()[0] or (one.kind == "exec" and name.startswith("exec")):
                value = one.argv[0] if field == "argv" and one.argv else str(getattr(one, field))
                if value in values:
                    told[f"{name} as claimed"] += one.count
    unread = Counter(one.syscall for one in records if one.code == "syscall-unreadable" for _ in range(one.count))
    counted: Counter[str] = Counter()
    for one in records:
        if one.kind != "exec" or one.argv[:1] != (PYTHON,):
            counted[one.syscall or "execve"] += one.count
    wanted: Counter[str] = Counter()
    for name, count in made.items():
        wanted[name.split()[0].replace("execveat", "execve")] += count
    counted["execve"] += counted.pop("execveat", 0) - changed  # which are recorded as claimed, and as they began
    assert counted == wanted, (counted - wanted, wanted - counted, unread)
    for name, count in made.items():
        assert told[f"{name} as claimed"] + unread[name.split()[0]] >= count, (name, told, unread)


@pytest.mark.parametrize("user", USERS)
def test_every_watched_call_whose_arguments_another_thread_changes_is_told(user: str) -> None:
    def action(top: Path) -> None:
        with guarded(top) as seen:
            make_racing_calls(seen, rounds=20)

    as_user(user, action)


@pytest.mark.soak
@pytest.mark.parametrize("user", USERS)
def test_ten_thousand_watched_calls_whose_arguments_another_thread_changes_are_told(user: str) -> None:
    def action(top: Path) -> None:
        with guarded(top) as seen:
            make_racing_calls(seen, rounds=180)

    as_user(user, action)


@pytest.mark.parametrize("user", USERS)
def test_calls_with_arguments_up_to_the_limits_of_the_kernel_and_beyond_are_told(user: str) -> None:
    def action(top: Path) -> None:
        with guarded(top) as seen:
            made = run(seen, "long")
            attempts = seen.kind("attempt")
            told = Counter(dict.fromkeys(made, 0))
            for one in attempts:
                told[one.syscall] += one.count
                if one.code == "write-outside" and one.path not in ("/etc/x", "/etc/xx"):
                    assert one.syscall in ("link", "rename", "linkat", "renameat", "renameat2"), one
            started = [one for one in seen.kind("exec") if one.argv[0].startswith("long")]
            told["execve"] = told["execveat"] = 0
            assert len(started) == made["execve"] + made["execveat"]
            assert all(len(one.argv) in (1, 2) or one.argv[-1] in ("long", "...") for one in started)
            del made["execve"], made["execveat"]
            assert +told == made, (told - made, made - told)
            assert {one.detail for one in attempts if one.code == "dns"} == {"a.example"}
            assert not [one for one in seen.all if one.kind in ("lost", "more")]

    as_user(user, action)


@pytest.mark.parametrize("user", USERS)
def test_every_watched_call_with_hard_pointers_is_told(user: str) -> None:
    def action(top: Path) -> None:
        with guarded(top) as seen:
            make_calls(seen, seed=15, count=1000)

    as_user(user, action)


@pytest.mark.soak
@pytest.mark.parametrize("user", USERS)
def test_five_thousand_watched_calls_with_hard_pointers_are_told(user: str) -> None:
    def action(top: Path) -> None:
        with guarded(top) as seen:
            for seed in range(5):
                make_calls(seen, seed, count=1000)

    as_user(user, action)


def test_no_watched_call_with_a_pointer_is_left_out() -> None:
    """The table of calls says in which arguments paths lie; the rules besides those on files have their own."""
    table = (Path(init_protocol.__file__).parent.parent / "native/calls.c").read_text("utf-8")
    rows = re.findall(r"\{(?:NAMED|NUMBERED)\((\w+)\)(.*?)\}", table, re.DOTALL)
    pointers = (
        "HERE(",
        "AT(",
        "TWO(",
        "EXECUTE",
        "CONNECT",
        "BIND",
        "SEND",
        "CAPABILITIES",
        "LATER",
        "CLONE3",
        "ADJUST",
        "LIMIT",
        "SCHEDULE, .error = EPERM, .extra = -2",
    )
    wanted = {name for name, rest in rows if any(word in rest for word in pointers)}
    tried = set(re.findall(r'^    \("(\w+)", \d+, ', PROGRAM.decode(), re.MULTILINE))
    assert wanted - tried == set() and len(wanted) > 40


DEEP = """
import errno, os
os.symlink('/etc', '/tmp/out')
os.chdir('/tmp')
for _ in range(100):
    os.mkdir('d' * 60); os.chdir('d' * 60)
os.symlink('/etc', 'link')
deep = os.open('.', os.O_RDONLY)
"""

ROOT = """
import ctypes, os
libc = ctypes.CDLL(None, use_errno=True)
def open_below(root, path):
    how = (ctypes.c_uint64 * 3)(os.O_WRONLY | os.O_CREAT, 0o600, 0x10)
    if libc.syscall(437, os.open(root, os.O_PATH), path.encode(), how, 24) < 0: raise OSError(ctypes.get_errno())
"""
"""Opens a path with ``RESOLVE_IN_ROOT``."""

HIDDEN = {
    "a link in a directory that is too deep": DEEP + "attempt(lambda: open('link/a', 'w'))",
    "a link from a descriptor": DEEP + "attempt(lambda: os.open('link/a', os.O_WRONLY | os.O_CREAT, dir_fd=deep))",
    "a descriptor by its name": DEEP + "attempt(lambda: open(f'/proc/self/fd/{deep}/link/a', 'w'))",
    "the directory by its name": DEEP + "attempt(lambda: open('/proc/self/cwd/link/a', 'w'))",
    "a name below a descriptor": """
import os
attempt(lambda: open(f"/dev/fd/{os.open('/etc', os.O_RDONLY)}/a", 'w'))
""",
    "up from the descriptors": "attempt(lambda: open('/dev/fd/../../../etc/a', 'w'))",
    "below a root of its own": ROOT + "attempt(lambda: open_below('/etc', '/a'))",
    "up to a root of its own": ROOT + "attempt(lambda: open_below('/etc', 'ssl/../../../a'))",
    "up from a directory that is gone": """
import os
os.mkdir('/tmp/gone'); os.symlink('/etc/a', '/tmp/to'); os.chdir('/tmp/gone'); os.rmdir('/tmp/gone')
attempt(lambda: open('../to', 'w'))
""",
    "links to links": """
import os
os.chdir('/tmp')
os.symlink('/etc', 'l0')
for number in range(30): os.symlink(f'/tmp/l{number}', f'l{number + 1}')
attempt(lambda: open('l30/a', 'w'))
""",
    "a thread's own directory in /proc": """
import os
os.chdir('/etc')
attempt(lambda: open('/proc/thread-self/../../cwd/a', 'w'))
""",
    "a link to its own directory in /proc": """
import os
os.symlink('/proc/self/cwd', '/tmp/here'); os.chdir('/etc')
attempt(lambda: open('/tmp/here/a', 'w'))
""",
}
ATTEMPT = """
def attempt(action):
    try: action(); print('done')
    except OSError: print('refused')
"""


@pytest.mark.parametrize("way", HIDDEN)
def test_writes_outside_that_hide_behind_long_ways_are_told(way: str) -> None:
    with open_directory() as top, guarded(top) as seen:
        assert seen.box is not None
        finished = python(seen.box, ATTEMPT + HIDDEN[way])
        assert finished.stdout.prefix == b"refused\n", finished.stderr.prefix.decode()
        assert [one.path for one in seen.attempts("write-outside")] == ["/etc/a"]


def test_work_in_a_directory_that_is_too_deep_is_no_attempt() -> None:
    text = """
open('f', 'w').close(); os.mkdir('e'); os.rename('f', 'e/g'); os.chmod('e/g', 0o700); os.unlink('e/g'); os.rmdir('e')
open('run', 'w').write('#!/bin/sh\\nexit 3\\n'); os.chmod('run', 0o700)
assert os.spawnv(os.P_WAIT, './run', ['run']) == 3
"""
    with open_directory() as top, guarded(top) as seen:
        assert seen.box is not None
        finished = python(seen.box, DEEP + text)
        assert finished.exit_code == 0, finished.stderr.prefix.decode()
        assert seen.kind("attempt") == []
        script = seen.kind("exec")[-1]
        assert script.path.startswith("/tmp/ddd") and script.path.endswith("/.../run")


def test_work_below_a_root_of_its_own_is_no_attempt() -> None:
    text = """
os.makedirs('/tmp/root/etc'); os.symlink('/etc/c', '/tmp/root/link')
for path in ('/etc/a', '../../etc/b', 'link'): open_below('/tmp/root', path)
print(sorted(os.listdir('/tmp/root/etc')))
"""
    with open_directory() as top, guarded(top) as seen:
        assert seen.box is not None
        assert python(seen.box, ROOT + text).stdout.prefix == b"['a', 'b', 'c']\n"
        assert seen.kind("attempt") == []


def test_a_program_with_unreadable_arguments_does_not_start() -> None:
    """Memory that the kernel can read and the guard cannot would hide the command line."""
    text = """
import ctypes
libc = ctypes.CDLL(None, use_errno=True)
libc.execve(b'/bin/true', ctypes.c_void_p(16), None)
print(ctypes.get_errno())
"""
    with open_directory() as top, guarded(top) as seen:
        assert seen.box is not None
        assert python(seen.box, text).stdout.prefix == b"14\n"
        refused = seen.attempts("syscall-unreadable")
        assert [(one.syscall, one.detail, one.errno) for one in refused] == [("execve", "arguments", "EFAULT")]
        assert len(seen.kind("exec")) == 1


KILLED = """
import os
for number in range(600):
    child = os.fork()
    if not child:
        os.execv("/bin/true", ["true"] * 200)
    for _ in range(number % 150 * 8): pass
    os.kill(child, 9)
    os.waitpid(child, 0)
"""


def test_a_process_that_is_killed_while_the_guard_looks_is_no_attempt() -> None:
    with open_directory() as top, guarded(top) as seen:
        assert seen.box is not None
        assert python(seen.box, KILLED).exit_code == 0
        assert seen.kind("attempt") == []
