"""A guard's life: held writes, floods, races, and that nothing gets through when it dies."""

from __future__ import annotations

import os
import signal
import threading
from collections.abc import Callable
from pathlib import Path

import pytest

from proctor.base.errors import InfrastructureFault
from proctor.execute.sandbox.container.backend import ContainerBackend
from proctor.execute.sandbox.guard_observations import Observation
from proctor.execute.sandbox.guard_process import LiveGuard
from proctor.execute.sandbox.interface import CommandResult, Mount
from proctor.execute.sandbox.sandbox_records import start_time
from tests.execute.sandbox.conformance import wait_until
from tests.execute.sandbox.guarded import Seen, guarded
from tests.execute.sandbox.workplace import ORDINARY, as_ordinary_user, open_directory, owned, python, shell

WAIT = 60


def live(seen: Seen) -> LiveGuard:
    assert seen.box is not None and isinstance(seen.box.guard, LiveGuard)
    return seen.box.guard


def as_both(check: Callable[[Path], None]) -> None:
    """Run ``check`` as who we are, and as an ordinary user."""
    with open_directory() as top:
        check(top)
    if os.geteuid() == 0:
        with open_directory() as top:
            os.chown(top, ORDINARY, ORDINARY)
            as_ordinary_user(lambda: check(top))


def beside(seen: Seen, text: str, results: list[CommandResult]) -> threading.Thread:
    """Run shell ``text`` on a thread of its own."""
    assert seen.box is not None
    box = seen.box
    worker = threading.Thread(target=lambda: results.append(shell(box, text)))
    worker.start()
    return worker


def test_the_first_write_waits_until_it_is_released() -> None:
    def check(top: Path) -> None:
        with guarded(top, hold_writes=True) as seen:
            assert seen.box is not None
            assert shell(seen.box, "echo x > /tmp/elsewhere").exit_code == 0
            results: list[CommandResult] = []
            worker = beside(seen, "echo x > /workspace/first && echo y > /workspace/second", results)
            (held,) = seen.wait_for("held")
            assert (held.path, held.syscall) == ("/workspace/first", "openat")
            assert shell(seen.box, "ls /workspace").stdout.prefix == b"" and not results
            live(seen).release_writes()
            worker.join(WAIT)
            assert results[0].exit_code == 0
            live(seen).hold_writes()
            worker = beside(seen, "rm /workspace/first", results)
            seen.wait_for("held", 2)
            live(seen).release_writes()
            worker.join(WAIT)
            assert shell(seen.box, "ls /workspace").stdout.prefix == b"second\n"

    as_both(check)


def test_a_held_rename_or_link_is_decided_about_by_both_its_paths() -> None:
    text = """
import os
for name in ("rename", "link"):
    try: getattr(os, name)("/usr/bin/true", f"/workspace/{name}")
    except OSError: print("refused")
"""

    def check(top: Path) -> None:
        with guarded(top, hold_writes=True) as seen:
            results: list[CommandResult] = []
            worker = beside(seen, f"exec python3 -c '{text}'", results)
            seen.wait_for("held")
            live(seen).release_writes()
            worker.join(WAIT)
            assert results[0].stdout.prefix == b"refused\nrefused\n"
            told = [(one.syscall, one.path) for one in seen.attempts("write-outside")]
            assert told == [("rename", "/usr/bin/true"), ("link", "/usr/bin/true")]

    as_both(check)


def check_held_writes(top: Path, backend: ContainerBackend | None = None) -> None:
    """A held write can be frozen, thawed, released and ended."""
    with guarded(top, backend=backend, hold_writes=True) as seen:
        assert seen.box is not None
        results: list[CommandResult] = []
        worker = beside(seen, "echo x > /workspace/first", results)
        seen.wait_for("held")
        seen.box.freeze()
        assert not (top / "box/upper/workspace/first").exists()
        seen.box.thaw()
        assert not results and not (top / "box/upper/workspace/first").exists()
        live(seen).release_writes()
        worker.join(WAIT)
        assert results[0].exit_code == 0 and (top / "box/upper/workspace/first").exists()
        live(seen).hold_writes()
        worker = beside(seen, "echo x > /workspace/never", results)
        seen.wait_for("held", 2)
        seen.box.freeze()
        seen.box.end_all()
        seen.box.thaw()
        worker.join(WAIT)
        assert results[1].exit_code == -signal.SIGKILL
        assert not (top / "box/upper/workspace/never").exists()


def test_a_held_write_can_be_frozen_thawed_and_ended() -> None:
    as_both(check_held_writes)


def test_what_is_told_may_release_and_freeze() -> None:
    with open_directory() as top:
        ready = threading.Event()

        def tell(observation: Observation) -> None:
            if observation.kind == "held":
                ready.wait(WAIT)
                assert seen.box is not None and seen.box.guard is not None
                seen.box.freeze()
                seen.box.guard.release_writes()
                seen.box.thaw()

        with guarded(top, hold_writes=True, notify=tell) as seen:
            ready.set()
            assert seen.box is not None
            assert shell(seen.box, "echo x > /workspace/first; cat /workspace/first").stdout.prefix == b"x\n"


