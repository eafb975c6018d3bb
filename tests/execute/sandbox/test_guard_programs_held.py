"""Programs beyond the number that was allowed wait, told one at a time; and a slow harness loses no record."""

from __future__ import annotations

import time
from pathlib import Path

from proctor.execute.sandbox.guard_observations import Observation
from proctor.execute.sandbox.interface import CommandResult
from tests.execute.sandbox.guarded import Seen, guarded
from tests.execute.sandbox.test_guard_life import as_both, beside, live
from tests.execute.sandbox.workplace import open_directory, python

WAIT = 60
THREE = "/bin/true & /bin/true & /bin/true & wait; echo done"
FLOOD = """
import os
deep = "/etc/" + "/".join(["d" * 200] * 8)
for number in range(1500):
    try:
        open(f"{deep}/{number}", "w")
    except OSError:
        pass
"""


def names(seen: Seen) -> list[str]:
    return [one.argv[0] for one in seen.kind("exec")]


def test_a_program_beyond_the_allowed_ones_waits_and_the_rest_is_not_told_before_it() -> None:
    def check(top: Path) -> None:
        with guarded(top, programs=2) as seen:
            results: list[CommandResult] = []
            worker = beside(seen, THREE, results)
            seen.wait_for("exec", 3)
            assert len(names(seen)) == 3 and not results, "sh, one that starts, and one that waits"
            live(seen).allow_programs(3)
            seen.wait_for("exec", 4)
            assert len(names(seen)) == 4 and not results
            live(seen).allow_programs(None)
            worker.join(WAIT)
            assert results[0].stdout.prefix == b"done\n"
            assert len(names(seen)) == 4

    as_both(check)


def test_a_program_that_waits_lets_the_sandbox_freeze() -> None:
    with open_directory() as top, guarded(top, programs=1) as seen:
        assert seen.box is not None
        results: list[CommandResult] = []
        worker = beside(seen, "/bin/true; echo done", results)
        seen.wait_for("exec", 2)
        seen.box.freeze()
        seen.box.thaw()
        live(seen).allow_programs(None)
        worker.join(WAIT)
        assert results[0].stdout.prefix == b"done\n"


def test_a_program_that_waits_dies_with_the_sandbox() -> None:
    with open_directory() as top, guarded(top, programs=1) as seen:
        assert seen.box is not None
        results: list[CommandResult] = []
        worker = beside(seen, "/bin/true; echo done", results)
        seen.wait_for("exec", 2)
        seen.box.end_all()
        worker.join(WAIT)
        assert results[0].exit_code == -9 and results[0].stdout.prefix == b""


def test_a_harness_that_lags_behind_loses_nothing() -> None:
    told: list[Observation] = []

    def tell(observation: Observation) -> None:
        if not told:
            time.sleep(1)  # as long as nobody reads, whoever acts waits once the guard has enough
        told.append(observation)

    with open_directory() as top, guarded(top, notify=tell) as seen:
        assert seen.box is not None
        assert python(seen.box, FLOOD).exit_code == 0
        live(seen).settle()
        assert [one for one in told if one.kind == "lost"] == []
        assert sum(one.count for one in told if one.code == "write-outside") == 1500
