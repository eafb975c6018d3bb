"""Ways out of a sandbox that must not work, each test named after its attack.

The attacks are Python programs that run inside, in one sandbox for all of them. Each says what it got; the test looks
from outside whether that is nothing.
"""

from __future__ import annotations

import os
import signal
from collections.abc import Iterator
from pathlib import Path

import pytest

from proctor.execute.sandbox.bubblewrap.backend import BubblewrapBackend
from proctor.execute.sandbox.interface import Command, Limits, Sandbox
from tests.execute.sandbox.workplace import (
    ORDINARY,
    PYTHON,
    VARIABLES,
    as_ordinary_user,
    open_directory,
    opened,
    python,
    shell,
)

SECRET = b"the host's own secret"

CALL = """
import ctypes, errno, os, sys
libc = ctypes.CDLL(None, use_errno=True)
def call(number, *arguments):
    ctypes.set_errno(0)
    result = libc.syscall(ctypes.c_long(number), *[ctypes.c_long(a) if isinstance(a, int) else a for a in arguments])
    return errno.errorcode.get(ctypes.get_errno(), "none") if result < 0 else "allowed"
"""


@pytest.fixture(scope="module")
def host() -> Iterator[Path]:
    """A directory on the host with a secret in it; sandboxes of this module live below it."""
    with open_directory() as top:
        (top / "secret").write_bytes(SECRET)
        (top / "secret").chmod(0o644)
        yield top


@pytest.fixture(scope="module")
def cage(host: Path) -> Iterator[Sandbox]:
    with opened(BubblewrapBackend(host / "sessions"), host, Limits(memory_bytes=1 << 30)) as sandbox:
        yield sandbox


def said(sandbox: Sandbox, program: str) -> str:
    """What the attack printed; it must at least have run."""
    finished = python(sandbox, program)
    assert finished.exit_code == 0, finished.stderr.prefix.decode()
    return finished.stdout.prefix.decode().strip()


def tried(sandbox: Sandbox, statement: str) -> str:
    """What became of ``statement`` inside: ``done``, or the name of the error."""
    program = f"""
import errno, os, stat
try:
    {statement}
    print("done")
except OSError as error:
    print(errno.errorcode[error.errno])
"""
    return said(sandbox, program)


def test_reading_the_host_by_its_path(cage: Sandbox, host: Path) -> None:
    for path in (host / "secret", "/etc/shadow", "/root", "/var", "/work", "/sys", "/boot", "/etc/hostname"):
        assert shell(cage, f"ls {path}").exit_code == 2


def test_climbing_out_with_dots(cage: Sandbox, host: Path) -> None:
    assert shell(cage, f"cat /workspace/../../../../..{host}/secret").exit_code == 1
    assert shell(cage, "cd /; cd ../../..; pwd -P").stdout.prefix == b"/\n"


def test_a_symbolic_link_to_the_host(cage: Sandbox, host: Path) -> None:
    assert shell(cage, f"ln -s {host}/secret link; cat link").exit_code == 1


def test_a_hard_link_to_a_system_file(cage: Sandbox) -> None:
    assert shell(cage, "ln /usr/bin/env /workspace/env").exit_code == 1
    assert shell(cage, "ln /usr/bin/env /usr/bin/env2").exit_code == 1


def test_the_root_of_another_process(cage: Sandbox, host: Path) -> None:
    assert shell(cage, "ls /proc/1/root/").exit_code == 2
    assert shell(cage, f"cat /proc/self/root{host}/secret").exit_code == 1


@pytest.mark.parametrize("name", ["mem", "fd", "maps", "environ", "exe", "cwd", "map_files", "stack"])
def test_looking_into_pid_1(cage: Sandbox, name: str) -> None:
    show = f"import os; p='/proc/1/{name}'; print(os.listdir(p) if os.path.isdir(p) else open(p,'rb').read(10))"
    finished = python(cage, show)
    assert finished.exit_code == 1 and b"Permission" in finished.stderr.prefix + b"Permission" * (name == "fd")