def test_the_writable_places_can_change() -> None:
    with open_directory() as top, guarded(top, writable=("/tmp",)) as seen:
        assert seen.box is not None
        refused = shell(seen.box, "echo x > /workspace/early")
        assert refused.exit_code != 0 and b"Permission denied" in refused.stderr.prefix
        (told,) = seen.attempts("write-outside")
        assert (told.path, told.errno, told.allowed) == ("/workspace/early", "EACCES", False)
        live(seen).allow_writes(("/tmp", "/workspace"))
        assert shell(seen.box, "echo x > /workspace/early").exit_code == 0
        assert len(seen.attempts("write-outside")) == 1


def check_killed_guard(top: Path, backend: ContainerBackend | None = None) -> None:
    """When the guard is killed, the sandbox ends, and nothing is left of it."""
    with guarded(top, backend=backend) as seen:
        assert seen.box is not None
        init = seen.box.init_pid
        faults: list[str] = []

        def run() -> None:
            assert seen.box is not None
            try:
                shell(seen.box, "touch /tmp/started; sleep 1000")
            except InfrastructureFault as fault:
                faults.append(fault.message)

        worker = threading.Thread(target=run)
        worker.start()
        seen.wait_for("exec", 3)
        os.kill(live(seen).pid, signal.SIGKILL)
        worker.join(WAIT)
        assert faults == ["the guard of the sandbox ended, and the sandbox with it"]
        wait_until(lambda: start_time(init) == "")
        assert not live(seen).alive
        for use in (live(seen).settle, live(seen).release_writes):
            with pytest.raises(InfrastructureFault):
                use()
    assert os.listdir(top / "sessions") == []


def test_a_killed_guard_ends_the_sandbox() -> None:
    as_both(check_killed_guard)


def test_nothing_gets_through_without_a_guard() -> None:
    """A stopped guard holds everything up; when it dies, the call that waited fails and is not done."""
    attempt = (
        "import os, time\nopen('/results/ready', 'w').close()\n"
        "while not os.path.exists('/results/go'): time.sleep(0.01)\n"
        "open('/workspace/unseen', 'w')\n"
    )
    with open_directory() as top:
        results = owned(top / "results")
        with guarded(top, plan={"mounts": (Mount(results, "/results", writable=True),)}) as seen:
            assert seen.box is not None
            box = seen.box
            worker = threading.Thread(target=lambda: _tolerate(lambda: python(box, attempt)))
            worker.start()
            wait_until((results / "ready").exists)
            os.kill(live(seen).pid, signal.SIGSTOP)
            (results / "go").touch()
            os.kill(live(seen).pid, signal.SIGKILL)
            worker.join(WAIT)
            assert not (top / "box/upper/workspace/unseen").exists()
        assert seen.attempts_so_far("write-outside") == []


def _tolerate(action: Callable[[], object]) -> None:
    try:
        action()
    except InfrastructureFault:
        pass


def test_a_failure_to_take_what_is_told_ends_the_sandbox(monkeypatch: pytest.MonkeyPatch) -> None:
    problems: list[object] = []
    monkeypatch.setattr(threading, "excepthook", lambda arguments: problems.append(arguments.exc_value))

    def tell(observation: Observation) -> None:
        raise ValueError("no room for it")

    with open_directory() as top, guarded(top, notify=tell) as seen:
        assert seen.box is not None
        with pytest.raises(InfrastructureFault):
            shell(seen.box, "sleep 1000")
    assert str(problems[0]) == "no room for it"


def test_no_copy_of_the_listener_stays_here() -> None:
    with open_directory() as top, guarded(top) as seen:
        links = [os.readlink(f"/proc/self/fd/{name}") for name in os.listdir("/proc/self/fd") if _is_open(name)]
        assert not any("seccomp" in link for link in links)
        assert seen.box is not None
        top_process = Path(f"/proc/{seen.box.init_pid}/fd")
        wait_until(lambda: not any("seccomp" in os.readlink(link) for link in top_process.iterdir()))


def _is_open(name: str) -> bool:
    return os.path.lexists(f"/proc/self/fd/{name}")


def test_a_guard_ends_with_its_sandbox_and_its_harness() -> None:
    with open_directory() as top:
        with guarded(top) as seen:
            pid = live(seen).pid
        assert start_time(pid) == ""
        reading, writing = os.pipe()
        child = os.fork()
        if child == 0:
            with guarded(top / "other") as seen:
                os.write(writing, str(live(seen).pid).encode())
                os.kill(os.getpid(), signal.SIGKILL)
        os.waitpid(child, 0)
        orphan = int(os.read(reading, 100))
        wait_until(lambda: start_time(orphan) == "")
        os.close(reading)
        os.close(writing)


