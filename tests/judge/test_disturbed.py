"""Attempts that the machine disturbs: killed from outside, kept from running, without memory. Real sandboxes."""

from __future__ import annotations

import signal
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from proctor.contract.model import Rerun, SetupStep
from proctor.execute.judging_slots import Slots
from proctor.execute.sandbox.interface import MOST_STRETCH
from proctor.judge import check_execution
from tests.hostkill import WAIT, init_of, killer
from tests.hostload import load

FIXED = "def add(a, b):\n    return a + b\n"
ADDS = "import calc; assert calc.add(1, 1) == 2"
WAITS = f"{WAIT}; {ADDS}"
SUICIDE = "import os\ndef add(a, b):\n    os.kill(os.getpid(), 9)\n"


def marked_check(bench: Any, marker: str, text: str = ADDS, **fields: Any) -> Any:
    """A check of one program that a killer finds by ``marker``."""
    run = ("/usr/bin/python3", "-c", text, marker)
    whole = {"run": run, "results": "exit-code", "must_pass": (), "keep_passing": (), "timeout_seconds": 30}
    return bench.check(**{**whole, **fields})


def attempts(judged: Any) -> list[tuple[str, int, str, str]]:
    return [(one["tree"], one["attempt"], one["outcome"], one["set_aside"]) for one in judged.of("check.finished")]


@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGTERM, signal.SIGSEGV, signal.SIGHUP])
def test_j4_a_check_killed_from_outside_is_repeated_and_passes(bench: Any, number: int) -> None:
    marker = f"outside-{number}"
    with killer(marker, number=number) as killed:
        judged = bench.judge(bench.contract(marked_check(bench, marker, WAITS)), {"calc.py": FIXED})
    assert len(killed) == 1
    assert judged.outcome()[0] == "pass", judged.why()
    assert attempts(judged) == [("patched", 1, "error", "killed"), ("patched", 2, "pass", "")]
    (decided,) = judged.of("check.decided")
    assert (decided["attempts"], decided["set_aside"], decided["attribution"]) == (1, 1, "")


def test_j4_a_check_whose_sandbox_is_killed_is_repeated(bench: Any) -> None:
    with killer("whole-sandbox", whom=init_of) as killed:
        judged = bench.judge(bench.contract(marked_check(bench, "whole-sandbox", WAITS)), {"calc.py": FIXED})
    assert len(killed) == 1
    assert attempts(judged) == [("patched", 1, "error", "killed"), ("patched", 2, "pass", "")]


@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGTERM])
def test_j4_a_program_killed_below_a_shell_is_repeated(bench: Any, number: int) -> None:
    marker = f"below-{number}"
    text = f"/usr/bin/python3 -c '{WAITS}' {marker}; exit $?"
    with killer(marker, number=number):
        judged = bench.judge(
            bench.contract(marked_check(bench, marker, run=("/bin/sh", "-eu", "-c", text))), {"calc.py": FIXED}
        )
    assert [one[3] for one in attempts(judged)] == ["killed", ""]
    assert judged.outcome()[0] == "pass"


def test_j4_a_test_runner_killed_behind_a_shell_that_hides_it_is_repeated(bench: Any) -> None:
    tests = {"tests/test_calc.py": f"import calc\ndef test_add():\n    {WAIT}; assert calc.add(1, 1) == 2\n"}
    marker = "cache_dir=/tmp/behind-a-shell"
    text = f"/usr/bin/python3 -m pytest -q tests -k add -o {marker} || true"
    check = bench.check(run=("/bin/sh", "-eu", "-c", text), keep_passing=())
    with killer(marker) as killed:
        judged = bench.judge(bench.contract(check), {"calc.py": FIXED, **tests})
    assert len(killed) == 1
    assert judged.outcome() == ("pass", "tests", ""), judged.why()


def test_j4_a_death_that_repeats_is_the_agents_where_the_base_completes(bench: Any) -> None:
    judged = bench.judge(bench.contract(marked_check(bench, "suicide")), {"calc.py": SUICIDE})
    assert judged.outcome() == ("error", "runner-crash", "agent")
    assert [(tree, aside) for tree, _, _, aside in attempts(judged)] == [
        ("patched", "killed"),
        ("patched", ""),
        ("base", ""),
    ]


def test_j4_a_killed_attempt_on_the_base_is_repeated_too(bench: Any) -> None:
    # only the base's module waits, so that no attempt on the patched tree is killed from outside
    tree = {"calc.py": f"{WAIT}\ndef add(a, b):\n    return a - b\n"}
    check = marked_check(bench, "base-too", "import calc; calc.add(1, 1)")
    with killer("base-too") as killed:
        judged = bench.judge(bench.contract(check), {"calc.py": SUICIDE}, tree=tree)
    assert len(killed) == 1
    assert judged.outcome() == ("error", "runner-crash", "agent"), judged.why()
    assert ("base", 2, "pass", "") in attempts(judged)