@pytest.mark.parametrize(
    "attack",
    [
        "302, 1, 7, (ctypes.c_uint64 * 2)(3, 3), 0",
        "302, 1, 0, (ctypes.c_uint64 * 2)(0, 0), 0",
        "302, 1, 9, (ctypes.c_uint64 * 2)(4096, 4096), 0",
        "141, 0, 1, 19",
        "141, 2, 0, 19",
        "203, 1, 8, (ctypes.c_uint64 * 1)(1)",
        "144, 1, 5, (ctypes.c_uint64 * 1)(0)",
        "251, 1, 1, 24576",
    ],
)
def test_ending_or_slowing_down_pid_1_by_its_limits_without_a_guard(cage: Sandbox, attack: str) -> None:
    assert said(cage, f"{CALL}\nprint(call({attack}))") == "EPERM"
    assert shell(cage, "echo alive").stdout.prefix == b"alive\n"


def test_processes_of_the_host_are_not_seen(cage: Sandbox) -> None:
    pids = shell(cage, "ls /proc | grep '^[0-9]' | wc -l").stdout.prefix
    assert int(pids) < 10
    assert os.getpid() > 20 and shell(cage, f"kill -0 {os.getpid()}").exit_code != 0


@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGSTOP, signal.SIGTERM, signal.SIGSEGV, signal.SIGCHLD])
def test_signals_to_pid_1(cage: Sandbox, number: int) -> None:
    shell(cage, f"kill -{int(number)} 1")
    assert shell(cage, "echo alive").stdout.prefix == b"alive\n"


def test_becoming_root_by_a_setuid_program(cage: Sandbox) -> None:
    assert "nosuid" in said(cage, "print([l for l in open('/proc/mounts') if ' /usr ' in l])")
    status = said(cage, "print(open('/proc/self/status').read())")
    fields = dict(line.split(":\t", 1) for line in status.splitlines() if ":\t" in line)
    assert fields["NoNewPrivs"] == "1" and fields["Seccomp"] == "2"
    assert {fields[name] for name in ("CapPrm", "CapEff", "CapBnd", "CapAmb", "CapInh")} == {"0" * 16}
    assert shell(cage, "id -u; su -c 'id -u' </dev/null").stdout.prefix == b"1000\n"


def test_a_setuid_file_left_in_the_workspace_has_no_privileged_owner(cage: Sandbox, host: Path) -> None:
    shell(cage, "cp /usr/bin/env ./bit && chmod 4755 ./bit")
    if os.geteuid() == 0:
        assert (host / "box/upper/workspace/bit").stat().st_uid != 0


@pytest.mark.parametrize(
    ("name", "number", "wanted"),
    [
        ("mount", 165, "EPERM"),
        ("umount2", 166, "EPERM"),
        ("pivot_root", 155, "EPERM"),
        ("chroot", 161, "EPERM"),
        ("open_tree", 428, "EPERM"),
        ("move_mount", 429, "EPERM"),
        ("fsopen", 430, "EPERM"),
        ("fsconfig", 431, "EPERM"),
        ("fsmount", 432, "EPERM"),
        ("fspick", 433, "EPERM"),
        ("mount_setattr", 442, "EPERM"),
        ("unshare", 272, "EPERM"),
        ("setns", 308, "EPERM"),
        ("clone3", 435, "ENOSYS"),
        ("ptrace", 101, "EPERM"),
        ("process_vm_readv", 310, "EPERM"),
        ("process_vm_writev", 311, "EPERM"),
        ("pidfd_getfd", 438, "EPERM"),
        ("bpf", 321, "EPERM"),
        ("perf_event_open", 298, "EPERM"),
        ("userfaultfd", 323, "EPERM"),
        ("kexec_load", 246, "EPERM"),
        ("kexec_file_load", 320, "EPERM"),
        ("io_uring_setup", 425, "ENOSYS"),
        ("io_uring_enter", 426, "ENOSYS"),
        ("io_uring_register", 427, "ENOSYS"),
        ("add_key", 248, "EPERM"),
        ("request_key", 249, "EPERM"),
        ("keyctl", 250, "EPERM"),
        ("init_module", 175, "EPERM"),
        ("reboot", 169, "EPERM"),
        ("swapon", 167, "EPERM"),
        ("open_by_handle_at", 304, "EPERM"),
        ("settimeofday", 164, "EPERM"),
        ("clock_settime", 227, "EPERM"),
        ("sethostname", 170, "EPERM"),
        ("iopl", 172, "EPERM"),
    ],
)
def test_forbidden_system_call(cage: Sandbox, name: str, number: int, wanted: str) -> None:
    assert said(cage, CALL + f"print(call({number}, 0, 0, 0, 0, 0))") == wanted, name


