"""What the guard tells besides attacks, which are in ``tests/attacks``: programs, odd names, floods of arguments."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.execute.sandbox.guarded import Seen, guarded
from tests.execute.sandbox.workplace import PYTHON, open_directory, python, shell


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
python3 -c 'import os; f = os.open("/tmp", os.O_TMPFILE | 1); os.link(f"/proc/self/fd/{f}", "/tmp/n", src_dir_fd=f)'
python3 -c 'import os; os.setpriority(os.PRIO_PROCESS, 0, 5); os.sched_setaffinity(0, os.sched_getaffinity(0))'
python3 -c 'import resource as r; r.setrlimit(r.RLIMIT_NOFILE, (9, r.getrlimit(r.RLIMIT_NOFILE)[1]))'
python3 -c 'import socket; socket.socket(socket.AF_UNIX).bind("/tmp/heard")'
python3 -c 'import os; open("/tmp/a", "w"); os.setxattr("/tmp/a", "user.x", b"1")' || true
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


def test_a_program_that_is_not_there_has_not_started_and_is_told(shared: Seen) -> None:
    shared.clear()
    assert shared.box is not None
    python(shared.box, "import subprocess\ntry: subprocess.run(['no-such-program', 'a b'])\nexcept OSError: pass")
    assert len(shared.kind("exec")) == 1
    (absent,) = shared.kind("attempt")
    assert (absent.code, absent.errno, absent.allowed) == ("absent-program", "ENOENT", False)
    assert absent.path.endswith("/no-such-program") and absent.argv == ("no-such-program", "a b")


@pytest.mark.parametrize(
    ("text", "names"),
    [
        ("os.spawnvp(os.P_WAIT, 'one', ['one']); os.spawnvp(os.P_WAIT, 'two', ['two'])", ["one", "two"]),
        ("os.spawnv(os.P_WAIT, '/etc/passwd', ['passwd']); os.spawnv(os.P_WAIT, '/etc', ['etc'])", ["passwd", "etc"]),
        ("print([attempt('three'), attempt('four')]); os.execvp('true', ['true'])", ["three", "four"]),
        ("os.spawnvp(os.P_WAIT, 'true', ['true'])", []),
        ("libc.execve(b'', words(b'empty'), None)", ["empty"]),
        ("for path in ('/tmp/', '/usr/'): os.spawnv(os.P_WAIT, path, [path])", ["/tmp/", "/usr/"]),
        ("for path in (b'/one/', b'/bin/true/'): libc.execve(path, words(path), None)", ["/one/"]),
    ],
)
def test_every_program_that_was_not_found_is_told_once(shared: Seen, text: str, names: list[str]) -> None:
    shared.clear()
    assert shared.box is not None
    attempt = """
import ctypes, os
libc = ctypes.CDLL(None)
def words(*texts): return (ctypes.c_char_p * (len(texts) + 1))(*texts, None)
def attempt(name):
    try: os.execvp(name, [name])
    except OSError: pass
"""
    assert python(shared.box, attempt + text).exit_code == 0
    assert [one.argv[0] for one in shared.attempts("absent-program")] == names


def test_a_question_whether_a_program_may_start_is_no_start(shared: Seen) -> None:
    shared.clear()
    assert shared.box is not None
    text = """
import ctypes, os
words = (ctypes.c_char_p * 2)(b'asked', None)
ctypes.CDLL(None).syscall(322, os.open('/bin/true', os.O_PATH), b'', words, None, 0x11000)
"""
    assert python(shared.box, text).exit_code == 0
    assert [one.argv[0] for one in shared.kind("exec")] == [PYTHON]


@pytest.mark.parametrize(
    "start",
    ["sh script", "sh -e ./script", "./script", 'python3 -c \'import os; os.execv("/bin/sh", ["sh", "script"])\''],
)
def test_a_script_is_told_with_its_text_although_it_is_gone(shared: Seen, start: str) -> None:
    shared.clear()
    assert shared.box is not None
    text = "#!/bin/sh\nrm script\necho gone\n"
    shell(shared.box, f"cd /tmp; printf '{text}' > script; chmod +x script; {start}".replace("\n", "\\n"))
    (script,) = shared.kind("script")
    assert (script.path, script.text.decode()) == ("/tmp/script", text)
    starts = [one for one in shared.all if one.kind in ("script", "exec")]
    assert starts[starts.index(script) + 1].pid == script.pid


SCRIPTS = """
import fcntl, os, subprocess
os.chdir('/tmp')
def run(*words): subprocess.run(words, stdout=-3, stderr=-3)
def text(name, text):
    with open(name, 'w') as file: file.write(text)