def test_j4_each_attempt_of_a_rerun_is_replaced_by_its_own(bench: Any) -> None:
    check = marked_check(bench, "many", WAITS, rerun=Rerun(times=3, decide="all"))
    with killer("many", which=(0, 2)) as killed:
        judged = bench.judge(bench.contract(check), {"calc.py": FIXED})
    assert len(killed) == 2
    assert judged.outcome()[0] == "pass", judged.why()
    counted = [one for one in attempts(judged) if not one[3]]
    assert len(counted) == 3
    assert len({one[1] for one in attempts(judged)}) == len(attempts(judged)) == 5
    (entry,) = judged.results["checks"]
    assert [(one["tree"], one["attempt"]) for one in entry["attempts"]] == [one[:2] for one in attempts(judged)]


def test_j4_a_setup_step_killed_from_outside_is_repeated(bench: Any) -> None:
    run = ("/usr/bin/python3", "-c", f"{WAIT}; open('/setup/made', 'w').write('x')", "step")
    contract = bench.contract(
        bench.check(run=("/bin/cat", "/setup/made"), results="exit-code", must_pass=(), keep_passing=()),
        setup=(SetupStep(run=run, repeat="after_patch"),),
    )
    with killer("step") as killed:
        judged = bench.judge(contract, {"calc.py": FIXED})
    assert len(killed) == 1
    assert judged.outcome()[0] == "pass", judged.why()
    assert [step["set_aside"] for step in judged.of("setup.step")] == [True, False]
    assert len(judged.results["setup"]) == 1


def test_j4_the_sandboxs_own_want_of_memory_is_told_apart(bench: Any) -> None:
    hungry = "def add(a, b):\n    return len(bytearray(3 << 30))\n"
    contract = bench.contract(marked_check(bench, "hungry"))
    contract = replace(contract, budget=replace(contract.budget, memory_bytes=128 << 20))
    judged = bench.judge(contract, {"calc.py": hungry})
    assert judged.outcome() == ("error", "out-of-memory", "agent"), judged.why()
    assert attempts(judged)[0] == ("patched", 1, "error", "")


def test_j5_cpu_seconds_count_processes_that_nobody_waited_for(bench: Any) -> None:
    spin = "import time\nwhile time.process_time() < 0.5: pass\nopen('/tmp/done', 'w')"
    text = (
        f"import os, subprocess, time; subprocess.Popen(['/usr/bin/python3', '-c', {spin!r}])\n"
        "while not os.path.exists('/tmp/done'): time.sleep(0.05)\nos._exit(0)"
    )
    check = marked_check(bench, "left", text)
    judged = bench.judge(bench.contract(check), {"calc.py": FIXED})
    (one,) = judged.of("check.finished")
    assert 0.5 <= float(one["cpu_seconds"]) < 1.5


def test_j5_a_command_that_waits_by_itself_times_out_and_is_the_agents(bench: Any) -> None:
    sleeps = "import time\ndef add(a, b):\n    time.sleep(60)\n"
    judged = bench.judge(bench.contract(marked_check(bench, "sleeps", timeout_seconds=2)), {"calc.py": sleeps})
    assert judged.outcome() == ("error", "timeout", "agent"), judged.why()
    first = judged.patched()
    assert float(first["observed_seconds"]) < 4
    assert float(first["stalled_seconds"]) < 1


def test_j5_a_timeout_under_pressure_is_repeated_and_then_the_harnesss(
    bench: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    stretch = MOST_STRETCH
    monkeypatch.setattr(check_execution, "MOST_STRETCH", 2)
    burn = "import time, calc\nwhile time.process_time() < 0.5: pass"
    check = marked_check(bench, "burns", burn, timeout_seconds=1)
    with load():
        judged = bench.judge(bench.contract(check), {"calc.py": FIXED})
    assert judged.outcome() == ("error", "machine-pressure", "harness"), judged.why()
    assert attempts(judged) == [("patched", 1, "error", "machine-pressure"), ("patched", 2, "error", "")]
    for one in judged.of("check.finished"):
        assert float(one["stalled_seconds"]) > 1
        assert one["stall_source"] in ("cgroup", "machine")
    monkeypatch.setattr(check_execution, "MOST_STRETCH", stretch)
    alone = bench.judge(bench.contract(check), {"calc.py": FIXED})
    assert alone.outcome()[0] == "pass", alone.why()


def test_j5_checks_wait_for_a_slot_and_the_wait_is_recorded(bench: Any, tmp_path: Path) -> None:
    asked, released = threading.Event(), []

    class Watched(Slots):
        """Says when somebody asks for a slot."""

        @contextmanager
        def hold(self) -> Iterator[int]:
            asked.set()
            with super().hold() as waited_ns:
                yield waited_ns

    def release() -> None:
        asked.wait()
        time.sleep(1.5)
        released.append(time.time_ns())
        held.__exit__(None, None, None)

    bench.slots = Watched(tmp_path / "slots", 1)
    held = Slots(tmp_path / "slots", 1).hold()
    held.__enter__()
    thread = threading.Thread(target=release, daemon=True)
    thread.start()
    judged = bench.judge(bench.contract(marked_check(bench, "waits", timeout_seconds=1)), {"calc.py": FIXED})
    thread.join()
    (one,) = judged.of("check.finished")
    assert judged.outcome()[0] == "pass", "the timeout is shorter than the wait, and begins after it"
    assert float(one["waited_seconds"]) > 1
    assert int(one["start"]) >= released[0]
