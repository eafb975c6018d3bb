"""What the guard tells: every kind of attempt with its code, path, address and command line, as root and without."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from proctor.execute.sandbox.guard import Observation
from tests.execute.sandbox.guarded import Seen, guarded
from tests.execute.sandbox.workplace import ORDINARY, as_ordinary_user, open_directory, python, shell

CALL = """
import ctypes, errno, os, socket, struct
libc = ctypes.CDLL(None, use_errno=True)
def call(number, *arguments):
    ctypes.set_errno(0)
    result = libc.syscall(ctypes.c_long(number), *[ctypes.c_long(a) if isinstance(a, int) else a for a in arguments])
    return errno.errorcode.get(ctypes.get_errno(), "none") if result < 0 else "allowed"
def attempt(action):
    try:
        action()
        print("allowed")
    except OSError as error:
        print(errno.errorcode[error.errno])
"""

QUERY = "b'\\x12\\x34\\1\\0\\0\\1\\0\\0\\0\\0\\0\\0\\4evil\\7example\\3com\\0\\0\\1\\0\\1'"

ATTEMPTS: list[tuple[str, str, str, dict[str, Any]]] = [
    # what is tried, the answer inside, the code, what is told about it
    (
        "attempt(lambda: open('/etc/new', 'w'))",
        "EROFS",
        "write-outside",
        {"path": "/etc/new", "syscall": "openat", "allowed": False},
    ),
    ("attempt(lambda: open('/root/.ssh/keys', 'w'))", "ENOENT", "write-outside", {"path": "/root/.ssh/keys"}),
    ("attempt(lambda: open('/workspace/../etc/x', 'w'))", "EROFS", "write-outside", {"path": "/etc/x"}),
    ("os.chdir('/etc'); attempt(lambda: open('relative', 'w'))", "EROFS", "write-outside", {"path": "/etc/relative"}),
    (
        "d = os.open('/usr', os.O_RDONLY); attempt(lambda: os.open('y', os.O_CREAT | os.O_WRONLY, dir_fd=d))",
        "EROFS",
        "write-outside",
        {"path": "/usr/y"},
    ),
    (
        "os.symlink('/etc', '/workspace/way'); attempt(lambda: open('/workspace/way/z', 'w'))",
        "EROFS",
        "write-outside",
        {"path": "/etc/z", "detail": "/workspace/way/z"},
    ),
    (
        "os.symlink('/etc/dangling', '/workspace/loose'); attempt(lambda: open('/workspace/loose', 'w'))",
        "EROFS",
        "write-outside",
        {"path": "/etc/dangling", "detail": "/workspace/loose"},
    ),
    (
        "print(call(437, -100, b'/etc/two', struct.pack('QQQ', 0o101, 0o644, 0), 24))",
        "EROFS",
        "write-outside",
        {"path": "/etc/two", "syscall": "openat2"},
    ),
    ("print(call(85, b'/etc/c', 0o644))", "EROFS", "write-outside", {"path": "/etc/c", "syscall": "creat"}),
    ("attempt(lambda: os.mkdir('/usr/d'))", "EROFS", "write-outside", {"path": "/usr/d"}),
    ("attempt(lambda: os.unlink('/usr/bin/env'))", "EROFS", "write-outside", {"path": "/usr/bin/env"}),
    ("attempt(lambda: os.rmdir('/usr/lib'))", "EROFS", "write-outside", {"path": "/usr/lib"}),
    ("attempt(lambda: os.chmod('/etc/passwd', 0o666))", "EROFS", "write-outside", {"detail": "mode 0666"}),
    ("attempt(lambda: os.utime('/etc/passwd'))", "EROFS", "write-outside", {"path": "/etc/passwd"}),
    ("attempt(lambda: os.truncate('/etc/passwd', 0))", "EROFS", "write-outside", {"syscall": "truncate"}),
    ("attempt(lambda: os.setxattr('/etc/passwd', 'user.a', b'1'))", "EROFS", "write-outside", {"syscall": "setxattr"}),
    ("attempt(lambda: os.symlink('a', '/etc/link'))", "EROFS", "write-outside", {"path": "/etc/link"}),
    ("attempt(lambda: os.link('/usr/bin/env', '/workspace/env'))", "EXDEV", "write-outside", {"detail": "hard link"}),
    (
        "open('/workspace/own', 'w'); attempt(lambda: os.rename('/workspace/own', '/usr/own'))",
        "EXDEV",
        "write-outside",
        {"path": "/usr/own"},
    ),
    (
        "attempt(lambda: os.rename('/usr/bin/env', '/workspace/moved'))",
        "EXDEV",
        "write-outside",
        {"path": "/usr/bin/env"},
    ),
    ("attempt(lambda: open('/proc/sys/kernel/hostname', 'w'))", "*", "write-outside", {}),
    ("attempt(lambda: open('/proc/1/mem', 'r+b'))", "EACCES", "proc-access", {"path": "/proc/1/mem"}),
    (
        "attempt(lambda: socket.create_connection(('192.0.2.7', 80)))",
        "ENETUNREACH",
        "network",
        {"address": "192.0.2.7:80", "syscall": "connect", "errno": "ENETUNREACH", "allowed": False},
    ),
    (
        "attempt(lambda: socket.create_connection(('2001:db8::7', 443)))",
        "ENETUNREACH",
        "network",
        {"address": "[2001:db8::7]:443"},
    ),
    (
        "attempt(lambda: socket.socket(type=socket.SOCK_DGRAM).sendto(b'x', ('192.0.2.8', 9)))",
        "ENETUNREACH",
        "network",
        {"address": "192.0.2.8:9", "syscall": "sendto"},
    ),
    (
        f"attempt(lambda: socket.socket(type=socket.SOCK_DGRAM).sendto({QUERY}, ('192.0.2.53', 53)))",
        "ENETUNREACH",
        "dns",
        {"detail": "evil.example.com", "address": "192.0.2.53:53", "allowed": False},
    ),
    (
        f"attempt(lambda: socket.socket(type=socket.SOCK_DGRAM).sendto({QUERY}, ('127.0.0.1', 53)))",
        "allowed",
        "dns",
        {"detail": "evil.example.com", "address": "127.0.0.1:53", "allowed": True},
    ),
    ("attempt(lambda: socket.socket().bind(('192.0.2.9', 0)))", "EADDRNOTAVAIL", "network", {"detail": "bind"}),
    (
        "attempt(lambda: socket.socket(socket.AF_INET, socket.SOCK_RAW, 1))",
        "EPERM",
        "network",
        {"detail": "raw socket"},
    ),
    ("print(call(41, 40, 1, 0))", "EAFNOSUPPORT", "network", {"address": "family 40 type 1 protocol 0"}),
    ("print(call(41, 16, 3, 9))", "EAFNOSUPPORT", "network", {"address": "family 16 type 3 protocol 9"}),
    ("attempt(lambda: os.kill(1, 9))", "EPERM", "signal", {"detail": "signal 9 to 1", "syscall": "kill"}),
    ("print(call(234, 1, 1, 15))", "EPERM", "signal", {"detail": "signal 15 to 1", "syscall": "tgkill"}),
    ("p = os.pidfd_open(1); print(call(424, p, 9, 0, 0))", "EPERM", "signal", {"syscall": "pidfd_send_signal"}),
    ("attempt(lambda: os.kill(4000000, 9))", "ESRCH", "signal", {"errno": "ESRCH"}),
    ("attempt(lambda: os.setuid(0))", "EPERM", "privilege", {"detail": "0", "syscall": "setuid"}),
    ("attempt(lambda: os.setresgid(0, 0, 0))", "EPERM", "privilege", {"detail": "0 0 0"}),
    ("attempt(lambda: os.setgroups([0]))", "EPERM", "privilege", {"syscall": "setgroups"}),
    (
        "open('/workspace/mine', 'w'); attempt(lambda: os.chown('/workspace/mine', 0, 0))",
        "EPERM",
        "privilege",
        {"path": "/workspace/mine", "detail": "owner 0:0"},
    ),
    (
        "open('/workspace/bit', 'w'); attempt(lambda: os.chmod('/workspace/bit', 0o4755))",
        "allowed",
        "privilege",
        {"detail": "mode 4755", "allowed": True},
    ),
    ("attempt(lambda: os.mknod('/workspace/disk', 0o60600, 0))", "EPERM", "syscall-device", {"detail": "block device"}),
    ("f = open('/workspace/f', 'w'); print(call(285, f.fileno(), 0, 0, 1 << 50))", "EFBIG", "syscall-space", {}),
    ("m, s = os.openpty(); print(call(16, s, 0x5412, b'x'))", "EPERM", "syscall-terminal", {"syscall": "ioctl"}),
    ("print(call(56, 0x10000011, 0, 0, 0, 0))", "EPERM", "syscall-namespace", {"syscall": "clone"}),
    (
        "print(call(435, struct.pack('QQQQQQQQ', 0x10000000, 0, 0, 0, 17, 0, 0, 0), 64))",
        "ENOSYS",
        "syscall-namespace",
        {"syscall": "clone3"},
    ),
    *(
        (f"print(call({number}, 0, 0, 0, 0, 0))", error, f"syscall-{kind}", {"syscall": name})
        for name, number, error, kind in (
            ("mount", 165, "EPERM", "mount"),
            ("chroot", 161, "EPERM", "mount"),
            ("fsopen", 430, "EPERM", "mount"),
            ("unshare", 272, "EPERM", "namespace"),
            ("setns", 308, "EPERM", "namespace"),
            ("ptrace", 101, "EPERM", "trace"),
            ("process_vm_writev", 311, "EPERM", "trace"),
            ("pidfd_getfd", 438, "EPERM", "trace"),
            ("bpf", 321, "EPERM", "bpf"),
            ("perf_event_open", 298, "EPERM", "perf"),
            ("userfaultfd", 323, "EPERM", "userfault"),
            ("kexec_load", 246, "EPERM", "kernel"),
            ("init_module", 175, "EPERM", "kernel"),
            ("io_uring_setup", 425, "ENOSYS", "io_uring"),
            ("keyctl", 250, "EPERM", "keys"),
            ("open_by_handle_at", 304, "EPERM", "handle"),
            ("sethostname", 170, "EPERM", "system"),
            ("clock_settime", 227, "EPERM", "clock"),
            ("iopl", 172, "EPERM", "ports"),
        )
    ),
]


def agrees(observation: Observation, wanted: dict[str, Any]) -> bool:
    return all(getattr(observation, name) == value for name, value in wanted.items())


def check_attempt(seen: Seen, program: str, answer: str, code: str, wanted: dict[str, Any]) -> None:
    assert seen.box is not None
    finished = python(seen.box, CALL + program)
    assert finished.exit_code == 0, finished.stderr.prefix.decode()
    said = finished.stdout.prefix.decode().strip()
    assert said == answer or answer == "*", (program, said)
    told = seen.attempts(code)
    assert any(agrees(one, wanted) for one in told), (program, told, seen.all)
    assert {one.argv[:2] for one in told} == {("/usr/bin/python3", "-I")}
    assert {one.pid for one in told} <= {one.pid for one in seen.kind("exec")}


@pytest.fixture(scope="module")
def shared() -> Iterator[Seen]:
    with open_directory() as top, guarded(top) as seen:
        yield seen


@pytest.mark.parametrize(("program", "answer", "code", "wanted"), ATTEMPTS, ids=[one[0] for one in ATTEMPTS])
def test_an_attempt_is_told(shared: Seen, program: str, answer: str, code: str, wanted: dict[str, Any]) -> None:
    shared.clear()
    check_attempt(shared, program, answer, code, wanted)


def without_root(action: Callable[[Seen], None], **fields: Any) -> None:
    """Run ``action`` in a guarded sandbox of an ordinary user."""
    with open_directory() as top:
        os.chown(top, ORDINARY, ORDINARY)

        def inside() -> None:
            with guarded(top, **fields) as seen:
                action(seen)

        as_ordinary_user(inside)


def test_every_attempt_of_an_ordinary_users_sandbox_is_told() -> None:
    def action(seen: Seen) -> None:
        for attempt in ATTEMPTS:
            seen.clear()
            check_attempt(seen, *attempt)

    without_root(action)


BATCH = f"""
import ctypes
query = {QUERY}
data = ctypes.create_string_buffer(query, len(query))
piece = (ctypes.c_uint64 * 2)(ctypes.addressof(data), len(query))
batch = (ctypes.c_uint64 * 8)(0, 0, ctypes.addressof(piece), 1, 0, 0, 0, 0)
s = socket.socket(type=socket.SOCK_DGRAM)
s.connect(('127.0.0.1', 53))
print(call(307, s.fileno(), batch, 1, 0))
"""


def test_a_name_in_a_batch_over_a_connected_socket_is_told(shared: Seen) -> None:
    shared.clear()
    check_attempt(shared, BATCH, "allowed", "dns", {"detail": "evil.example.com", "syscall": "sendmmsg"})


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


def test_calls_of_another_architecture_are_told(shared: Seen) -> None:
    shared.clear()
    assert shared.box is not None
    assert python(shared.box, CALL + "print(call(0x40000000 + 39))").exit_code == -31
    ends = shared.kind("exit")
    if ends[-1].exit_code is not None:
        assert [one.code for one in shared.kind("attempt")] == ["syscall-foreign"]


def test_settling_tells_everything_that_has_happened(shared: Seen) -> None:
    assert shared.box is not None
    for number in range(20):
        shared.clear()
        shell(shared.box, f"touch /etc/number{number}")
        assert f"/etc/number{number}" in [one.path for one in shared.attempts("write-outside")]
