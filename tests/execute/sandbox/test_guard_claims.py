"""What really begins is recorded, whatever a process called it; and no honest program is recorded as changed."""

from __future__ import annotations

import os
import threading
from itertools import pairwise
from pathlib import Path

import pytest

from proctor.execute.sandbox.guard_observations import Observation
from proctor.execute.sandbox.interface import Command, CommandResult
from tests.attacks.test_isolation import USERS, as_user
from tests.execute.sandbox.guarded import Seen, guarded
from tests.execute.sandbox.test_guard_life import live
from tests.execute.sandbox.workplace import VARIABLES, open_directory, python, shell

WAIT = 60
CHANGED_START = Path(__file__).with_name("native") / "changed_start.c"
BARE = """
static long call(long number, long one, long two, long three)
{
    long result;
    __asm__ volatile("syscall" : "=a"(result) : "a"(number), "D"(one), "S"(two), "d"(three) : "rcx", "r11", "memory");
    return result;
}
void _start(void)
{
    %s
    call(60, 0, 0, 0);
}
"""
"""A program without a libc."""
OPENS = 'call(2, (long)"/etc/bare", 0101, 0600);'
WAITS = "for (;;) call(34, 0, 0, 0);"
UNMAPS = """
    static char room[8192] __attribute__((aligned(16)));
    long stack = (long)__builtin_frame_address(0) & ~4095L;
    __asm__ volatile("mov %0, %%rsp" : : "r"(room + 4096) : "memory");
    call(11, stack, 65536, 0);
"""
"""Takes its arguments out of memory."""


def build(seen: Seen, name: str, source: str, *options: str) -> None:
    """Compile a program to ``/tmp/NAME``."""
    assert seen.box is not None
    command = ("/usr/bin/gcc", "-O1", "-D_GNU_SOURCE", "-x", "c", "-o", f"/tmp/{name}", *options, "-")
    finished = seen.box.run(Command(command, VARIABLES, stdin=source.encode()))
    assert finished.exit_code == 0, finished.stderr.prefix.decode()


def build_bare(seen: Seen, name: str, body: str) -> None:
    build(seen, name, BARE % body, "-nostdlib", "-static", "-fno-stack-protector")


def prepare(seen: Seen) -> None:
    build(seen, "start", CHANGED_START.read_text("utf-8"), "-pthread")
    build_bare(seen, "bare", OPENS)
    build_bare(seen, "waits", WAITS)
    build_bare(seen, "unmaps", UNMAPS + OPENS)
    assert seen.box is not None
    assert shell(seen.box, "cp /usr/bin/true /tmp/hidden; chmod 111 /tmp/hidden").exit_code == 0
    text = "printf '#!/bin/bash\\n' > /tmp/%s; chmod 755 /tmp/%s"
    assert shell(seen.box, "; ".join(text % (name, name) for name in ("one.sh", "two.sh"))).exit_code == 0


def start_changed(seen: Seen, *words: str) -> list[Observation]:
    """Let a program start, change what it was called once that is recorded, let it go on; what was recorded."""
    before = len(seen.all) if seen.kind("") == [] else 0
    told = len(seen.kind("exec"))
    live(seen).hold_writes()
    live(seen).allow_programs(told + 1)
    results: list[CommandResult] = []
    worker = beside(seen, ("/tmp/start", *words), results)
    seen.wait_for("exec", told + 2)
    attempts = len(seen.kind("attempt"))
    live(seen).release_writes()
    seen.wait_for("attempt", attempts + 1)
    live(seen).allow_programs(None)
    if "/tmp/waits" in words:
        seen.wait_for("attempt", attempts + 2)
        assert seen.box is not None
        seen.box.end_all()
    worker.join(WAIT)
    assert results
    seen.kind("")
    return seen.all[before:]


def beside(seen: Seen, argv: tuple[str, ...], results: list[CommandResult]) -> threading.Thread:
    assert seen.box is not None
    box = seen.box
    worker = threading.Thread(target=lambda: results.append(box.run(Command(argv, VARIABLES))))
    worker.start()
    return worker