def test_a_new_user_namespace_by_clone(cage: Sandbox) -> None:
    for flag in (0x10000000, 0x20000, 0x20000000, 0x40000000, 0x8000000, 0x4000000, 0x2000000):
        assert said(cage, CALL + f"print(call(56, {flag | 17}, 0, 0, 0, 0))") == "EPERM"


def test_allowing_itself_more_user_namespaces(cage: Sandbox) -> None:
    assert shell(cage, "echo 100 > /proc/sys/user/max_user_namespaces").exit_code != 0


def test_writing_where_the_system_lies(cage: Sandbox) -> None:
    for path in (
        "/",
        "/etc",
        "/usr",
        "/usr/bin",
        "/dev",
        "/run",
        "/home",
        "/proc",
        "/setup",
        "/etc/passwd",
        "/run/proctor",
    ):
        assert shell(cage, f"touch {path}/x || touch {path}").exit_code != 0 or path == "/proc/none", path
    for path in ("/workspace", "/tmp", "/home/agent", "/dev/shm"):
        assert shell(cage, f"touch {path}/x && rm {path}/x").exit_code == 0, path


def test_system_calls_by_int_80(cage: Sandbox) -> None:
    program = """
import ctypes, mmap
code = bytes([0xb8, 20, 0, 0, 0, 0xcd, 0x80, 0xc3])  # mov eax, getpid; int 0x80; ret
page = mmap.mmap(-1, 4096, prot=mmap.PROT_READ | mmap.PROT_WRITE | mmap.PROT_EXEC)
page.write(code)
ctypes.CFUNCTYPE(ctypes.c_int)(ctypes.addressof(ctypes.c_char.from_buffer(page)))()
"""
    assert python(cage, program).exit_code == -signal.SIGSYS


def test_system_calls_of_x32(cage: Sandbox) -> None:
    assert python(cage, CALL + "print(call(0x40000000 + 39))").exit_code == -signal.SIGSYS


def test_no_controlling_terminal(cage: Sandbox) -> None:
    assert shell(cage, "exec 3<>/dev/tty").exit_code != 0


def test_an_inheritable_descriptor_of_the_harness(host: Path) -> None:
    leaked = os.open(host / "secret", os.O_RDONLY)
    os.set_inheritable(leaked, True)
    try:
        with opened(BubblewrapBackend(host / "sessions"), host / "inherit") as sandbox:
            assert shell(sandbox, "ls /proc/self/fd | wc -l").stdout.prefix == b"4\n"
            assert shell(sandbox, f"cat <&{leaked}").exit_code != 0
    finally:
        os.close(leaked)


def test_keys_of_the_host(cage: Sandbox) -> None:
    assert said(cage, "print(open('/proc/keys').read())") == ""


def test_a_fifo_and_a_socket_where_the_harness_reads(cage: Sandbox) -> None:
    assert shell(cage, "mkfifo /workspace/pipe").exit_code == 0
    assert said(cage, "import socket; socket.socket(socket.AF_UNIX).bind('/workspace/sock')") == ""


def test_deep_nesting_is_cleared_away(host: Path) -> None:
    with opened(BubblewrapBackend(host / "sessions"), host / "deep") as sandbox:
        program = "import os\nos.chdir('/workspace')\nfor _ in range(400):\n os.mkdir('d' * 50); os.chdir('d' * 50)"
        assert said(sandbox, program) == ""


@pytest.mark.parametrize("statement", ["os.setuid(0)", "os.setgid(0)", "os.setgroups([0])", "os.setresuid(0, 0, 0)"])
def test_setuid_and_setgid(cage: Sandbox, statement: str) -> None:
    assert tried(cage, statement) in ("EPERM", "EINVAL")


def test_making_a_device_node(cage: Sandbox) -> None:
    assert tried(cage, "os.mknod('/workspace/disk', 0o600 | stat.S_IFBLK, os.makedev(254, 0))") == "EPERM"
    assert shell(cage, "ls /dev").stdout.prefix.split() == (
        b"core fd full null ptmx pts random shm stderr stdin stdout tty urandom zero".split()
    )


@pytest.mark.parametrize("number", [0x5412, 0x541C], ids=["TIOCSTI", "TIOCLINUX"])
def test_pushing_bytes_into_a_terminal(cage: Sandbox, number: int) -> None:
    ask = f"m, s = os.openpty(); print(call(16, s, {number}, b'x'), call(16, s, {number} | 1 << 32, b'x'))"
    assert said(cage, CALL + ask) == "EPERM EPERM"


