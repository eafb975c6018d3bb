"""Agents that spend as fast as they can: counted caps are passed by one step at most, and that step never happens."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

Proctor = Callable[..., subprocess.CompletedProcess[str]]

ONE_BY_ONE = """
import subprocess
while True:
    subprocess.run(["sh", "-c", "echo >> ran"])
"""
ALL_AT_ONCE = """
import subprocess
running = [subprocess.Popen(["sh", "-c", "echo >> ran"]) for _ in range(300)]
for one in running:
    one.wait()
"""
IN_THREADS = """
import subprocess, threading
def spend():
    while True:
        subprocess.run(["sh", "-c", "echo >> ran"])
for _ in range(8):
    threading.Thread(target=spend).start()
"""
CALL_IN_CALL = """
import subprocess
for _ in range(3):
    subprocess.run(["sh", "-c", "for n in 1 2 3 4 5 6 7 8 9; do /bin/true; done; echo >> ran"])
"""
BEHIND_A_CALL = """
import os, subprocess
behind = subprocess.Popen(["sleep", "1000"])
for _ in range(60):
    if not (fork := os.fork()):
        subprocess.run(["sh", "-c", "echo >> ran"])
        os._exit(0)
    os.waitpid(fork, 0)
behind.kill()
"""
AS_DAEMONS = """
import os, subprocess
behind = subprocess.Popen(["sleep", "1000"])
heard, done = os.pipe()
for _ in range(60):
    if not (fork := os.fork()):
        os.setsid()
        if not os.fork():
            while os.getppid() != 1:
                os.sched_yield()
            subprocess.run(["sh", "-c", "echo >> ran"])
            os.write(done, b"x")
        os._exit(0)
    os.waitpid(fork, 0)
    os.read(heard, 1)
behind.kill()
"""
BEFORE_A_CALL = """
import os, subprocess
heard, done = os.pipe()
def serve():
    for _ in range(60):
        subprocess.run(["sh", "-c", "echo >> ran"])
    os.write(done, b"x")
    os._exit(0)
if not (fork := os.fork()):
    if os.fork():
        os.execvp("sleep", ["sleep", "1000"])
    while open(f"/proc/{os.getppid()}/comm").read() != "sleep\\n":
        os.sched_yield()
    serve()
os.read(heard, 1)
os.kill(fork, 9)
"""
FORKS_IN_CALLS = """
import subprocess
behind = subprocess.Popen(["sleep", "1000"])
for _ in range(2):
    subprocess.run(["sh", "-c", "(/bin/true; (/bin/true | /bin/cat)); for n in 1 2 3; do (/bin/true) & done; wait"])
    subprocess.run(["python3", "-c", "import os; os.fork() or os.system('/bin/true'); os.system('/bin/true')"])
    subprocess.run(["sh", "-c", OUTLIVING])
behind.kill()
"""
# The first program of the sub-shell is seen while the shell lives, the second one after the shell's end.
OUTLIVING = "(/bin/true; : > seen; while kill -0 $$; do :; done; /bin/true) & while [ ! -e seen ]; do :; done; rm seen"
FORKS_IN_CALLS = FORKS_IN_CALLS.replace("OUTLIVING", repr(OUTLIVING))


@pytest.fixture
def spend(proctor: Proctor, make_contract: Any, tmp_path: Path) -> Callable[..., tuple[dict[str, Any], list[Any], int]]:
    def run(script: str, *options: object, **budget: Any) -> tuple[dict[str, Any], list[Any], int]:
        """The report, the events, and how many programs got as far as to leave a line."""
        agent = tmp_path / "agent"
        agent.mkdir()
        (agent / "spend.py").write_text(script)
        contract = make_contract(budget={"wall_seconds": 120, **budget})
        arguments = ("--agent", "command:python3 /agent/spend.py", "--agent-files", agent, *options, "--json")
        done = proctor("run", contract, *arguments)
        (row,) = json.loads(done.stdout)["runs"]
        for check in (("verify",), ("replay", "--breakers")):
            again = proctor(*check, row["run"])
            assert again.returncode == 0, again.stdout + again.stderr
        directory = Path(row["evidence"])
        events = [json.loads(line) for line in (directory / "events.jsonl").read_bytes().splitlines()]
        lines = (directory / "workspace" / "final.patch").read_bytes().split(b"+++ b/ran")
        ran = sum(line == b"+" for line in lines[1].splitlines()) if len(lines) > 1 else 0
        return json.loads((directory / "report.json").read_bytes()), events, ran

    return run


def calls_in(events: list[Any]) -> int:
    """The programs that the agent's own process was seen to start."""
    programs = [event["payload"] for event in events if event["type"] == "guard.exec"]
    return len({payload["pid"] for payload in programs if payload["parent"] == programs[0]["pid"]})


@pytest.mark.parametrize("script", [ONE_BY_ONE, ALL_AT_ONCE, IN_THREADS], ids=["in a row", "at once", "in threads"])
def test_a_cap_on_tool_calls_is_passed_by_one_at_most(spend: Any, script: str) -> None:
    report, events, ran = spend(script, tool_calls=7)
    assert report["termination"]["code"] == "tool-call-cap"
    assert calls_in(events) == 8, "the run ends at the first that is too many"
    assert ran <= 7, "and that one never starts"


def test_what_a_call_starts_waits_for_nobody_to_run_out(spend: Any) -> None:
    report, events, ran = spend(CALL_IN_CALL, tool_calls=3)
    assert report["termination"]["code"] is None
    assert (calls_in(events), ran) == (3, 3)
    assert sum(event["type"] == "guard.exec" for event in events) == 1 + 3 * 10


@pytest.mark.parametrize(
    "script", [BEHIND_A_CALL, AS_DAEMONS, BEFORE_A_CALL], ids=["by forks", "by daemons", "by a fork from before"]
)
def test_no_fork_hides_behind_a_call_that_is_kept_open(spend: Any, script: str) -> None:
    report, events, ran = spend(script, tool_calls=7)
    assert report["termination"]["code"] == "tool-call-cap"
    assert sum(event["type"] == "guard.exec" for event in events) == 1 + 8, "the agent, seven calls and one too many"
    assert ran <= 6, "one call sleeps"


def test_forks_inside_of_calls_are_no_calls(spend: Any) -> None:
    report, events, _ = spend(FORKS_IN_CALLS, tool_calls=8)
    assert report["termination"]["code"] is None
    assert calls_in(events) == 7
    assert sum(event["type"] == "guard.exec" for event in events) > 20


def test_a_cap_on_cost_is_reached_and_not_passed(spend: Any, tmp_path: Path) -> None:
    prices = tmp_path / "prices.csv"
    prices.write_text("action_type,unit,unit_price\ntool_call,call,0.01\n")
    report, events, ran = spend(IN_THREADS, "--prices", prices, usd="0.10")
    assert report["termination"]["code"] == "cost-cap"
    actions = [event["payload"]["action"] for event in events if event["type"] == "intervention"]
    assert actions[-1] == "kill" and "throttle" in actions, "slowed down first, which freezes what waits"
    assert calls_in(events) == 9, "0.09 may be spent: a tenth is kept for acceptance"
    assert ran <= 8


def test_a_cap_on_resolutions_is_passed_by_one_at_most(spend: Any) -> None:
    script = 'import subprocess\nfor _ in range(50):\n    subprocess.run(["pip", "install", "--no-index", "nothing"])\n'
    report, events, _ = spend(script, dependency_resolutions=2)
    assert report["termination"]["code"] == "dependency-resolution-cap"
    assert calls_in(events) == 3
