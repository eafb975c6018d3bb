"""Ways out of a sandbox that must not work, each test named after its attack.

The attacks are Python programs that run inside, in one sandbox for all of them. Each says what it got; the test looks
from outside whether that is nothing.
"""

from __future__ import annotations

import errno
import os
import signal
import socket
from collections.abc import Iterator
from pathlib import Path

import pytest

from proctor.execute.sandbox.bubblewrap.backend import BubblewrapBackend
from proctor.execute.sandbox.interface import Command, Limits, Sandbox
from tests.execute.sandbox.workplace import PYTHON, VARIABLES, open_directory, opened, python, shell

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


def test_setuid_and_setgid(cage: Sandbox) -> None:
    program = "import os\nfor f, a in ((os.setuid, 0), (os.setgid, 0), (os.setgroups, [0])):\n try: f(a); print('got it')\n except OSError: pass"
    assert said(cage, program) == ""


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


def test_making_a_device_node(cage: Sandbox) -> None:
    program = "import os, stat\ntry: os.mknod('/workspace/disk', 0o600 | stat.S_IFBLK, os.makedev(254, 0)); print('made')\nexcept PermissionError: pass"
    assert said(cage, program) == ""
    assert shell(cage, "ls /dev").stdout.prefix.split() == (
        b"core fd full null ptmx pts random shm stderr stdin stdout tty urandom zero".split()
    )


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


@pytest.mark.parametrize("request_number", [0x5412, 0x541C], ids=["TIOCSTI", "TIOCLINUX"])
def test_pushing_bytes_into_a_terminal(cage: Sandbox, request_number: int) -> None:
    program = (
        CALL
        + f"m, s = os.openpty(); print(call(16, s, {request_number}, b'x'), call(16, s, {request_number} | 1 << 32, b'x'))"
    )
    assert said(cage, program) == "EPERM EPERM"


def test_a_terminal_of_its_own_still_works(cage: Sandbox) -> None:
    assert (
        said(cage, "import os\nm, s = os.openpty(); os.write(s, b'x\\n'); print(os.read(m, 10), os.isatty(s))")
        == "b'x\\r\\n' True"
    )


def test_no_controlling_terminal(cage: Sandbox) -> None:
    assert shell(cage, "exec 3<>/dev/tty").exit_code != 0


def test_inherited_descriptors(cage: Sandbox) -> None:
    assert (
        said(
            cage,
            "import os; print([f for f in os.listdir('/proc/self/fd') if f not in '0123'], [os.readlink(f'/proc/self/fd/{n}').split(':')[0] for n in range(3)])",
        )
        == "[] ['pipe', 'pipe', 'pipe']"
    )


def test_an_inheritable_descriptor_of_the_harness(host: Path) -> None:
    leaked = os.open(host / "secret", os.O_RDONLY)
    os.set_inheritable(leaked, True)
    try:
        with opened(BubblewrapBackend(host / "sessions"), host / "inherit") as sandbox:
            assert shell(sandbox, "ls /proc/self/fd | wc -l").stdout.prefix == b"4\n"
            assert shell(sandbox, f"cat <&{leaked}").exit_code != 0
    finally:
        os.close(leaked)


def test_an_abstract_socket_of_the_host(cage: Sandbox) -> None:
    with socket.socket(socket.AF_UNIX) as listener:
        name = f"proctor-test-{os.getpid()}"
        listener.bind("\0" + name)
        listener.listen()
        program = f"import socket\ntry: socket.socket(socket.AF_UNIX).connect('\\0{name}'); print('reached')\nexcept OSError as e: print(e.errno)"
        assert said(cage, program) == str(errno.ECONNREFUSED)


def test_tcp_to_the_host(cage: Sandbox) -> None:
    with socket.create_server(("127.0.0.1", 0)) as listener:
        port = listener.getsockname()[1]
        program = f"import socket\ntry: socket.create_connection(('127.0.0.1', {port}), 5); print('reached')\nexcept OSError as e: print(e.errno)"
        assert said(cage, program) == str(errno.ECONNREFUSED)


@pytest.mark.parametrize(
    ("family", "kind", "address"),
    [
        ("AF_INET", "SOCK_STREAM", ("192.0.2.1", 80)),
        ("AF_INET", "SOCK_DGRAM", ("192.0.2.1", 53)),
        ("AF_INET6", "SOCK_STREAM", ("2001:db8::1", 80)),
        ("AF_INET6", "SOCK_DGRAM", ("2001:db8::1", 53)),
    ],
)
def test_a_way_to_the_network(cage: Sandbox, family: str, kind: str, address: tuple[str, int]) -> None:
    program = f"import socket\ntry: socket.socket(socket.{family}, socket.{kind}).connect({address!r}); print('reached')\nexcept OSError as e: print(e.errno)"
    assert int(said(cage, program)) in (errno.ENETUNREACH, errno.EADDRNOTAVAIL)


