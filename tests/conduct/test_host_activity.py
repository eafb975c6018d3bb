"""W2: whatever processes of the host do around a run, nothing of it is in the trace."""

from __future__ import annotations

import json
import os
import shlex
import subprocess
import threading
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from proctor.cli.main import run_command
from tests.conduct.live import Proctor, Seen, check, ended, release, sandbox_processes, start
from tests.conduct.test_control_live import BUDGET, TICKING, acting
from tests.conftest import ContractMaker
from tests.execute.sandbox.workplace import ORDINARY, as_ordinary_user, open_directory

MARK = "host-activity-mark"
ROUNDS = 2
POLICY = {"canaries": True, "reads": "all"}


def activities(home: Path, child: subprocess.Popen[str]) -> list[list[str]]:
    """What a host may do: searches, backups, scans, another user, looks into the processes of the sandbox."""
    top = str(home)
    shell = ["sh", "-c"]
    found = [
        ["grep", "-r", "-s", MARK, top],
        [*shell, f"tar cf - {top} 2>/dev/null | wc -c # {MARK}"],
        [*shell, f"find {top} -type f -exec md5sum {{}} + > /dev/null 2>&1 # {MARK}"],
        [*shell, f"cp -r {top} {top}-copy 2>/dev/null; rm -rf {top}-copy # {MARK}"],
        [*shell, f"find {top} -name '*' -newer / > /dev/null 2>&1 # {MARK}"],
        [*shell, f"du -a {top} > /dev/null 2>&1; ls -lR {top} > /dev/null 2>&1 # {MARK}"],
        [*shell, f"cat /proc/*/environ /proc/*/cmdline > /dev/null 2>&1 # {MARK}"],
        [*shell, f"ps axe > /dev/null 2>&1; mount > /dev/null # {MARK}"],
        [*shell, f"curl -s http://127.0.0.1:9/{MARK}; getent hosts localhost > /dev/null"],
    ]
    for pid in sandbox_processes(child):
        found.append([*shell, f"grep -rs {MARK} /proc/{pid}/root/workspace"])
        if os.readlink(f"/proc/{pid}/cwd") != "/":  # not the whole system
            found.append([*shell, f"grep -rs {MARK} /proc/{pid}/cwd/"])
    return found


def reads_of_canaries(home: Path, child: subprocess.Popen[str]) -> list[list[str]]:
    """Searches and backups that read the files in the agent's home, canaries among them."""
    found = []
    for place in (f"/proc/{pid}/root/home" for pid in sandbox_processes(child)):
        found.append(["sh", "-c", f"grep -rs {MARK} {place}"])
        found.append(["sh", "-c", f"find {place} -type f -exec cat {{}} + > /dev/null 2>&1 # {MARK}"])
    return found


@pytest.mark.parametrize("commands", [activities, reads_of_canaries])
def test_w2_nothing_that_the_host_does_around_a_run_is_in_its_trace(
    proctor: Proctor, make_contract: Any, tmp_path: Path, commands: Callable[..., list[list[str]]]
) -> None:
    home = tmp_path / "home"
    child = start(make_contract(policy=POLICY, budget=BUDGET), home, TICKING)
    (directory,) = acting(home, child)
    for _ in range(ROUNDS):
        for command in commands(home, child):
            subprocess.run(command, stdin=subprocess.DEVNULL, capture_output=True, check=False)
            if os.geteuid() == 0:
                subprocess.run(command, stdin=subprocess.DEVNULL, capture_output=True, check=False, user=ORDINARY)
    release(child)
    seen = ended(child, directory)
    check(proctor, seen.run)
    _nothing_of_the_host(seen, home)


def test_w2_an_ordinary_user_records_the_agents_reads_of_canaries_and_no_others(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """The first run is root's: it loads what the child could not read once it has given up root."""
    with open_directory() as top:
        top.chmod(0o777)
        contract = ContractMaker(top)("small", policy={"canaries": True}, budget=BUDGET)

        def go(home: Path, script: str) -> Seen:
            monkeypatch.setenv("PROCTOR_HOME", str(home))
            run = threading.Thread(target=run_command, args=(["run", str(contract), "--agent", command(script)],))
            run.start()
            if "sed" in script:
                this: Any = SimpleNamespace(pid=os.getpid(), poll=lambda: None)
                acting(home, this)
                for one in reads_of_canaries(home, this):
                    read = subprocess.run(one, stdin=subprocess.DEVNULL, capture_output=True, check=False)
                    assert "Permission" not in read.stderr.decode()
                release(this)
            run.join()
            (directory,) = (home / "runs").iterdir()
            return Seen(directory)

        def ordinary() -> None:
            _nothing_of_the_host(go(top / "host", TICKING), top / "host")
            seen = go(top / "agent", "cat ~/.ssh/id_ed25519 > /dev/null")
            (read,) = [one for one in seen.of("guard.attempt") if one["code"] == "read-canary"]
            assert read["argv"][0] == "cat" and read["pid"] > 1

        go(top / "root", "true")
        as_ordinary_user(ordinary)


def command(script: str) -> str:
    """The agent that runs ``script``."""
    return f"command:sh -c {shlex.quote(script)}"


def _nothing_of_the_host(seen: Seen, home: Path) -> None:
    events = [event for event in seen.events if event["type"].startswith(("guard.", "words.", "monitor.alert"))]
    assert MARK not in json.dumps(seen.events)
    assert not [event for event in events if event["payload"].get("code") == "read-canary"]
    programs = {event["payload"]["argv"][0] for event in events if event["type"] == "guard.exec"}
    assert programs <= {"sh", "/usr/bin/python3", "sed"}, programs
    assert str(home) not in json.dumps([event["payload"] for event in events])