def test_a_terminal_of_its_own_still_works(cage: Sandbox) -> None:
    talk = "import os\nm, s = os.openpty(); os.write(s, b'x\\n'); print(os.read(m, 10), os.isatty(s))"
    assert said(cage, talk) == "b'x\\r\\n' True"


def test_inherited_descriptors(cage: Sandbox) -> None:
    listing = """
import os
here = "/proc/self/fd"
print([name for name in os.listdir(here) if name not in "0123"])
print({os.readlink(f"{here}/{number}").partition(":")[0] for number in range(3)})
"""
    assert said(cage, listing) == "[]\n{'pipe'}"


WATCH = r"""
import os, time
end = time.time() + 60
failure = b"\2\0\0\0\1\0\0\0"
while time.time() < end and not os.path.exists("/tmp/enough"):
    for pid in os.listdir("/proc"):
        if pid.isdigit() and pid not in ("1", str(os.getpid())):
            for number in range(3, 12):
                try:
                    pipe = os.open(f"/proc/{pid}/fd/{number}", os.O_WRONLY | os.O_NONBLOCK)
                    os.write(pipe, failure)
                    os.close(pipe)
                except OSError:
                    pass
"""


def test_a_forged_failure_for_a_command_between_fork_and_exec(cage: Sandbox) -> None:
    """A watcher writes into every descriptor of a new process that it can open; all commands are told as started."""
    cage.run(Command(("/bin/sh", "-c", f'{PYTHON} -c "$0" >/dev/null 2>&1 &', WATCH), VARIABLES))
    for _ in range(50):
        assert cage.run(Command(("/bin/true",), VARIABLES)).started
    shell(cage, "touch /tmp/enough")
    cage.end_all()


def test_hostile_file_names(cage: Sandbox) -> None:
    make = r"""
import os
for name in (b"\xff\xfe", b"a\nb", b"\x1b[31m", b" ", b"-rf", b"x" * 255, b"$(id)"):
    os.mkdir(b"/workspace/" + name)
"""
    assert said(cage, make) == ""


def test_a_process_that_ignores_every_signal(cage: Sandbox) -> None:
    ignore = """
import signal
for number in range(1, 65):
    try:
        signal.signal(number, signal.SIG_IGN)
    except (OSError, ValueError):
        pass
while True:
    signal.pause()
"""
    finished = python(cage, ignore, timeout_seconds=2)
    assert finished.timed_out and finished.exit_code == -signal.SIGKILL


def test_a_double_forked_daemon(cage: Sandbox) -> None:
    daemon = """
import os, time
if os.fork():
    os._exit(0)
os.setsid()
if os.fork():
    os._exit(0)
os.closerange(0, 3)
time.sleep(1000)
"""
    assert python(cage, daemon).exit_code == 0
    cage.end_all()
    assert int(shell(cage, "ls -d /proc/[0-9]* | wc -l").stdout.prefix) <= 4


def test_a_flood_of_zombies(cage: Sandbox) -> None:
    flood = """
import os
for _ in range(300):
    if os.fork() == 0:
        os.fork()
        os._exit(0)
"""
    assert python(cage, flood).exit_code == 0
    cage.end_all()
    assert shell(cage, "grep -l '^State:.Z' /proc/[0-9]*/status | wc -l").stdout.prefix == b"0\n"


def test_attacks_on_the_sandbox_of_an_ordinary_user() -> None:
    """The same sandbox is made in another way then: with a user namespace around it and no change of user."""

    def attack() -> None:
        with opened(BubblewrapBackend(top / "sessions"), top) as sandbox:
            for one in (
                test_processes_of_the_host_are_not_seen,
                test_becoming_root_by_a_setuid_program,
                test_a_new_user_namespace_by_clone,
                test_allowing_itself_more_user_namespaces,
                test_making_a_device_node,
                test_writing_where_the_system_lies,
                test_system_calls_by_int_80,
                test_inherited_descriptors,
                test_a_forged_failure_for_a_command_between_fork_and_exec,
                test_a_double_forked_daemon,
            ):
                one(sandbox)
            for name in ("mem", "maps", "environ", "exe"):
                test_looking_into_pid_1(sandbox, name)
            for number in (signal.SIGKILL, signal.SIGSTOP):
                test_signals_to_pid_1(sandbox, number)

    with open_directory() as top:
        if os.geteuid() == 0:
            os.chown(top, ORDINARY, ORDINARY)
            as_ordinary_user(attack)
        else:
            attack()