def test_names_of_the_network(cage: Sandbox) -> None:
    program = "import socket\ntry: print(socket.getaddrinfo('example.org', 80))\nexcept socket.gaierror: print('no')"
    assert said(cage, program) == "no"
    assert (
        said(cage, "import socket; print(socket.gethostbyname('localhost'), socket.gethostname())")
        == "127.0.0.1 proctor"
    )


@pytest.mark.parametrize(
    ("name", "arguments"),
    [
        ("raw", "AF_INET, SOCK_RAW, IPPROTO_ICMP"),
        ("packet", "AF_PACKET, SOCK_RAW, 0"),
        ("vsock", "AF_VSOCK, SOCK_STREAM, 0"),
        ("netlink audit", "AF_NETLINK, SOCK_RAW, 9"),
        ("netlink netfilter", "AF_NETLINK, SOCK_RAW, 12"),
        ("kernel crypto", "AF_ALG, SOCK_SEQPACKET, 0"),
        ("bluetooth", "AF_BLUETOOTH, SOCK_RAW, 0"),
    ],
)
def test_other_kinds_of_sockets(cage: Sandbox, name: str, arguments: str) -> None:
    program = f"from socket import *\ntry: socket({arguments}); print('made')\nexcept OSError as e: print(e.errno)"
    assert int(said(cage, program)) in (errno.EPERM, errno.EAFNOSUPPORT), name


def test_the_loopback_still_works(cage: Sandbox) -> None:
    program = "import socket\nl = socket.create_server(('127.0.0.1', 0)); c = socket.create_connection(l.getsockname()); s, _ = l.accept(); c.sendall(b'x'); print(s.recv(1), len(socket.if_nameindex()))"
    assert said(cage, program) == "b'x' 1"


def test_keys_of_the_host(cage: Sandbox) -> None:
    assert said(cage, "print(open('/proc/keys').read())") == ""


def test_a_forged_answer_from_a_process_between_fork_and_exec(cage: Sandbox) -> None:
    """A watcher tries to open the descriptors of every new process while commands start; all must be told as started."""
    watch = "import os, time\nend = time.time() + 20\nopen('/tmp/watching', 'w')\nwhile time.time() < end and not os.path.exists('/tmp/enough'):\n for p in os.listdir('/proc'):\n  if p.isdigit() and p not in ('1', str(os.getpid())):\n   for n in range(3, 12):\n    try:\n     f = os.open(f'/proc/{p}/fd/{n}', os.O_WRONLY | os.O_NONBLOCK); os.write(f, b'\\2\\0\\0\\0\\1\\0\\0\\0'); os.close(f)\n    except OSError: pass\n"
    cage.run(Command(("/bin/sh", "-c", f'{PYTHON} -c "$0" >/dev/null 2>&1 &', watch), VARIABLES))
    for _ in range(50):
        assert cage.run(Command(("/bin/true",), VARIABLES)).started
    shell(cage, "touch /tmp/enough")
    cage.end_all()


def test_a_fifo_and_a_socket_where_the_harness_reads(cage: Sandbox) -> None:
    assert shell(cage, "mkfifo /workspace/pipe").exit_code == 0
    assert said(cage, "import socket; socket.socket(socket.AF_UNIX).bind('/workspace/sock')") == ""


def test_hostile_file_names(cage: Sandbox, host: Path) -> None:
    program = "import os\nfor n in (b'\\xff\\xfe', b'a\\nb', b'\\x1b[31m', b' ', b'-rf', b'x' * 255, b'$(id)'):\n os.mkdir(b'/workspace/' + n)"
    assert said(cage, program) == ""


def test_deep_nesting_is_cleared_away(host: Path) -> None:
    with opened(BubblewrapBackend(host / "sessions"), host / "deep") as sandbox:
        program = "import os\nos.chdir('/workspace')\nfor _ in range(400):\n os.mkdir('d' * 50); os.chdir('d' * 50)"
        assert said(sandbox, program) == ""


def test_a_process_that_ignores_every_signal(cage: Sandbox) -> None:
    program = "import signal, os\nfor s in range(1, 65):\n try: signal.signal(s, signal.SIG_IGN)\n except (OSError, ValueError): pass\nwhile True: signal.pause()"
    finished = python(cage, program, timeout_seconds=2)
    assert finished.timed_out and finished.exit_code == -signal.SIGKILL


def test_a_double_forked_daemon(cage: Sandbox) -> None:
    daemon = "import os, time\nif os.fork(): os._exit(0)\nos.setsid()\nif os.fork(): os._exit(0)\nfor n in range(3): os.close(n)\ntime.sleep(1000)"
    assert python(cage, daemon).exit_code == 0
    cage.end_all()
    assert int(shell(cage, "ls -d /proc/[0-9]* | wc -l").stdout.prefix) <= 4


def test_a_flood_of_zombies(cage: Sandbox) -> None:
    program = (
        "import os, time\nfor _ in range(300):\n if os.fork() == 0:\n  if os.fork() == 0: os._exit(0)\n  os._exit(0)"
    )
    assert python(cage, program).exit_code == 0
    cage.end_all()
    assert shell(cage, "grep -l '^State:.Z' /proc/[0-9]*/status | wc -l").stdout.prefix == b"0\n"