"""
STARTS = {
    "a NUL in it": (
        "text('nul', '# one\\n\\0: a\\0b\\n'); run('bash', 'nul')",
        [("/tmp/nul", "whole", "# one\n: ab\n")],
    ),
    "an option with a value": (
        "text('v.py', '1'); run('python3', '-W', 'ignore', 'v.py')",
        [("/tmp/v.py", "whole", "1")],
    ),
    "a letter that asks for a text": (
        "text('m.py', '1'); run('python3', '-Wmc', 'm.py')",
        [("/tmp/m.py", "whole", "1")],
    ),
    "a decoy for the value": (
        "text('nounset', '1'); text('d.sh', '2'); text('data', '3'); run('bash', '-o', 'nounset', 'd.sh', 'data')",
        [("/tmp/nounset", "whole", "1"), ("/tmp/d.sh", "whole", "2")],
    ),
    "two values of one word": (
        "text('extglob', '1'); text('e.sh', '2'); run('bash', '-oO', 'pipefail', 'extglob', 'e.sh')",
        [("/tmp/extglob", "whole", "1"), ("/tmp/e.sh", "whole", "2")],
    ),
    "a script and data": (
        "text('s.py', '1'); text('data', '3'); run('python3', 's.py', 'data')",
        [("/tmp/s.py", "whole", "1")],
    ),
    "a lease on it": (
        "text('leased', '1'); fd = os.open('leased', os.O_RDONLY)\n"
        "import signal; signal.signal(signal.SIGIO, signal.SIG_IGN); fcntl.fcntl(fd, fcntl.F_SETLEASE, fcntl.F_WRLCK)\n"
        "pid = os.fork()\n"
        "if not pid: os.close(fd); os.execv('/bin/bash', ['bash', 'leased'])\n"
        "while open(f'/proc/{pid}/comm').read() != 'bash\\n': os.sched_yield()\n"
        "fcntl.fcntl(fd, fcntl.F_SETLEASE, fcntl.F_UNLCK); os.waitpid(pid, 0)",
        [("/tmp/leased", "unread", "")],
    ),
    "too long": ("text('long', '#' * 300_000); run('sh', 'long')", [("/tmp/long", "cut", "#" * (256 << 10))]),
    "a program": ("import shutil; shutil.copy('/bin/true', 'own'); run('./own'); run('sh', 'own')", []),
}


@pytest.mark.parametrize("start", STARTS)
def test_a_script_is_told_however_it_is_given(shared: Seen, start: str) -> None:
    shared.clear()
    assert shared.box is not None
    text, wanted = STARTS[start]
    finished = python(shared.box, SCRIPTS + text)
    assert finished.exit_code == 0, finished.stderr.prefix.decode()
    assert [(one.path, one.detail, one.text.decode()) for one in shared.kind("script")] == wanted


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
    first, ghost, true, itself, by_name = shared.kind("exec")
    assert ghost.path.startswith("/memfd:ghost") and ghost.argv == ("hidden",)
    assert true.path == "/usr/bin/true"
    assert (itself.path, by_name.path) == (first.path, "/usr/bin/true")
    assert itself.argv[0] == "/proc/self/exe" and by_name.argv[0].startswith("/dev/fd/")


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
    shell(shared.box, "/bin/true $(seq 100000 133000); y=$(printf '%0120000d'); /bin/true $y; /bin/true $y $y")
    _, _, many, *_, long, longer = shared.kind("exec")
    assert many.argv[:2] == ("/bin/true", "100000") and many.argv[-1] == "..." and len(many.argv) < 33_000
    assert long.argv == ("/bin/true", "0" * 120_000)
    assert longer.argv[1] == long.argv[1] and longer.argv[2].startswith("0000") and longer.argv[2].endswith("0...")
    assert [one.cut for one in (many, long, longer)] == [True, False, True]


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


SETTINGS = """
import socket, struct
kernel = socket.socket(socket.AF_NETLINK, socket.SOCK_RAW, 0)
def message(kind, size): return struct.pack('IHHII', size, kind, 0x301, 1, 0).ljust(size, b'\\0')
ASK, MAKE = 18, 16
kernel.sendto(message(ASK, 32) * 40, (0, 0))
for data in (message(ASK, 32) + message(MAKE, 32), message(ASK, 60_000) + message(MAKE, 32), message(ASK, 70_000)):
    try: kernel.sendto(data, (0, 0)); print('sent')
    except OSError as error: print(error.errno)
