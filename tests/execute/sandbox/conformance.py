"""What any sandbox backend must do: promises of the interface, and small agents whose runs must come out alike.

``CHECKS`` holds one function for each promise, given a backend and a directory. A backend's own test file runs each of
them as every kind of user that it supports. ``AGENTS`` holds the agents, each with the result that every backend must
give; ``observed`` takes from a run what is compared between backends, and ``DIFFERENCES`` is the whole list of what may
differ, with the reasons.
"""

from __future__ import annotations

import errno
import hashlib
import json
import os
import re
import threading
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from unittest.mock import patch

import pytest

from proctor.base.errors import InfrastructureFault, UsageFault
from proctor.base.reversible_escapes import name_bytes
from proctor.execute.sandbox.interface import (
    Command,
    CommandLost,
    CommandResult,
    Limits,
    Mount,
    Output,
    SandboxPlan,
    Tree,
    owner,
)
from tests.execute.sandbox.workplace import PYTHON, VARIABLES, layer, opened, overlay, owned, python, shell

Check = Callable[[Any, Path], None]
CHECKS: list[Check] = []

WAIT = 60


def promise(check: Check) -> Check:
    CHECKS.append(check)
    return check


def listed(finished: CommandResult) -> list[str]:
    return finished.stdout.prefix.decode().split()


@promise
def a_command_runs_and_tells_how_it_ended(backend: Any, top: Path) -> None:
    with opened(backend, top) as sandbox:
        finished = shell(sandbox, "echo out; echo err >&2; exit 3")
        assert (finished.exit_code, finished.started, finished.timed_out, finished.problem) == (3, True, False, "")
        assert finished.stdout == Output(b"out\n", 4, hashlib.sha256(b"out\n").hexdigest())
        assert finished.stderr.prefix == b"err\n"
        assert finished.start_ns > 0 and finished.wall_ns > 0 and finished.cpu_ns >= 0
        assert shell(sandbox, "kill -TERM $$").exit_code == -15


@promise
def a_program_that_cannot_start_is_told_apart_from_one_that_fails(backend: Any, top: Path) -> None:
    base = layer(top / "layer", {"script": b"#!/no/such/interpreter\n", "text": b"just text\n"})
    (base / "workspace/script").chmod(0o755)
    with backend.open(SandboxPlan(overlay(top / "box", base), Limits())) as sandbox:
        for arguments, reason in (
            (("no-such-program",), "No such file"),
            (("/workspace/script",), "No such file"),
            (("/workspace/text",), "Permission denied"),
            (("/workspace",), "Permission denied"),
        ):
            finished = sandbox.run(Command(arguments, VARIABLES))
            assert not finished.started and reason in finished.problem and arguments[0] in finished.problem
        finished = sandbox.run(Command(("true",), VARIABLES, directory="/nowhere"))
        assert not finished.started and "/nowhere" in finished.problem
        finished = shell(sandbox, "no-such-program")
        assert finished.started and finished.exit_code == 127


@promise
def the_environment_is_exactly_what_was_given(backend: Any, top: Path) -> None:
    os.environ["PROCTOR_TEST_SECRET"] = "hunter2"
    with opened(backend, top) as sandbox:
        odd = {"A": "1", "ODD": "a\nb=c é", "EMPTY": ""}
        finished = sandbox.run(Command(("/usr/bin/env", "-0"), odd))
        assert sorted(finished.stdout.prefix.split(b"\0")) == sorted(
            [b"", *(f"{key}={value}".encode() for key, value in odd.items())]
        )
        assert b"hunter2" not in shell(sandbox, "cat /proc/*/environ 2>/dev/null").stdout.prefix


