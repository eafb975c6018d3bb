"""The load that the harness itself makes, and signals from outside, change no verdict and blame no agent."""

from __future__ import annotations

import json
import random
import signal
import subprocess
import sys
from collections import Counter
from collections.abc import Callable
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest

from tests.conduct.live import Seen
from tests.hostkill import killer

Proctor = Callable[..., subprocess.CompletedProcess[str]]

BURN = "import time, calc\nwhile time.process_time() < 0.33: pass\nassert calc.add(2, 2) == 4"
TIMEOUT_SECONDS = 1
"""Three times what the check takes when it is alone."""

FIX = "python3 -c \"import time; s = open('calc.py').read(); open('calc.py', 'w').write(s.replace('-', '+')); \
exec('while time.process_time() < 0.3: pass')\""


def tight(make_contract: Any) -> Path:
    """A contract whose check has little time."""
    run = ["/usr/bin/python3", "-c", BURN]
    made: Path = make_contract(checks=[{**make_contract.CHECK, "run": run, "timeout_seconds": TIMEOUT_SECONDS}])
    return made


def verdicts(proctor: Proctor, contract: Path, each: int, jobs: int) -> Counter[tuple[str, str, str]]:
    """How often each agent came to each status, and whose doing that is."""
    agents = ("--agent", f"command:{FIX}", "--agent", "noop", "--agent", "reference")
    done = proctor("run", contract, *agents, "-n", str(each), "--jobs", str(jobs), "--json")
    assert done.stdout, done.stderr
    rows = json.loads(done.stdout)["runs"]
    return Counter((row["agent"], row["status"], row["attribution"]) for row in rows)


@pytest.mark.parametrize(("each", "jobs"), [(4, 12), pytest.param(22, 64, marks=pytest.mark.soak)])
def test_j5_many_jobs_give_the_same_verdicts_as_one(proctor: Proctor, make_contract: Any, each: int, jobs: int) -> None:
    contract = tight(make_contract)
    alone = verdicts(proctor, contract, 1, 1)
    assert sorted(status for _, status, _ in alone) == ["failure", "success", "success"]
    assert verdicts(proctor, contract, each, jobs) == Counter(dict.fromkeys(alone, each))


def test_j5_two_harnesses_with_one_home_share_the_slots(proctor: Proctor, make_contract: Any, tmp_path: Path) -> None:
    contract = tight(make_contract)
    arguments = ["run", str(contract), "--agent", "reference", "-n", "4", "--jobs", "4", "--judge-slots", "1", "--json"]
    proctor("run", contract, "--agent", "reference")
    children = [
        subprocess.Popen(
            [sys.executable, "-m", "proctor", *arguments],
            stdout=subprocess.PIPE,
            text=True,
            env={"PATH": "/usr/bin:/bin", "PROCTOR_HOME": str(tmp_path / "home")},
        )
        for _ in range(2)
    ]
    spans = []
    for child in children:
        output, _ = child.communicate(timeout=300)
        for row in json.loads(output)["runs"]:
            assert row["status"] == "success"
            (finished,) = Seen(Path(row["evidence"])).of("check.finished")
            spans.append((int(finished["start"]), int(finished["end"])))
    spans.sort()
    assert len(spans) == 8
    assert all(earlier[1] <= later[0] for earlier, later in pairwise(spans)), spans


@pytest.mark.parametrize("times", [6, pytest.param(100, marks=pytest.mark.soak)])
def test_j4_checks_killed_from_outside_are_never_the_agents(proctor: Proctor, make_contract: Any, times: int) -> None:
    run = ["/usr/bin/python3", "-c", "import time, calc; time.sleep(0.5); assert calc.add(2, 2) == 4", "killed-check"]
    contract = make_contract(checks=[{**make_contract.CHECK, "run": run}])
    chance = random.Random(20260307)
    killed = 0
    while killed < times:
        number = chance.choice([signal.SIGKILL, signal.SIGTERM, signal.SIGSEGV, signal.SIGHUP])
        with killer("killed-check", number=number, delay_seconds=chance.uniform(0, 0.3)) as pids:
            done = proctor("run", contract, "--agent", "reference", "--json")
        (row,) = json.loads(done.stdout)["runs"]
        assert row["status"] == "success", row
        killed += len(pids)


@pytest.mark.parametrize("times", [6, pytest.param(100, marks=pytest.mark.soak)])
def test_j4_agents_killed_from_outside_are_never_failures(proctor: Proctor, make_contract: Any, times: int) -> None:
    contract = make_contract()
    chance = random.Random(20260307)
    agent = "python3 -c 'import time; time.sleep(20)' killed-agent"
    killed = 0
    while killed < times:
        number = chance.choice([signal.SIGKILL, signal.SIGTERM, signal.SIGHUP, signal.SIGUSR1])
        with killer("killed-agent", number=number, delay_seconds=chance.uniform(0, 0.3)) as pids:
            done = proctor("run", contract, "--agent", f"command:{agent}", "--json")
        (row,) = json.loads(done.stdout)["runs"]
        assert (row["status"], row["attribution"]) == ("invalid", "harness"), row
        killed += len(pids)