TRUE, FALSE = os.path.realpath("/usr/bin/true"), os.path.realpath("/usr/bin/false")
BASH = os.path.realpath("/bin/bash")
ATTACKS = {
    "another program": (("fork", TRUE, FALSE), FALSE, ("name", "argument")),
    "of a vfork": (("vfork", TRUE, FALSE), FALSE, ("name", "argument")),
    "of a thread": (("thread", TRUE, FALSE), FALSE, ("name", "argument")),
    "by execveat": (("execveat", TRUE, FALSE), FALSE, ("name", "argument")),
    "a path in place of a descriptor": (("descriptor", "", FALSE), FALSE, ("name", "argument")),
    "without a libc": (("fork", TRUE, "/tmp/bare"), "/tmp/bare", ("name", "argument")),
    "without a libc and without calls": (("fork", TRUE, "/tmp/waits"), "/tmp/waits", ("name", "argument")),
    "without a libc and without arguments": (("fork", TRUE, "/tmp/unmaps"), "/tmp/unmaps", ()),
    "without the right to read it": (("fork", TRUE, "/tmp/hidden"), "/tmp/hidden", ("name", "argument")),
    "other arguments": (("fork", TRUE, TRUE, "harmless", "harmful"), TRUE, ("name", "harmful")),
    "longer arguments": (("fork", TRUE, TRUE, "harm", "harmful"), TRUE, ("name", "harmful")),
    "a script": (("fork", TRUE, "/tmp/two.sh"), BASH, ("/bin/bash", "/tmp/two.sh", "argument")),
    "a program in place of a script": (("fork", "/tmp/one.sh", FALSE), FALSE, ("name", "argument")),
    "another script": (("fork", "/tmp/one.sh", "/tmp/two.sh"), BASH, ("/bin/bash", "/tmp/two.sh", "argument")),
    "a program for the script's interpreter": (("fork", "/tmp/one.sh", BASH), BASH, ("name", "argument")),
    "itself in a layout that is not random": (
        ("fixed", TRUE, "/tmp/start", "a", "fork"),
        "/tmp/start",
        ("name", "fork"),
    ),
    "itself as it was in a layout that is not random": (
        ("again", TRUE, "/tmp/start"),
        "/tmp/start",
        ("/tmp/start", "again", TRUE, "/tmp/start"),
    ),
}
"""How a program is started and changed, and what is recorded of it in the end."""


@pytest.mark.parametrize("reads", [False, True], ids=["writes", "reads"])
@pytest.mark.parametrize("user", USERS)
def test_a_program_that_starts_under_the_name_of_another_is_recorded(user: str, reads: bool) -> None:
    def action(top: Path) -> None:
        with guarded(top, reads=reads) as seen:
            prepare(seen)
            for name, (words, path, argv) in ATTACKS.items():
                told = start_changed(seen, *words)
                programs = [one for one in told if one.kind == "exec"]
                assert (programs[2].path, programs[2].argv) == (path, argv), name
                assert programs[1].pid == programs[2].pid, name
                assert (programs[1].path, programs[1].argv) != (path, argv), name
                changed = [one for one in told if one.code == "program-changed"]
                assert [(one.pid, one.path) for one in changed] == [(programs[1].pid, path)], name

    as_user(user, action)


def test_an_unchanged_start_that_was_held_is_not_recorded_as_changed() -> None:
    with open_directory() as top, guarded(top) as seen:
        prepare(seen)
        for path in (TRUE, "/tmp/one.sh", "/tmp/bare"):
            told = start_changed(seen, "fork", path, path)
            assert [one.path for one in told if one.kind == "exec"] == ["/tmp/start", path]
            assert [one for one in told if one.code == "program-changed"] == []


HONEST = r"""
import ctypes, os, shutil, subprocess, sys, threading
libc = ctypes.CDLL(None, use_errno=True)
os.chdir('/tmp')
os.mkdir('d')
def text(path, text, mode=0o755):
    with open(path, 'w') as file: file.write(text)
    os.chmod(path, mode)
def run(*words, **more): subprocess.run(words, stdout=-3, stderr=-3, **more)
def child(act):
    pid = os.fork()
    if not pid:
        try: act()
        except OSError: pass
        open('/tmp/after', 'w').close()
        os._exit(0)
    os.waitpid(pid, 0)
def words(*texts): return (ctypes.c_char_p * (len(texts) + 1))(*texts, None)
os.symlink('/usr/bin/true', 'link'); os.symlink('/tmp/link', 'd/link')
run('/tmp/d/link'); run('./link'); run('link', executable='/tmp/link'); run('awk', 'BEGIN {}')
shutil.copy('/usr/bin/true', 'copy'); os.link('copy', 'hard'); run('./hard')
shutil.copy('/usr/bin/true', 'unreadable'); os.chmod('unreadable', 0o111); run('./unreadable')
text('script', '#!/bin/sh\nexit 0\n'); run('./script', 'a', ''); run('d/../script')
text('option', '#! /bin/sh  -e \nexit 0\n'); run('./option', 'b')
text('two', '#!/usr/bin/env -S sh -e\nexit 0'); run('./two')
text('env', '#!/usr/bin/env sh\n'); run('./env'); run('env', 'env', 'true')
text('nested', '#!/tmp/option  x y\t\n'); run('./nested', 'c')
text('here', '#!d/link'); run('/tmp/here')
text('plain', 'exit 0\n'); run('sh', '-c', './plain')
text('broken', '#!/nowhere/sh\n'); child(lambda: os.execv('./broken', ['x']))
text('garbage', '\1\2\3'); child(lambda: os.execv('./garbage', ['x']))
child(lambda: os.execv('/usr/bin/true', ['x' * 200_000]))
child(lambda: os.execv('./script', ['x' * 200_000]))
child(lambda: os.execv('./script', ['x', 'y' * 200_000]))
child(lambda: os.execv('/usr/bin/true', ['x', *['y' * 100_000] * 5]))
child(lambda: os.execv('/usr/bin/true', ['x'] * 40_000))
child(lambda: libc.execve(b'/usr/bin/true', words(), None))
child(lambda: libc.execve(b'/tmp/script', words(), None))
child(lambda: os.execve(os.open('/usr/bin/true', os.O_RDONLY), ['by descriptor'], {}))
def script(flags=0):
    fd = os.open('script', os.O_RDONLY); os.set_inheritable(fd, True)
    return fd
child(lambda: os.execve(script(), ['script by descriptor', 'd'], {}))
def at():
    fd = os.open('d', os.O_PATH); os.set_inheritable(fd, True)
    libc.syscall(322, fd, b'../script', words(b'at', b'e'), None, 0)
child(at)
def memory():
    fd = os.memfd_create('program')
    with open('/usr/bin/true', 'rb') as file: os.write(fd, file.read())
    os.execve(fd, ['memory'], {})
child(memory)
def gone():
    fd = os.open('copy', os.O_RDONLY); os.unlink('copy')
    os.execve(fd, ['gone'], {})
child(gone)
child(lambda: os.execv('/proc/self/exe', ['python3', '-c', '']))
def thread(): threading.Thread(target=lambda: os.execv('/usr/bin/true', ['thread'])).start()
child(lambda: (thread(), threading.Event().wait(60)))
run('sh', '-c', 'exec env sh -c "exec true"')
run('setarch', '-R', 'sh', '-c', 'true; /bin/true; /bin/true; sh -c "exec true"')
def busy():
    with open('hard', 'r+b'):
        try: os.execv('./hard', ['busy'])
        except OSError: pass
        libc.prctl(15, b'title')
child(busy)
os.posix_spawn('/usr/bin/true', ['spawned'], {}); os.wait()
run('/tmp/bare', '1'); run('bare', '2', executable='/tmp/bare')
"""

