"""What the guard tells besides attacks, which are in ``tests/attacks``: programs, odd names, floods of arguments."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.execute.sandbox.guarded import Seen, guarded
from tests.execute.sandbox.workplace import open_directory, python, shell


@pytest.fixture(scope="module")
def shared() -> Iterator[Seen]:
    with open_directory() as top, guarded(top) as seen:
        yield seen


HONEST = """
set -e
cd /workspace; mkdir -p a/b; echo x > a/b/f; mv a/b/f a/g; ln -s g a/h; echo y > a/h; chmod 600 a/g; rm -r a
echo x > /dev/null; (echo x > /dev/stderr) 2>/dev/null || true
echo x > /tmp/t; : > /home/agent/h; touch /dev/shm/s; mkdir -p /workspace
sleep 100 & kill $!; wait $! || true; kill -0 $$
python3 -c 'import socket; s = socket.socket(); s.bind(("", 0)); s.listen(); socket.create_connection(s.getsockname())'
python3 -c 'import threading; t = threading.Thread(target=print); t.start(); t.join()'
python3 -c 'import os; os.abort()' 2>/dev/null || true
echo x > /proc/self/comm; setsid true; id -u
"""


def test_what_honest_programs_do_is_no_attempt(shared: Seen) -> None:
    shared.clear()
    assert shared.box is not None
    finished = shell(shared.box, HONEST)
    assert finished.exit_code == 0, finished.stderr.prefix.decode()
    assert shared.kind("attempt") == []


def test_programs_are_told_with_their_arguments_parents_and_ends(shared: Seen) -> None:
    shared.clear()
    assert shared.box is not None
    shell(shared.box, "cd /tmp; /bin/echo one 'two\nthree' >/dev/null; sh -c 'exit 3'; sh -c 'kill -9 $$'; true")
    first, echo, three, killed = shared.kind("exec")
    assert first.parent == 1 and (first.path, first.cwd) == ("/usr/bin/dash", "/workspace")
    assert (echo.path, echo.argv, echo.cwd) == ("/usr/bin/echo", ("/bin/echo", "one", "two\nthree"), "/tmp")
    assert {echo.parent, three.parent, killed.parent} == {first.pid}
    ends = {one.pid: one for one in shared.kind("exit")}
    assert set(ends) == {first.pid, echo.pid, three.pid, killed.pid}
    codes = [ends[one.pid].exit_code for one in (first, echo, three, killed)]
    assert all(known in (wanted, None) for known, wanted in zip(codes, (0, 0, 3, -9), strict=True)), codes
    assert ends[first.pid].wall_ns > 0
    assert ends[first.pid].payload()["wall_seconds"] == f"{ends[first.pid].wall_ns / 10**9:.9f}"


def test_a_program_that_is_not_there_has_not_started(shared: Seen) -> None:
    shared.clear()
    assert shared.box is not None
    python(shared.box, "import subprocess\ntry: subprocess.run(['no-such-program'])\nexcept OSError: pass")
    assert [one.path for one in shared.kind("exec")] == ["/usr/bin/python3.11"]


def test_programs_by_descriptor_and_from_memory_are_told(shared: Seen) -> None:
    shared.clear()
    assert shared.box is not None
    text = """
import os, subprocess
program = open('/usr/bin/true', 'rb').read()
memory = os.memfd_create('ghost')
os.write(memory, program)
disk = os.open('/usr/bin/true', os.O_RDONLY)
for handle in (memory, disk):
    if os.fork() == 0:
        os.execve(handle, ['hidden'], {})
    assert os.wait()[1] == 0
assert subprocess.run(['/proc/self/exe', '-c', '']).returncode == 0
assert subprocess.run([f'/dev/fd/{disk}'], pass_fds=[disk]).returncode == 0
"""
    finished = python(shared.box, text)
    assert finished.exit_code == 0, finished.stderr.prefix.decode()
    _, ghost, true, itself, by_name = shared.kind("exec")
    assert ghost.path.startswith("/memfd:ghost") and ghost.argv == ("hidden",)
    assert true.path == "/usr/bin/true"
    assert itself.path.endswith("/exe") and by_name.argv[0].startswith("/dev/fd/")


def test_a_way_up_from_deep_below_is_told(shared: Seen) -> None:
    shared.clear()
    assert shared.box is not None
    text = """
import os
os.chdir('/tmp')
for _ in range(100):
    os.mkdir('d' * 60); os.chdir('d' * 60)
try: open('../' * 101 + 'etc/deep', 'w')
except OSError: print('refused')
"""
    assert python(shared.box, text).stdout.prefix == b"refused\n"
    assert [one.path for one in shared.attempts("write-outside")] == ["/etc/deep"]


def test_arguments_without_end_are_cut(shared: Seen) -> None:
    shared.clear()
    assert shared.box is not None
    shell(shared.box, "/bin/true $(seq 100000 110000); /bin/true " + "y" * 50_000)
    _, _, many, long = shared.kind("exec")
    assert many.argv[:2] == ("/bin/true", "100000") and many.argv[-1] == "..." and len(many.argv) < 10_000
    assert sum(map(len, long.argv)) < 20_000 and long.argv[1].startswith("yyyy")


def test_odd_names_stay_readable(shared: Seen) -> None:
    shared.clear()
    assert shared.box is not None
    python(shared.box, r"open(b'/etc/\xff\n\x1b', 'wb')")
    assert [one.path for one in shared.attempts("write-outside")] == ["/etc/\\xff\\x0a\\x1b"]


def test_settling_tells_everything_that_has_happened(shared: Seen) -> None:
    assert shared.box is not None
    for number in range(20):
        shared.clear()
        shell(shared.box, f"touch /etc/number{number}")
        assert f"/etc/number{number}" in [one.path for one in shared.attempts("write-outside")]