"""


def test_a_change_of_network_settings_behind_a_question_is_recorded() -> None:
    with open_directory() as top, guarded(top) as seen:
        assert seen.box is not None
        assert python(seen.box, SETTINGS).stdout.prefix == b"1\n1\n1\n"
        assert sum(one.count for one in seen.attempts("network") if one.detail == "network settings") == 3


LIMITS = """
import os, resource, signal
child = os.fork()
if not child: signal.pause()
def change(kind, more):
    soft, hard = resource.prlimit(child, kind)
    try: resource.prlimit(child, kind, (soft, hard + more)); print('changed')
    except PermissionError: print('refused')
change(resource.RLIMIT_FSIZE, 1)
resource.prlimit(child, resource.RLIMIT_NOFILE, (10, 20))
change(resource.RLIMIT_NOFILE, -1)
change(resource.RLIMIT_NOFILE, 1)
os.kill(child, 9)
"""


def test_a_raised_limit_of_another_process_is_recorded(shared: Seen) -> None:
    shared.clear()
    assert shared.box is not None
    assert python(shared.box, LIMITS).stdout.prefix == b"refused\nchanged\nrefused\n"
    told = [(one.code, one.detail) for one in shared.kind("attempt")]
    assert told == [("privilege", "limit 1"), ("raised-limit", "limit 7")]


def test_an_argument_that_is_too_long_for_a_path_is_no_script(shared: Seen) -> None:
    shared.clear()
    assert shared.box is not None
    assert shell(shared.box, f"python3 -c '{'# long' * 1000}'; python3 -c 1 {'long' * 2000}").exit_code == 0
    assert shared.kind("script") == []


ARRANGED = """
import ctypes, os, signal
event = (ctypes.c_int * 16)(0, 0, signal.SIGCHLD)
print(os.getpid(), ctypes.CDLL(None).syscall(222, 0, event, ctypes.create_string_buffer(8)))
"""


def test_a_timer_whose_signal_may_change_is_recorded_with_its_process(shared: Seen) -> None:
    shared.clear()
    assert shared.box is not None
    pid, result = python(shared.box, ARRANGED).stdout.prefix.split()
    assert result == b"0"
    told = [(one.syscall, one.target, one.signal) for one in shared.kind("signal")]
    assert told == [("timer_create", int(pid), 17)]


BY_DIRECTORY = """
import os, signal
child = os.fork()
if not child: signal.pause()
for pid in (1, child):
    try: signal.pidfd_send_signal(os.open(f'/proc/{pid}', os.O_RDONLY), 9)
    except PermissionError: print('refused')
print(child, os.waitpid(child, 0)[1])
"""


def test_a_signal_by_a_directory_of_proc_is_recorded_with_its_target(shared: Seen) -> None:
    shared.clear()
    assert shared.box is not None
    refused, child, status = python(shared.box, BY_DIRECTORY).stdout.prefix.decode().split()
    assert (refused, status) == ("refused", "9")
    assert [one.detail for one in shared.attempts("signal")] == ["signal 9 to 1"]
    assert [(one.target, one.signal) for one in shared.kind("signal")] == [(int(child), 9)]