STARTS_ANOTHER = ("./env", "./two", "./plain", "env", "setarch", "sh")
"""Programs that start another one in their place."""


@pytest.mark.parametrize("user", USERS)
def test_no_honest_program_is_recorded_as_changed_or_twice(user: str) -> None:
    def action(top: Path) -> None:
        with guarded(top) as seen:
            prepare(seen)
            seen.clear()
            assert seen.box is not None
            finished = python(seen.box, HONEST)
            assert finished.exit_code == 0, finished.stderr.prefix.decode()
            assert seen.attempts("program-changed") == []
            started = sorted(seen.kind("exec"), key=lambda one: one.pid)
            twice = [(one.argv[:3], two.path, two.argv[:3]) for one, two in pairwise(started) if one.pid == two.pid]
            twice = [pair for pair in twice if pair[0][0] not in STARTS_ANOTHER]
            assert twice == []

    as_user(user, action)


FAILS = """
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/personality.h>
#include <sys/wait.h>
#include <unistd.h>
int main(int count, char **words)
{
    char *long_words[] = {memset(calloc(1, 200001), 'x', 200000), NULL};
    if (count > 1)
        personality(ADDR_NO_RANDOMIZE);
    execv("/usr/bin/true", long_words);
    memset(words[0], 't', strlen(words[0]));
    if (count == 1) {
        usleep(200000);
        if (!fork()) {
            personality(ADDR_NO_RANDOMIZE);
            _exit(0);
        }
        wait(NULL);
        sleep(1);
    }
    close(open("/tmp/after", O_WRONLY | O_CREAT, 0600));
    return 0;
}
"""
"""Fails to start a program; the layout of memory becomes fixed before that or, without an argument, after it."""

AT_ONCE = """
#include <pthread.h>
#include <sys/wait.h>
#include <unistd.h>
static pthread_barrier_t barrier;
static void *start(void *path)
{
    char *words[] = {path, NULL};
    pthread_barrier_wait(&barrier);
    execv(path, words);
    return NULL;
}
int main(void)
{
    pthread_t thread;
    for (int i = 0; i < 200; i++) {
        if (!fork()) {
            pthread_barrier_init(&barrier, NULL, 2);
            pthread_create(&thread, NULL, start, "/usr/bin/true");
            start("/usr/bin/false");
        }
        wait(NULL);
    }
    return 0;
}
"""
"""Two threads of a process each start a program; one of them succeeds."""


@pytest.mark.parametrize(
    ("source", "words"),
    [(FAILS, ()), (FAILS, ("fixed",)), (AT_ONCE, ())],
    ids=["before a fixed layout", "in a fixed layout", "in one of two threads"],
)
def test_a_start_that_fails_is_not_recorded_as_changed(source: str, words: tuple[str, ...]) -> None:
    with open_directory() as top, guarded(top) as seen:
        build(seen, "fails", source, "-pthread")
        assert seen.box is not None
        assert seen.box.run(Command(("/tmp/fails", *words), VARIABLES)).exit_code == 0
        assert seen.attempts("program-changed") == []