@promise
def arguments_arrive_unchanged_whatever_they_hold(backend: Any, top: Path) -> None:
    odd = ("", " ", "a b", "$HOME", "\n", "é", "\udcff", "--", "x" * 100_000)
    with opened(backend, top) as sandbox:
        show = "import sys; sys.stdout.buffer.write(b'|'.join(map(__import__('os').fsencode, sys.argv[1:])))"
        finished = sandbox.run(Command((PYTHON, "-c", show, *odd), VARIABLES))
        assert finished.stdout.prefix == b"|".join(os.fsencode(one) for one in odd)
        for bad in (Command(("true", "a\0b")), Command(())):
            try:
                sandbox.run(bad)
            except UsageFault:
                continue
            raise AssertionError(f"accepted {bad}")
        huge = sandbox.run(Command(("true", "x" * (1 << 22)), VARIABLES))
        assert not huge.started and "too long" in huge.problem


@promise
def standard_input_is_fed_and_then_ends(backend: Any, top: Path) -> None:
    data = os.urandom(3 << 20)
    with opened(backend, top) as sandbox:
        finished = shell(sandbox, "sha256sum | cut -c1-64", stdin=data)
        assert finished.stdout.prefix.decode().strip() == hashlib.sha256(data).hexdigest()
        assert shell(sandbox, "wc -c").stdout.prefix == b"0\n"
        assert shell(sandbox, "exec <&-; exit 4", stdin=data).exit_code == 4


@promise
def output_is_counted_and_hashed_whole_and_kept_in_part(backend: Any, top: Path) -> None:
    with opened(backend, top) as sandbox:
        finished = shell(sandbox, "head -c 50000000 /dev/zero; printf '\\377\\033[31m' >&2", output_bytes=1000)
        assert finished.stdout.prefix == bytes(1000) and finished.stdout.total_bytes == 50_000_000
        assert finished.stdout.sha256 == hashlib.sha256(bytes(50_000_000)).hexdigest()
        assert finished.stderr.prefix == b"\xff\x1b[31m"


@promise
def a_timeout_ends_the_command_and_all_it_started(backend: Any, top: Path) -> None:
    with opened(backend, top) as sandbox:
        finished = shell(sandbox, "setsid sleep 1000 & (setsid sleep 1000 &) ; echo on; sleep 1000", timeout_seconds=3)
        assert finished.timed_out and finished.started and finished.exit_code == -9
        assert finished.stdout.prefix == b"on\n"
        assert _sleepers(sandbox) == 0
        assert shell(sandbox, "echo still here").stdout.prefix == b"still here\n"


@promise
def a_command_whose_sandbox_is_closed_at_its_timeout_is_not_lost(backend: Any, top: Path) -> None:
    with opened(backend, top) as sandbox:
        box: Any = sandbox
        clock: Callable[[], int] = box.active_ns
        begin = clock()

        def close_in_time() -> int:
            now = clock()
            if now >= begin + 1_000_000_000:
                sandbox.close()
            return now

        with patch.object(box, "active_ns", close_in_time), pytest.raises(CommandLost) as lost:
            shell(sandbox, "echo on; sleep 1000", timeout_seconds=1)
        assert lost.value.finished.started and lost.value.finished.stdout.prefix == b"on\n"


def _sleepers(sandbox: Any) -> int:
    text = "cat /proc/[0-9]*/comm 2>/dev/null | grep -c '^sleep$'"
    return int(shell(sandbox, text).stdout.prefix)


@promise
def what_a_command_leaves_behind_goes_on_until_it_is_ended(backend: Any, top: Path) -> None:
    with opened(backend, top) as sandbox:
        shell(sandbox, "for i in 1 2 3; do sleep 1000 >/dev/null 2>&1 & done")
        wait_until(lambda: _sleepers(sandbox) == 3)
        sandbox.end_all()
        assert _sleepers(sandbox) == 0
        sandbox.end_all()


@promise
def a_left_over_process_that_prints_does_not_hold_up_its_command(backend: Any, top: Path) -> None:
    with opened(backend, top) as sandbox:
        assert shell(sandbox, "(trap '' PIPE; while :; do echo noise; done) & echo done").exit_code == 0


