"""Ways out of a container that must not work, each named after its attack, with Docker and with podman.

The attacks are those on any sandbox, run against one container for each engine; only what the view of a container makes
different is written anew here.
"""

from __future__ import annotations

import signal
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from proctor.execute.sandbox.container.backend import ContainerBackend
from proctor.execute.sandbox.interface import Limits, Sandbox
from tests.execute.sandbox import test_attacks as attacks
from tests.execute.sandbox.test_attacks import CALL, said, tried
from tests.execute.sandbox.workplace import open_directory, opened, shell

pytestmark = pytest.mark.container

ALIKE: tuple[Callable[..., Any], ...] = (
    attacks.test_a_hard_link_to_a_system_file,
    attacks.test_processes_of_the_host_are_not_seen,
    attacks.test_a_new_user_namespace_by_clone,
    attacks.test_allowing_itself_more_user_namespaces,
    attacks.test_system_calls_by_int_80,
    attacks.test_system_calls_of_x32,
    attacks.test_no_controlling_terminal,
    attacks.test_keys_of_the_host,
    attacks.test_a_fifo_and_a_socket_where_the_harness_reads,
    attacks.test_a_terminal_of_its_own_still_works,
    attacks.test_inherited_descriptors,
    attacks.test_a_forged_failure_for_a_command_between_fork_and_exec,
    attacks.test_hostile_file_names,
    attacks.test_a_process_that_ignores_every_signal,
    attacks.test_a_double_forked_daemon,
    attacks.test_a_flood_of_zombies,
)


@pytest.fixture(scope="module")
def host() -> Iterator[Path]:
    """A directory on the host with a secret in it; the containers of this module live below it."""
    with open_directory() as top:
        (top / "secret").write_bytes(attacks.SECRET)
        (top / "secret").chmod(0o644)
        yield top


@pytest.fixture(scope="module")
def cage(host: Path, engine: str, image: tuple[str, ...]) -> Iterator[Sandbox]:
    backend: Any = ContainerBackend(host / "sessions", engine, image)
    with opened(backend, host / Path(engine).parent.name, Limits(memory_bytes=1 << 30)) as sandbox:
        yield sandbox


@pytest.mark.parametrize("attack", ALIKE, ids=lambda attack: attack.__name__.removeprefix("test_"))
def test_attack(cage: Sandbox, attack: Callable[[Sandbox], None]) -> None:
    attack(cage)


def test_forbidden_system_calls(cage: Sandbox) -> None:
    mark = next(mark for mark in attacks.test_forbidden_system_call.pytestmark if mark.name == "parametrize")  # type: ignore[attr-defined]
    wanted = {name: (number, answer) for name, number, answer in mark.args[1]}
    numbers = {name: number for name, (number, _) in wanted.items()}
    found = said(cage, CALL + f"print({{name: call(number, 0, 0, 0, 0, 0) for name, number in {numbers}.items()}})")
    assert found == str({name: answer for name, (_, answer) in wanted.items()})


def test_reading_the_host_by_its_path(cage: Sandbox, host: Path) -> None:
    for path in (host / "secret", host, f"/proc/self/root{host}/secret", "/host", "/boot/grub"):
        assert shell(cage, f"ls {path}").exit_code == 2
    assert shell(cage, f"cat /workspace/../../../../..{host}/secret").exit_code == 1
    assert shell(cage, f"ln -s {host}/secret link; cat link").exit_code == 1
    assert shell(cage, "ls -A /sys /run /var/tmp; cat /etc/hostname /etc/resolv.conf").stdout.prefix == (
        b"/run:\nproctor\n\n/sys:\n\n/var/tmp:\nproctor\n"
    )


def test_the_way_to_the_engine_or_the_harness(cage: Sandbox, host: Path) -> None:
    """No socket of either is left where a process inside could find it, nor the path at which the harness works."""
    assert shell(cage, "ls -A /run/proctor").stdout.prefix == b"init\n"
    assert shell(cage, "find / -xdev -type s 2>/dev/null; find /run /tmp -type s").stdout.prefix == b""
    assert str(host).encode() not in shell(cage, "cat /proc/self/mountinfo /proc/1/cmdline").stdout.prefix


@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGSTOP, signal.SIGTERM, signal.SIGCHLD])
def test_signals_to_pid_1(cage: Sandbox, number: int) -> None:
    attacks.test_signals_to_pid_1(cage, number)


@pytest.mark.parametrize("name", ["mem", "maps", "environ", "exe", "fd", "root", "cwd"])
def test_looking_into_pid_1(cage: Sandbox, name: str) -> None:
    look = f"import os; p='/proc/1/{name}'; os.listdir(p) if os.path.isdir(p) else open(p,'rb').read(10)"
    assert tried(cage, look) in ("EACCES", "EPERM", "ENOENT")


def test_becoming_root_by_a_setuid_program(cage: Sandbox) -> None:
    status = said(cage, "print(open('/proc/self/status').read())")
    fields = dict(line.split(":\t", 1) for line in status.splitlines() if ":\t" in line)
    assert fields["NoNewPrivs"] == "1" and fields["Seccomp"] == "2"
    assert {fields[name] for name in ("CapPrm", "CapEff", "CapBnd", "CapAmb", "CapInh")} == {"0" * 16}
    assert shell(cage, "id -u; su -c 'id -u' </dev/null").stdout.prefix == b"64113\n"
    for statement in ("os.setuid(0)", "os.setgid(0)", "os.setgroups([0])", "os.setresuid(0, 0, 0)"):
        assert tried(cage, statement) == "EPERM"


def test_writing_where_the_system_lies(cage: Sandbox) -> None:
    places = (
        *(
            "/",
            "/etc",
            "/usr",
            "/usr/bin",
            "/dev",
            "/run",
            "/home",
            "/setup",
            "/etc/passwd",
            "/etc/hosts",
            "/run/proctor",
        ),
        *("/var/tmp", "/var/lib", "/root", "/sys", "/proc/sys/kernel/core_pattern", "/proc/sysrq-trigger"),
    )
    for path in places:
        assert shell(cage, f"touch {path}/x || echo x > {path}").exit_code != 0, path
    for path in ("/workspace", "/tmp", "/home/agent", "/dev/shm"):
        assert shell(cage, f"touch {path}/x && rm {path}/x").exit_code == 0, path


def test_devices(cage: Sandbox) -> None:
    assert tried(cage, "os.mknod('/workspace/disk', 0o600 | stat.S_IFBLK, os.makedev(254, 0))") == "EPERM"
    listed = shell(cage, "find /dev -type b -o -type c | grep -v pts | sort").stdout.prefix.split()
    assert set(listed) <= {b"/dev/%s" % name for name in b"full null random tty urandom zero console".split()}


def test_the_network(cage: Sandbox) -> None:
    assert said(cage, "import socket; print([name for _, name in socket.if_nameindex()])") == "['lo']"
    connect = "import socket; socket.create_connection(('192.0.2.1', 80), 5)"
    assert tried(cage, connect) in ("ENETUNREACH", "ECONNREFUSED", "EHOSTUNREACH")
    assert shell(cage, "getent hosts example.org").exit_code != 0
    for family in ("AF_PACKET", "AF_VSOCK", "AF_ALG"):
        assert tried(cage, f"import socket; socket.socket(socket.{family}, socket.SOCK_DGRAM)") != "done"
