"""Real agents that a signal ends: from outside, which is the machine's, and from inside, which is their own."""

from __future__ import annotations

import json
import signal
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.conduct.live import Seen, check
from tests.hostkill import WAIT, init_of, killer

Proctor = Callable[..., subprocess.CompletedProcess[str]]
WAITS = f"import signal; signal.signal(signal.SIGINT, signal.SIG_DFL); {WAIT}"
"""Without its handler for SIGINT, which would send the signal to itself once more."""


def attempt(proctor: Proctor, contract: Path, agent: str, *arguments: str) -> Seen:
    """One run of a program; its evidence must hold."""
    done = proctor("run", contract, "--agent", f"command:{agent}", *arguments, "--json")
    assert done.stdout, done.stderr
    (row,) = json.loads(done.stdout)["runs"]
    check(proctor, row["run"])
    return Seen(Path(row["evidence"]))


def assert_of_the_machine(seen: Seen, number: int) -> None:
    assert (seen.report["status"], seen.report["attribution"]) == ("invalid", "harness"), seen.report["problems"]
    assert seen.report["termination"]["reason"] == "killed"
    assert f"killed by signal {number}" in seen.report["problems"][0]
    assert seen.of("patch.extracted"), "what it had made is on record"


@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGTERM, signal.SIGINT])
def test_j4_an_agent_killed_from_outside_is_no_failure_of_the_agent(
    proctor: Proctor, make_contract: Any, number: int
) -> None:
    marker = f"agent-{number}"
    with killer(marker, number=number) as killed:
        seen = attempt(proctor, make_contract(), f"python3 -c '{WAITS}' {marker}")
    assert len(killed) == 1
    assert_of_the_machine(seen, number)


def test_j4_a_program_below_a_shell_killed_from_outside_is_no_failure_either(
    proctor: Proctor, make_contract: Any, tmp_path: Path
) -> None:
    files = tmp_path / "agent"
    files.mkdir()
    (files / "go.sh").write_text(f"python3 -c '{WAIT}' below-shell\nexit $?\n")
    with killer("below-shell") as killed:
        seen = attempt(proctor, make_contract(), "sh /agent/go.sh", "--agent-files", str(files))
    assert len(killed) == 1
    assert_of_the_machine(seen, 9)


def test_j4_an_agent_whose_sandbox_is_killed_is_no_failure_of_the_agent(proctor: Proctor, make_contract: Any) -> None:
    with killer("lost-box", whom=init_of):
        work = f'open("made", "w").write("work\\n"); {WAIT}'
        seen = attempt(proctor, make_contract(), f"python3 -c '{work}' lost-box")
    assert (seen.report["status"], seen.report["attribution"]) == ("invalid", "harness")
    assert seen.report["termination"]["reason"] == "killed"
    assert "+work" in seen.patch, "what it had made is on record"


OWN_ENDS = {
    "kill": "import os; os.kill(os.getpid(), 9)",
    "term": "import os; os.kill(os.getpid(), 15)",
    "group": "import os; os.killpg(0, 9)",
    "all": "import os, time\nif not os.fork(): os.kill(-1, 9)\ntime.sleep(20)",
    "child": "import os, time\nif not os.fork(): os.kill(os.getppid(), 9)\ntime.sleep(20)",
    "thread": "import signal, threading; signal.pthread_kill(threading.get_ident(), 9)",
    "pidfd": "import os, signal; signal.pidfd_send_signal(os.pidfd_open(os.getpid()), 9)",
    "limit": "import resource\nresource.setrlimit(resource.RLIMIT_CPU, (1, 1))\nwhile True: pass",
    "descriptor": (
        "import fcntl, os, time\nr, w = os.pipe()\nfcntl.fcntl(r, fcntl.F_SETOWN, os.getpid())\n"
        "fcntl.fcntl(r, 10, 9)\nfcntl.fcntl(r, fcntl.F_SETFL, fcntl.fcntl(r, fcntl.F_GETFL) | os.O_ASYNC)\n"
        "os.write(w, b'x'); time.sleep(20)"
    ),
    "timer": (
        "import ctypes, struct, time\nlibc = ctypes.CDLL(None)\n"
        "event = ctypes.create_string_buffer(struct.pack('qii', 0, 9, 0), 64)\ntimer = ctypes.c_int()\n"
        "assert libc.syscall(222, 0, event, ctypes.byref(timer)) == 0\n"
        "when = ctypes.create_string_buffer(struct.pack('qqqq', 0, 0, 0, 1000))\n"
        "assert libc.syscall(223, timer, 0, when, None) == 0\ntime.sleep(20)"
    ),
    "terminal": (
        "import os, fcntl, termios, time\nmaster, slave = os.openpty()\nfcntl.ioctl(slave, termios.TIOCSCTTY, 0)\n"
        "os.tcsetpgrp(slave, os.getpgrp()) if os.getpid() != os.getpgrp() else None\nos.close(master)\ntime.sleep(20)"
    ),
    "exit-code": "raise SystemExit(137)",
    "parents-death": (
        "import ctypes, os, threading, time\n"
        "def start():\n"
        "    if not os.fork():\n"
        "        ctypes.CDLL(None).prctl(1, 9)\n"
        "        os.execv('/usr/bin/sleep', ['sleep', '20'])\n"
        "    time.sleep(1)\n"
        "thread = threading.Thread(target=start); thread.start(); thread.join(); os.wait()\nraise SystemExit(137)"
    ),
    "memory": "bytearray(3 << 30)",
}


@pytest.mark.soak
@pytest.mark.parametrize("way", OWN_ENDS)
def test_j4_an_agent_cannot_make_a_failure_disappear_by_ending_itself(
    proctor: Proctor, make_contract: Any, tmp_path: Path, way: str
) -> None:
    files = tmp_path / "agent"
    files.mkdir()
    (files / "end.py").write_text(OWN_ENDS[way] + "\n")
    contract = make_contract(budget={"memory_bytes": 256 << 20})
    seen = attempt(proctor, contract, "python3 /agent/end.py", "--agent-files", str(files))
    code = seen.report["termination"]["exit_code"]
    assert code not in (0, 1), (way, code, seen.of("tool.invocation"))
    assert (seen.report["status"], seen.report["attribution"]) == ("failure", "agent"), seen.report["problems"]


@pytest.mark.parametrize("name", ["ABRT", "SEGV", "FPE"])
def test_j4_a_crash_is_the_agents_own_end_and_is_judged(proctor: Proctor, make_contract: Any, name: str) -> None:
    seen = attempt(proctor, make_contract(), f"sh -c 'kill -{name} $$'")
    assert seen.report["status"] == "failure"
    assert seen.report["termination"]["reason"] == "failed"