def test_the_guard_has_no_privileges(tmp_path: Path) -> None:
    with guarded(tmp_path) as seen:
        status = Path(f"/proc/{live(seen).pid}/status").read_text()
        fields = dict(line.split(":\t", 1) for line in status.splitlines() if ":\t" in line)
        assert set(fields["Uid"].split()) != {"0"} and fields["NoNewPrivs"] == "1" and fields["Seccomp"] == "2"
        assert {fields[name] for name in ("CapPrm", "CapEff", "CapInh", "CapAmb")} == {"0" * 16}
        handles = {
            os.readlink(f"/proc/{live(seen).pid}/fd/{name}") for name in os.listdir(f"/proc/{live(seen).pid}/fd")
        }
        assert not any(link.startswith(("/work", "/root", str(tmp_path))) for link in handles)


FLOOD = """
import os
for number in range(100000):
    try:
        os.mkdir(%s)
    except OSError:
        pass
"""


@pytest.mark.parametrize(("what", "most"), [("'/etc/same'", 200), ("'/etc/%d' % number", 40_000)])
def test_a_flood_of_attempts_is_counted(what: str, most: int) -> None:
    with open_directory() as top, guarded(top) as seen:
        assert seen.box is not None
        assert python(seen.box, FLOOD % what, timeout_seconds=300).exit_code == 0
        told = [*seen.kind("attempt"), *seen.kind("more")]
        assert sum(one.count for one in told if one.code == "write-outside") == 100_000
        assert len(told) < most and seen.kind("lost") == []
        memory = Path(f"/proc/{live(seen).pid}/status").read_text().partition("VmRSS:")[2].split()[0]
        assert int(memory) < 32_000


RACE = r"""
#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>
static char path[64] = "/workspace/good";
static volatile int done;
static void *flip(void *nothing) {
    while (!done) { memcpy(path, "/workspace/good", 16); memcpy(path, "/etc/passwd\0\0\0\0", 16); }
    return nothing;
}
int main(void) {
    pthread_t thread;
    pthread_create(&thread, 0, flip, 0);
    int opened = 0;
    for (int i = 0; i < 3000; i++) {
        int fd = open(path, O_WRONLY | O_CREAT | O_APPEND, 0644);
        if (fd >= 0) { opened += write(fd, "x", 1) == 1; close(fd); }
    }
    done = 1;
    pthread_join(thread, 0);
    printf("%d\n", opened);
    return 0;
}
"""


def test_an_argument_that_changes_under_the_guard_changes_nothing_outside() -> None:
    """The guard may be shown one path and the kernel another: what is told is a claim, and the mounts still hold."""
    with open_directory() as top, guarded(top) as seen:
        assert seen.box is not None
        built = python(
            seen.box, f"import subprocess\nopen('r.c', 'w').write({RACE!r})\nsubprocess.run(['gcc', '-pthread', 'r.c'])"
        )
        assert built.exit_code == 0
        before = shell(seen.box, "cat /etc/passwd").stdout.prefix
        assert shell(seen.box, "./a.out").exit_code == 0
        assert shell(seen.box, "cat /etc/passwd").stdout.prefix == before
        assert not any(one.allowed for one in seen.attempts("write-outside"))


LINKS = """
import os
os.chdir('/tmp')
for number in range(39): os.symlink('./' * 2040 + f'l{number + 1}', f'l{number}')
os.symlink('none', 'l39')
os.spawnv(os.P_WAIT, '/bin/bash', ['bash', '-c', 'true', *['l0'] * 30])
"""
DEEP = """
import os
os.chdir('/tmp')
for _ in range(500):
    os.mkdir('d' * 200); os.chdir('d' * 200)
os.spawnv(os.P_WAIT, '/bin/bash', ['bash', '-c', 'true', *['a'] * 2000])
"""
PIECES = """
import ctypes, socket
udp = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
pieces = (ctypes.c_uint64 * 2048)()
message = [0, 0, ctypes.addressof(pieces), 1024, 0, 0, 0, 0]
messages = (ctypes.c_uint64 * 8192)(*message * 1024)
for _ in range(5): ctypes.CDLL(None).syscall(307, udp.fileno(), messages, 1024, 0)
"""
SLOW = {"links to links": LINKS, "directories in directories": DEEP, "messages in many pieces": PIECES}


def cpu_seconds(pid: int) -> float:
    fields = Path(f"/proc/{pid}/stat").read_text("ascii").rsplit(")", 1)[1].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


@pytest.mark.parametrize("way", SLOW)
def test_calls_that_take_long_to_follow_do_not_hold_the_guard_up(way: str) -> None:
    with open_directory() as top, guarded(top) as seen:
        assert seen.box is not None
        before = cpu_seconds(live(seen).pid)
        finished = python(seen.box, SLOW[way])
        assert finished.exit_code == 0, finished.stderr.prefix.decode()
        assert cpu_seconds(live(seen).pid) - before < 2