@promise
def commands_run_side_by_side(backend: Any, top: Path) -> None:
    with opened(backend, top) as sandbox:
        results: dict[int, CommandResult] = {}
        meet = (
            "import os\nopen('/tmp/at%d', 'w')\n"
            "while sum(name.startswith('at') for name in os.listdir('/tmp')) < 4: pass\nprint(%d)"
        )

        def one(number: int) -> None:
            results[number] = python(sandbox, meet % (number, number))

        threads = [threading.Thread(target=one, args=(number,)) for number in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join(WAIT * 2)
        assert {number: finished.stdout.prefix for number, finished in results.items()} == {
            number: b"%d\n" % number for number in range(4)
        }


@promise
def a_frozen_sandbox_stands_still(backend: Any, top: Path) -> None:
    with opened(backend, top) as sandbox:
        count = (
            "import os, time\nn = 0\nwhile not os.path.exists('/workspace/stop'):\n"
            " n += 1\n open('/workspace/n', 'w').write(str(n))\n time.sleep(0.01)"
        )
        results: list[CommandResult] = []
        worker = threading.Thread(target=lambda: results.append(python(sandbox, count, timeout_seconds=60)))
        worker.start()
        seen = top / "box" / "upper" / "workspace" / "n"
        wait_until(lambda: seen.exists() and bool(seen.read_text()))
        sandbox.freeze()
        sandbox.freeze()
        before = seen.read_text()
        threading.Event().wait(0.3)
        assert seen.read_text() == before and not results
        sandbox.thaw()
        sandbox.thaw()
        shell(sandbox, "touch /workspace/stop")
        worker.join(WAIT)
        assert results[0].exit_code == 0 and not results[0].timed_out


@promise
def a_frozen_sandbox_that_is_closed_never_runs_again(backend: Any, top: Path) -> None:
    count = "import os\nfile = os.open('/workspace/n', os.O_CREAT | os.O_WRONLY)\nwhile True: os.write(file, b'.')"
    with opened(backend, top) as sandbox:
        failed: list[InfrastructureFault] = []

        def act() -> None:
            try:
                python(sandbox, count, timeout_seconds=60)
            except InfrastructureFault as fault:
                failed.append(fault)

        worker = threading.Thread(target=act)
        worker.start()
        seen = top / "box" / "upper" / "workspace" / "n"
        wait_until(lambda: seen.exists() and seen.stat().st_size > 0)
        sandbox.freeze()
        before = seen.stat().st_size
        sandbox.close()
        worker.join(WAIT)
        assert seen.stat().st_size == before and failed


def wait_until(condition: Callable[[], bool]) -> None:
    for _ in range(WAIT * 100):
        if condition():
            return
        threading.Event().wait(0.01)
    raise AssertionError("it did not come about")


@promise
def frozen_processes_are_ended_without_running_again(backend: Any, top: Path) -> None:
    with opened(backend, top) as sandbox:
        shell(sandbox, "(while :; do date +%N > /workspace/n; done) >/dev/null 2>&1 &")
        seen = top / "box" / "upper" / "workspace" / "n"
        wait_until(seen.exists)
        sandbox.freeze()
        sandbox.end_all()
        before = seen.read_text()
        sandbox.thaw()
        assert int(shell(sandbox, "ls -d /proc/[0-9]* | wc -l").stdout.prefix) <= 5
        assert seen.read_text() == before


@promise
def a_frozen_sandbox_can_be_closed(backend: Any, top: Path) -> None:
    with opened(backend, top) as sandbox:
        shell(sandbox, "sleep 1000 >/dev/null 2>&1 &")
        sandbox.freeze()


@promise
def closing_twice_is_fine_and_using_afterwards_is_a_fault(backend: Any, top: Path) -> None:
    with opened(backend, top) as sandbox:
        sandbox.close()
        sandbox.close()
        for use in (lambda: shell(sandbox, "true"), sandbox.end_all, sandbox.freeze, sandbox.thaw, sandbox.usage):
            try:
                use()
            except InfrastructureFault:
                continue
            raise AssertionError("a closed sandbox was used")


@promise
def changes_land_in_the_upper_layer_alone(backend: Any, top: Path) -> None:
    lower = layer(top / "lower", {"keep": b"old", "gone": b"x"})
    upper = layer(top / "higher", {"keep": b"new"})
    plan = SandboxPlan(overlay(top / "box", upper, lower), Limits(), setup_writable=True)
    with backend.open(plan) as sandbox:
        text = "cat keep; rm gone; echo more > made; echo x > /setup/made; ls"
        assert listed(shell(sandbox, text)) == ["newkeep", "made"]
    assert (lower / "workspace/gone").exists() and not (upper / "workspace/made").exists()
    made = top / "box/upper/workspace/made"
    assert made.read_bytes() == b"more\n" and (made.stat().st_uid, made.stat().st_gid) == owner()
    assert (top / "box/upper/setup/made").exists()


@promise
def removals_are_applied_before_anything_runs_and_never_through_links(backend: Any, top: Path) -> None:
    files = {
        "a/b/one": b"",
        "a/b/two": b"",
        "c/only": b"",
        "d/deep/er/x": b"",
        "stays": b"",
        "odd\n\xff name".encode("latin-1").decode("utf-8", "surrogateescape"): b"",
    }
    base = layer(top / "layer", files)
    owned(top / "outside")
    (top / "outside/precious").write_bytes(b"")
    (base / "workspace/link").symlink_to(top / "outside")
    (base / "workspace/loop").symlink_to("a")
    removals = (
        b"workspace/a/b/one",
        b"workspace/c/only",
        b"workspace/d",
        b"workspace/link/precious",
        b"workspace/loop/b/two",
        b"workspace/absent/at/all",
        b"workspace/odd\n\xff name",
    )
    with backend.open(SandboxPlan(overlay(top / "box", base, removals=removals), Limits())) as sandbox:
        found = shell(sandbox, "find . -type f -o -type d -empty").stdout.prefix.decode().split()
        assert sorted(found) == ["./a/b/two", "./stays"]
    assert (top / "outside/precious").exists() and (base / "workspace/a/b/one").exists()


@promise
def removals_outside_the_workspace_are_refused(backend: Any, top: Path) -> None:
    base = layer(top / "layer")
    (top / "layer/precious").write_bytes(b"")
    for number, removal in enumerate((b"workspace/../precious", b"../x", b"workspace", b"workspace/..", b"")):
        plan = SandboxPlan(overlay(top / f"box{number}", base, removals=(removal,)), Limits())
        try:
            backend.open(plan).close()
        except InfrastructureFault:
            continue
        raise AssertionError(f"accepted {removal!r}")
    assert (top / "layer/precious").exists()


@promise
def a_plain_tree_serves_as_a_workspace(backend: Any, top: Path) -> None:
    tree = layer(top / "tree", {"file": b"content"})
    with backend.open(SandboxPlan(Tree(tree), Limits())) as sandbox:
        assert shell(sandbox, "cat file; echo new > file; ! touch /setup/x").exit_code == 0
    assert (tree / "workspace/file").read_bytes() == b"new\n"


@promise
def a_read_only_workspace_cannot_be_written(backend: Any, top: Path) -> None:
    plan = SandboxPlan(overlay(top / "box", layer(top / "base")), Limits(), workspace_writable=False)
    with backend.open(plan) as sandbox:
        finished = shell(sandbox, "touch /workspace/x")
        assert finished.exit_code == 1 and b"Read-only" in finished.stderr.prefix


@promise
def mounts_are_shown_read_only_unless_declared_writable(backend: Any, top: Path) -> None:
    odd = owned(top / "odd , : \\ name\n") / "inner"
    owned(odd)
    (odd / "file").write_bytes(b"shown")
    (top / "single").write_bytes(b"one file")
    out = owned(top / "out")
    mounts = (Mount(odd, "/inputs"), Mount(top / "single", "/etc/tool.cfg"), Mount(out, "/results", writable=True))
    with backend.open(SandboxPlan(overlay(top / "box", layer(top / "base")), Limits(), mounts=mounts)) as sandbox:
        finished = shell(sandbox, "cat /inputs/file /etc/tool.cfg; echo r > /results/r; touch /inputs/x /etc/tool.cfg")
        assert finished.stdout.prefix == b"shownone file" and finished.exit_code == 1
    assert (out / "r").read_bytes() == b"r\n"


@promise
def mounts_over_the_sandbox_itself_are_refused(backend: Any, top: Path) -> None:
    base = layer(top / "base")
    for number, target in enumerate(("/proc", "/usr/x", "/workspace", "relative", "/a/../b", "/", "/dev/x")):
        plan = SandboxPlan(overlay(top / f"box{number}", base), Limits(), mounts=(Mount(top, target),))
        try:
            backend.open(plan).close()
        except UsageFault:
            continue
        raise AssertionError(f"accepted {target}")


@promise
def a_workspace_deep_below_a_private_directory_works(backend: Any, top: Path) -> None:
    private = top / "private"
    private.mkdir(mode=0o700)
    deep = private / ("d" * 200) / ("e" * 200)
    with opened(backend, deep) as sandbox:
        assert shell(sandbox, "echo x > made && cat made").stdout.prefix == b"x\n"


@promise
def usage_is_told_as_far_as_the_machine_can(backend: Any, top: Path) -> None:
    with opened(backend, top) as sandbox:
        python(sandbox, "b = bytearray(50 << 20); sum(range(3000000))")
        usage = sandbox.usage()
        assert usage.cpu_ns is not None and usage.cpu_ns > 10_000_000
        assert usage.memory_peak_bytes is None or usage.memory_peak_bytes > 50 << 20
        assert usage.oom_kills in (None, 0) and usage.processes in (None, 0)


CACHED = """
import os
handle = os.open('/usr/bin/python3', os.O_RDONLY)
os.posix_fadvise(handle, 0, 0, os.POSIX_FADV_DONTNEED)
try: os.preadv(handle, [bytearray(1)], 0, os.RWF_NOWAIT)
except OSError as error: print(error.errno, os.preadv(handle, [bytearray(1)], 0))
"""


@promise
def what_is_cached_of_shared_files_cannot_be_asked_for(backend: Any, top: Path) -> None:
    """Code in one sandbox could leave a message there for code in the next one."""
    with opened(backend, top) as sandbox:
        assert python(sandbox, CACHED).stdout.prefix == b"%d 1\n" % errno.EOPNOTSUPP


COOKIES = """
import socket
for family in (socket.AF_UNIX, socket.AF_INET):
    one = socket.socket(family)
    for option in (57, 71):
        try: print(one.getsockopt(socket.SOL_SOCKET, option, 8))
        except OSError as error: print(error.errno)
    print(one.getsockopt(socket.SOL_SOCKET, socket.SO_TYPE))
"""


@promise
def counters_of_the_machine_cannot_be_asked_for_by_sockets(backend: Any, top: Path) -> None:
    """The same: whoever advances such a counter leaves a number for the next sandbox."""
    with opened(backend, top) as sandbox:
        refused = b"%d\n" % errno.ENOPROTOOPT
        assert python(sandbox, COOKIES).stdout.prefix == (refused * 2 + b"1\n") * 2


FORKS = """
import os, time
while True:
    try:
        if os.fork() == 0:
            time.sleep(1000)
    except BlockingIOError:
        time.sleep(0.01)
"""


@promise
def a_full_house_is_counted_as_full(backend: Any, top: Path) -> None:
    """B4: as many processes are counted as the limit allows, so that a cap at the limit is reached."""
    with opened(backend, top, Limits(processes=20)) as sandbox:
        forking = threading.Thread(target=python, args=(sandbox, FORKS))
        forking.start()
        try:
            wait_until(lambda: sandbox.usage().processes in (None, 20))
        finally:
            while forking.is_alive():  # it may begin only now
                sandbox.end_all()
                forking.join(0.1)


@promise
def nothing_stays_when_it_is_closed(backend: Any, top: Path) -> None:
    with opened(backend, top) as sandbox:
        shell(sandbox, "(setsid sleep 1000 &) >/dev/null 2>&1")
        assert os.listdir(top / "sessions")
    assert os.listdir(top / "sessions") == []


@promise
def a_sandbox_may_outlive_the_thread_that_opened_it(backend: Any, top: Path) -> None:
    made: list[Any] = []
    plan = SandboxPlan(overlay(top / "box", layer(top / "base")), Limits())
    opener = threading.Thread(target=lambda: made.append(backend.open(plan)))
    opener.start()
    opener.join(WAIT)
    with made[0] as sandbox:
        assert shell(sandbox, "echo alive").stdout.prefix == b"alive\n"


@promise
def the_identity_names_the_root_and_stays_the_same(backend: Any, top: Path) -> None:
    first = backend.identity()
    assert {"kind", "os", "packages", "python3"} <= set(first) and first["packages"].startswith("sha256:")
    assert backend.identity() == first


@dataclass(frozen=True)
class SmallAgent:
    """A shell script as an agent, what its contract adds, and the result that every backend must give.

    ``seconds`` bound the agent's time from below and above. They do not depend on how long a backend takes to open and
    close a sandbox.
    """

    script: str
    status: str
    attribution: str
    reason: str = "finished"
    seconds: tuple[float, float] = (0, 5)
    parts: Mapping[str, Any] = field(default_factory=dict)


_BUDGET = {"wall_seconds": 60, "memory_bytes": 256 << 20}
_FIX = "sed -i s/-/+/ calc.py"

_FACTS = {
    "uid": "id -u",
    "name": "id -un",
    "groups": "id -G",
    "home": "echo $HOME; stat -c %a $HOME",
    "environment": "env | cut -d= -f1 | grep -v '^_$' | sort | tr '\\n' ' '",
    "hostname": "cat /proc/sys/kernel/hostname",
    "accounts": "wc -l < /etc/passwd",
    "interfaces": "tail -n +3 /proc/net/dev | wc -l",
    "first process": "cat /proc/1/comm",
    "privileges": "grep -h '^Cap\\|^NoNewPrivs\\|^Seccomp:' /proc/self/status | tr -s '\\t\\n' '  '",
    "limits": "ulimit -n; ulimit -c",
    "writable": "for d in / /etc /usr /var /var/tmp /tmp /dev/shm /workspace /setup /run /sys; do"
    " ( : > $d/.probe ) 2>/dev/null && echo $d; done",
    "devices": "ls /dev",
    "etc": "ls /etc",
}
"""What an agent can see of its sandbox, by commands."""

AGENTS = {
    "solves": SmallAgent(f"cat calc.py; {_FIX}", "success", "nobody"),
    "does-nothing": SmallAgent("true", "failure", "agent"),
    "fails": SmallAgent("exit 7", "failure", "agent", "failed"),
    "takes-a-second": SmallAgent(f"{_FIX}; sleep 1", "success", "nobody", seconds=(1, 1.9)),
    "snoops": SmallAgent(
        f"cat ~/.ssh/* >/dev/null; echo x > /etc/mine; {_FIX}; "
        'python3 -c "import socket; socket.socket().connect((\\"10.1.2.3\\", 80))"; true',
        "success",
        "nobody",
    ),
    "uses-up-its-time": SmallAgent(
        f"{_FIX}; sleep 100", "success", "nobody", "wall-ceiling", (2, 4), {"budget": {**_BUDGET, "wall_seconds": 2}}
    ),
    "is-held-to-its-command-ceiling": SmallAgent(
        f"sleep 100; {_FIX}", "success", "nobody", seconds=(2, 7), parts={"budget": {**_BUDGET, "command_seconds": 2}}
    ),
    "starts-too-many-programs": SmallAgent(
        "for i in 1 2 3 4 5 6 7 8 9; do /bin/ls >/dev/null; sleep 0.2; done; sleep 100",
        "failure",
        "agent",
        "terminated",
        (0, 20),
        {"budget": {**_BUDGET, "tool_calls": 5}},
    ),
    "fills-its-memory": SmallAgent(
        'python3 -c "b = []\nwhile True: b.append(bytearray(1 << 20))"; true',
        "failure",
        "agent",
        seconds=(0, 30),
        parts={"budget": _BUDGET},
    ),
    "forks-without-end": SmallAgent(
        'python3 -c "import os\nfor i in range(500):\n try: os.fork() or os.pause()\n except OSError: break" & '
        f"sleep 1; {_FIX}",
        "success",
        "nobody",
        seconds=(1, 30),
        parts={"budget": {**_BUDGET, "processes": 40}},
    ),
    "looks-around": SmallAgent(
        "; ".join(f'echo "{name}=$({command})"' for name, command in _FACTS.items()) + f"; {_FIX}", "success", "nobody"
    ),
    "kills-itself": SmallAgent(f"{_FIX}; kill -9 $$", "success", "nobody", "failed"),
}

DIFFERENCES = {
    ("looks-around", "says uid"): "containers have no user namespace: the unprivileged user has its number on the host",
    ("looks-around", "says groups"): "the same of its group",
    ("looks-around", "says devices"): "engines add /dev/mqueue and omit the link /dev/core; neither leads anywhere",
    (
        "looks-around",
        "says etc",
    ): "/etc is the image's, but for accounts and names; on the host it is made from scratch",
    ("uses-up-its-time", "exit_code"): "the breaker and the command's own timeout reach the ceiling at the same moment,"
    " on every backend; if the breaker is first, the sandbox is closed and no exit code is known",
}
"""What may differ between backends, by agent and field, and why. Nothing else may."""


def observed(directory: Path) -> dict[str, Any]:
    """What is compared of a run: its result, what was decided on the way, and which kinds of events it recorded."""
    report = json.loads((directory / "report.json").read_bytes())
    events = [json.loads(line) for line in (directory / "events.jsonl").read_bytes().splitlines()]

    def of(kind: str) -> list[dict[str, Any]]:
        return [event["payload"] for event in events if event["type"] == kind]

    (ended,) = of("agent.finished")
    ended_by = [one["code"] for one in of("run.terminated")]
    said = "".join(name_bytes(one["stdout"]["prefix"]).decode() for one in of("tool.invocation"))
    facts = dict(part.split("=", 1) for part in re.split(rf"\n(?=(?:{'|'.join(_FACTS)})=)", said) if "=" in part)
    return {
        **{f"says {name}": text.strip() for name, text in facts.items()},
        "status": report["status"],
        "attribution": report["attribution"],
        "reason": "wall-ceiling" if "wall-ceiling" in ended_by else ended["reason"],
        "exit_code": ended["exit_code"],
        "terminated": ended_by,
        "alerts": sorted({(one["code"], one["grade"]) for one in of("monitor.alert")}),
        "interventions": [one["action"] for one in of("intervention")],
        "findings": sorted({one["code"] for one in of("safety.finding")}),
        "attempts": sorted({(one["code"], one["path"], one["errno"]) for one in of("guard.attempt")}),
        "programs": sorted({one["argv"][0] for one in of("guard.exec")}),
        "events": sorted({event["type"] for event in events}),
    }
