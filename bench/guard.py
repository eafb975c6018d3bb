"""Real test suites under a guard, and the same without one at the same time: processor time of everything.

The suites are those of three of the example contracts, from the registry, each in the sandbox that its contract asks
for. This project's own tests of files, which change thousands of them, are measured for information, and so is what
``policy.reads: files`` adds. What counts is the time of the sandbox's control group, or of its commands where there is
none, that of the guard itself, and that of the harness's threads, which turn what the guard tells into events of a
trace with breakers, as a run does.

Both run side by side, so that whatever else the machine does slows both alike; the median of the rounds' ratios
decides.
"""

from __future__ import annotations

import os
import shutil
import statistics
import subprocess
import sysconfig
import tempfile
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass, replace
from pathlib import Path

from bench.measure import Row, milliseconds, ratio
from proctor.base.clock import SystemClock, system_entropy
from proctor.cli.wiring import machine
from proctor.conduct.run.trace_monitor import MonitoredTrace
from proctor.contract.load import load_contract
from proctor.execute.monitor.breakers.breaker_panel import BreakerPanel
from proctor.execute.prepare import declared_mounts, limits_of
from proctor.execute.sandbox.bubblewrap.backend import BubblewrapBackend
from proctor.execute.sandbox.guard_observations import GuardPlan, Observation
from proctor.execute.sandbox.guard_process import LiveGuard
from proctor.execute.sandbox.interface import Command, Limits, Mount, SandboxPlan, Tree, owner
from proctor.execute.workspace.workspace import Workspace

BAR = 1.05
PROJECT = Path(__file__).resolve().parent.parent
PARTS = (
    *("tests/conftest.py", "tests/forked.py", "tests/session.py", "tests/record", "tests/contract"),
    *("src/proctor", "tools", "pyproject.toml", "examples", "docs"),
)
FILES = (
    *("tests/record/test_seal.py", "tests/record/test_run_store.py", "tests/record/test_manifest.py"),
    *("tests/contract/test_lock.py", "tests/contract/test_scaffold.py"),
)
SUITE = ("/usr/bin/python3", "-m", "pytest", "-q", "-p", "no:cacheprovider", *FILES)
VARIABLES = {"PATH": "/usr/bin:/bin", "HOME": "/home/agent", "PYTHONPATH": "/site:/workspace/src:/workspace"}
EXAMPLES = ("itsdangerous-huge-timestamp", "sqlparse-keep-hints", "tabulate-digits-with-commas")
DEFAULT = GuardPlan()
EVERY_OPEN = GuardPlan(reads=True)


@dataclass(frozen=True)
class Suite:
    """A command, and how the sandbox is made in which it runs; ``place`` is for this one sandbox."""

    command: Command
    plan: Callable[[Path], AbstractContextManager[SandboxPlan]]


def measure(directory: Path, *, quick: bool) -> list[Row]:
    directory.chmod(0o755)
    real = [_example(directory, name) for name in EXAMPLES]
    own = [_own(directory)]
    return [
        _row("suites of three projects under a guard", directory, real, DEFAULT, quick, judged=True),
        _row("the same, every open watched", directory, real, EVERY_OPEN, quick, judged=False),
        _row("own tests of files under a guard", directory, own, DEFAULT, quick, judged=False),
    ]


def _row(name: str, directory: Path, suites: list[Suite], guard: GuardPlan, quick: bool, *, judged: bool) -> Row:
    """All of ``suites`` as one; the first round warms up and is not counted."""
    rounds = [_round(directory, suites, guard) for _ in range(1 + (2 if quick else 9))][1:]
    cost = statistics.median(watched / bare for bare, watched in rounds)
    bare, watched = (statistics.median(times) for times in zip(*rounds, strict=True))
    bar, passed = (f"<= {BAR:.2f} x", cost <= BAR) if judged else ("", None)
    return Row(name, milliseconds(watched), milliseconds(bare), ratio(cost, 1), bar, passed)


def _round(directory: Path, suites: list[Suite], guard: GuardPlan) -> tuple[float, float]:
    """The seconds that the suites take without a guard and with one."""
    bare = watched = 0.0
    with ThreadPoolExecutor(2) as pool:
        for suite in suites:
            one = pool.submit(_cpu_seconds, directory / "bare", suite, None)
            other = pool.submit(_cpu_seconds, directory / "watched", suite, guard)
            bare, watched = bare + one.result(), watched + other.result()
    return bare, watched


def _example(directory: Path, name: str) -> Suite:
    """The acceptance check of an example contract, on the tree that the task starts from."""
    os.environ["PROCTOR_HOME"] = str(directory / "home")
    contract = load_contract(PROJECT / "examples" / name)
    here = machine()
    prepared = here.prepare(contract)
    (check,) = (check for check in contract.checks if check.gate == "acceptance")

    @contextmanager
    def plan(place: Path) -> Iterator[SandboxPlan]:
        overlays = here.backend(contract).overlays()
        workspace = Workspace.create(prepared.layers, place / "tree", overlays=overlays)
        try:
            yield SandboxPlan(workspace.view(), limits_of(contract.budget), mounts=declared_mounts(contract))
        finally:
            workspace.discard()

    return Suite(Command(check.run, prepared.environment, check.directory), plan)


def _own(directory: Path) -> Suite:
    tree = _tree(directory / "own")
    site = Mount(Path(sysconfig.get_path("purelib")), "/site")

    @contextmanager
    def plan(place: Path) -> Iterator[SandboxPlan]:
        copy = place / "tree"
        subprocess.run(["cp", "-a", tree, copy], check=True)
        yield SandboxPlan(Tree(copy), Limits(), mounts=(site,))

    return Suite(Command(SUITE, VARIABLES), plan)


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


def _cpu_seconds(sessions: Path, suite: Suite, guard: GuardPlan | None) -> float:
    """What one run of the suite takes, with the guard's own time and the harness's."""
    with tempfile.TemporaryDirectory() as directory:
        place = Path(directory)
        place.chmod(0o755)
        with MonitoredTrace.create(place / "events.jsonl", SystemClock(), system_entropy) as trace:
            trace.watch(BreakerPanel(), lambda decision: None)
            trace.append("agent.started", {"name": "suite", "kind": "bench", "command": list(suite.command.arguments)})
            with suite.plan(place) as plan:
                return _under_watch(sessions, suite.command, plan, guard, trace)


def _under_watch(
    sessions: Path, command: Command, plan: SandboxPlan, guard: GuardPlan | None, trace: MonitoredTrace
) -> float:
    telling_ns = 0

    def tell(observation: Observation) -> None:
        nonlocal telling_ns
        if observation.kind != "script":  # read for the rules on words, and no event
            trace.append(f"guard.{observation.kind}", observation.payload())
        telling_ns = time.thread_time_ns()

    told = None if guard is None else replace(guard, notify=tell)
    with BubblewrapBackend(sessions).open(replace(plan, guard=told)) as sandbox:
        begun = time.thread_time_ns()
        finished = sandbox.run(command)
        if finished.exit_code not in (0, 1):
            raise AssertionError((finished.stdout.prefix + finished.stderr.prefix)[-2000:].decode())
        if sandbox.guard is not None:
            sandbox.guard.settle()
        used = (sandbox.usage().cpu_ns or 0) + time.thread_time_ns() - begun + telling_ns
        if isinstance(sandbox.guard, LiveGuard):
            used += int(Path(f"/proc/{sandbox.guard.pid}/schedstat").read_text().split()[0])
    return used / 1e9
