"""A real test suite under a guard, and the same suite without one at the same time: processor time of everything.

The suite is this project's own, those of its files that need neither a sandbox nor an installation. What counts
is the time of the sandbox's control group, or of its commands where there is none, that of the guard itself, and that
of the harness's threads, which turn what the guard tells into events of a trace with breakers, as a run does.

Both run side by side, so that whatever else the machine does slows both alike; the median of the rounds' ratios
decides. What contracts get by default has a bar. What they get by ``policy.reads: files`` is measured for information.
"""

from __future__ import annotations

import os
import shutil
import statistics
import sysconfig
import tempfile
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from bench.measure import Row, milliseconds, ratio
from proctor.base.clock import SystemClock, system_entropy
from proctor.base.frozen import replace
from proctor.conduct.watched import WatchedTrace
from proctor.execute.sandbox.bubblewrap.backend import BubblewrapBackend
from proctor.execute.sandbox.guard import GuardPlan, Observation
from proctor.execute.sandbox.guard_process import LiveGuard
from proctor.execute.sandbox.interface import Command, Limits, Mount, SandboxPlan, Tree, owner
from proctor.execute.watch.panel import Panel

BAR = 1.05
PROJECT = Path(__file__).resolve().parent.parent
PARTS = ("tests/conftest.py", "tests/record", "tests/contract", "src/proctor", "pyproject.toml", "examples", "docs")
FILES = (
    *("tests/record/test_seal.py", "tests/record/test_shelf.py", "tests/record/test_manifest.py"),
    *("tests/contract/test_lock.py", "tests/contract/test_scaffold.py"),
)
SUITE = ("/usr/bin/python3", "-m", "pytest", "-q", "-p", "no:cacheprovider", *FILES)
VARIABLES = {"PATH": "/usr/bin:/bin", "HOME": "/home/agent", "PYTHONPATH": "/site:/workspace/src:/workspace"}
GUARDS = {
    "suite under a guard": GuardPlan(),
    "suite, every open watched": GuardPlan(opens=True, canaries=("/home/agent/.ssh/id_ed25519",)),
}


def measure(directory: Path, *, quick: bool) -> list[Row]:
    directory.chmod(0o755)
    trees = _tree(directory / "one"), _tree(directory / "other")
    rows = []
    for name, guard in GUARDS.items():
        _side_by_side(directory, trees, guard)  # warms up, and is not counted
        rounds = [_side_by_side(directory, trees[:: (1, -1)[turn % 2]], guard) for turn in range(2 if quick else 9)]
        cost = statistics.median(watched / bare for bare, watched in rounds)
        bare, watched = (statistics.median(times) for times in zip(*rounds, strict=True))
        judged = guard.asks_about_reads is False
        bar, passed = (f"<= {BAR:.2f} x", cost <= BAR) if judged else ("", None)
        rows.append(Row(name, milliseconds(watched), milliseconds(bare), ratio(cost, 1), bar, passed))
    return rows


def _side_by_side(directory: Path, trees: tuple[Path, ...], guard: GuardPlan) -> tuple[float, float]:
    """The seconds that the suite takes without a guard and with one."""
    with ThreadPoolExecutor(2) as pool:
        bare = pool.submit(_cpu_seconds, directory / "bare", trees[0], None)
        watched = pool.submit(_cpu_seconds, directory / "watched", trees[1], guard)
        return bare.result(), watched.result()


def _tree(tree: Path) -> Path:
    for part in PARTS:
        target = tree / "workspace" / part
        target.parent.mkdir(parents=True, exist_ok=True)
        if (PROJECT / part).is_dir():
            shutil.copytree(PROJECT / part, target, symlinks=True)
        else:
            shutil.copy2(PROJECT / part, target)
    (tree / "setup").mkdir()
    for path in (tree, *tree.rglob("*")):
        os.chown(path, *owner(), follow_symlinks=False)
    return tree


def _cpu_seconds(sessions: Path, tree: Path, guard: GuardPlan | None) -> float:
    """What one run of the suite takes, with the guard's own time and the harness's."""
    with tempfile.TemporaryDirectory() as directory:
        path = Path(directory, "events.jsonl")
        with WatchedTrace.create(path, SystemClock(), system_entropy) as trace:
            trace.watch(Panel(), lambda decision: None)
            trace.append("agent.started", {"name": "suite", "kind": "bench", "command": list(SUITE)})
            return _under_watch(sessions, tree, guard, trace)


def _under_watch(sessions: Path, tree: Path, guard: GuardPlan | None, trace: WatchedTrace) -> float:
    telling_ns = 0

    def tell(observation: Observation) -> None:
        nonlocal telling_ns
        trace.append(f"guard.{observation.kind}", observation.payload())
        telling_ns = time.thread_time_ns()

    site = Mount(Path(sysconfig.get_path("purelib")), "/site")
    told = None if guard is None else replace(guard, tell=tell)
    plan = SandboxPlan(Tree(tree), Limits(), mounts=(site,), guard=told)
    with BubblewrapBackend(sessions).open(plan) as sandbox:
        begun = time.thread_time_ns()
        finished = sandbox.run(Command(SUITE, VARIABLES))
        assert finished.exit_code == 0, finished.stdout.prefix[-2000:].decode()
        if sandbox.guard is not None:
            sandbox.guard.settle()
        used = (sandbox.usage().cpu_ns or 0) + time.thread_time_ns() - begun + telling_ns
        if isinstance(sandbox.guard, LiveGuard):
            used += int(Path(f"/proc/{sandbox.guard.pid}/schedstat").read_text().split()[0])
    return used / 1e9
