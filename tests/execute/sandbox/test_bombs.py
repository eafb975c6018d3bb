"""Programs that use up everything: each is stopped by a limit, and the sandbox stays usable or says why not."""

from __future__ import annotations

import errno
import signal
from collections.abc import Iterator

import pytest

from proctor.execute.sandbox.bubblewrap.backend import BubblewrapBackend
from proctor.execute.sandbox.cgroup import Place
from proctor.execute.sandbox.interface import Command, Limits, Sandbox
from tests.execute.sandbox.workplace import PYTHON, VARIABLES, open_directory, opened, python, shell

MIB = 1 << 20
SMALL = Limits(memory_bytes=192 * MIB, processes=40, file_bytes=8 * MIB, tmp_bytes=16 * MIB, open_files=128)


@pytest.fixture(scope="module")
def small() -> Iterator[Sandbox]:
    """A sandbox with small limits."""
    with open_directory() as top, opened(BubblewrapBackend(top / "sessions"), top, SMALL) as sandbox:
        yield sandbox
        assert shell(sandbox, "echo alive").stdout.prefix == b"alive\n"


@pytest.fixture(scope="module")
def without_groups() -> Iterator[Sandbox]:
    """The same without control groups, as for most ordinary users."""
    with open_directory() as top, opened(BubblewrapBackend(top / "sessions", place=Place()), top, SMALL) as sandbox:
        yield sandbox
        assert shell(sandbox, "echo alive").stdout.prefix == b"alive\n"


FORKS = """
import os, time
made = 0
for _ in range(1000):
    try:
        if os.fork() == 0:
            time.sleep(1000)
            os._exit(0)
        made += 1
    except BlockingIOError:
        break
print(made)
"""


def test_a_fork_bomb(small: Sandbox) -> None:
    made = int(python(small, FORKS).stdout.prefix)
    assert 30 <= made <= 40
    usage = small.usage()
    assert usage.processes is not None and usage.processes >= made
    small.end_all()
    assert small.usage().processes == 0


def test_a_full_house_has_no_room_for_another_command(small: Sandbox) -> None:
    text = "while :; do sleep 1000 >/dev/null 2>&1 & done"
    finished = shell(small, text)
    assert finished.exit_code != 0
    refused = small.run(Command(("/bin/true",), VARIABLES))
    assert refused.started or "no room" in refused.problem
    small.end_all()
    assert shell(small, "true").exit_code == 0


def test_a_fork_bomb_that_never_stops(small: Sandbox) -> None:
    finished = shell(small, "f() { f | f & f; }; f", timeout_seconds=3)
    small.end_all()
    assert finished.started
    assert shell(small, "echo calm").stdout.prefix == b"calm\n"


def test_a_fork_bomb_without_control_groups(without_groups: Sandbox) -> None:
    made = int(python(without_groups, FORKS).stdout.prefix)
    assert made <= 40
    without_groups.end_all()


def test_a_memory_bomb(small: Sandbox) -> None:
    finished = python(small, "b = []\nwhile True: b.append(bytearray(1 << 20))")
    assert finished.exit_code in (-signal.SIGKILL, 1)
    usage = small.usage()
    assert usage.oom_kills and usage.memory_peak_bytes and usage.memory_peak_bytes <= SMALL.memory_bytes


def test_a_memory_bomb_without_control_groups(without_groups: Sandbox) -> None:
    finished = python(without_groups, "b = []\nwhile True: b.append(bytearray(1 << 20))")
    assert finished.exit_code == 1 and b"MemoryError" in finished.stderr.prefix


def test_memory_that_outlives_its_process_ends_the_sandbox_and_is_told() -> None:
    """Shared memory of System V stays when its maker is gone; pid 1 is then the last one that can be killed."""
    segment = (
        "import ctypes\nl = ctypes.CDLL(None); l.shmat.restype = ctypes.c_void_p\n"
        "while True:\n i = l.shmget(0, 8 << 20, 0o1600); a = l.shmat(i, None, 0)\n ctypes.memset(a, 1, 8 << 20)"
    )
    with open_directory() as top, opened(BubblewrapBackend(top / "sessions"), top, SMALL) as sandbox:
        first = python(sandbox, segment)
        assert first.exit_code == -signal.SIGKILL and first.started


@pytest.mark.parametrize("directory", ["/tmp", "/dev/shm", "/home/agent"])
def test_a_bomb_in_a_memory_file_system(small: Sandbox, directory: str) -> None:
    finished = shell(
        small, f"cd {directory} && for i in 1 2 3 4 5; do head -c 8000000 /dev/zero > f$i || break; done; rm f*"
    )
    assert b"No space left" in finished.stderr.prefix


@pytest.mark.parametrize("kind", ["small", "without_groups"])
def test_a_file_that_grows_without_end(kind: str, request: pytest.FixtureRequest) -> None:
    sandbox = request.getfixturevalue(kind)
    finished = shell(sandbox, "head -c 20000000 /dev/zero > /workspace/big; stat -c %s /workspace/big")
    assert finished.stdout.prefix == b"%d\n" % SMALL.file_bytes


def test_a_sparse_bomb(small: Sandbox) -> None:
    program = """
import os, signal
signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
try:
    os.truncate(os.open("/workspace/s", os.O_CREAT | os.O_RDWR), 1 << 50)
except OSError as error:
    print(error.errno)
"""
    assert python(small, program).stdout.prefix == b"%d\n" % errno.EFBIG


def test_open_files_without_end(small: Sandbox) -> None:
    program = "import os\nn = 0\ntry:\n while True: os.dup(0); n += 1\nexcept OSError as e: print(e.errno, n < 128)"
    assert python(small, program).stdout.prefix == b"%d True\n" % errno.EMFILE


def test_a_core_dump(small: Sandbox) -> None:
    assert shell(small, "ulimit -c; ulimit -Hc").stdout.prefix == b"0\n0\n"


def test_giant_output_on_both_streams(small: Sandbox) -> None:
    finished = shell(small, "head -c 300000000 /dev/zero & head -c 300000000 /dev/zero >&2; wait", output_bytes=10)
    assert (finished.stdout.total_bytes, finished.stderr.total_bytes) == (300_000_000, 300_000_000)
    assert finished.stdout.sha256 == finished.stderr.sha256 and len(finished.stdout.prefix) == 10


def test_output_without_end_stops_at_the_timeout(small: Sandbox) -> None:
    finished = shell(small, "yes", timeout_seconds=3, output_bytes=4)
    assert finished.timed_out and finished.stdout.prefix == b"y\ny\n"
    assert finished.stdout.total_bytes > 4


def test_a_busy_machine_does_not_stop_the_clock(small: Sandbox) -> None:
    spin = "import os\nfor _ in range(20):\n if os.fork() == 0: break\nwhile True: pass"
    finished = small.run(Command((PYTHON, "-c", spin), VARIABLES, timeout_seconds=1))
    assert finished.timed_out
    assert int(shell(small, "ls -d /proc/[0-9]* | wc -l").stdout.prefix) <= 5
