"""Pools of inverted tests: made from the reference of a contract and stored in the home under the contract's id.

The home is never mounted into a sandbox, so no agent sees a pool. A contract without a reference has no pool, because
nothing shows which variants must fail. Reports say so.
"""

from __future__ import annotations

import fcntl
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

from proctor.base.canonical import canonical, parse
from proctor.base.errors import UsageFault
from proctor.base.files import write_whole
from proctor.conduct.machine_setup import Machine
from proctor.conduct.reference_patch import reference_patch
from proctor.contract.model import Check, Contract
from proctor.execute.judging_slots import processors
from proctor.execute.prepare import PreparedBase
from proctor.execute.proctor_home import Home
from proctor.judge.check_execution import attempt, make_ready
from proctor.judge.checks.acceptance import reference_tree
from proctor.judge.checks.inverted_tests.variant_pool import CheckPool, Pool, is_inverted, read_pool, tests_of
from proctor.judge.checks.inverted_tests.variant_screening import Screening
from proctor.judge.checks.judge_context import JudgeContext, JudgedTree
from proctor.record.run_directory import RunDirectory
from proctor.record.trace.writer import TraceWriter

NONCE_BYTES = 16
Notify = Callable[[str], None]


def known_pool(home: Home, content_id: str) -> Pool | None:
    """The pool of a contract; ``None`` if none was made or its record cannot be read."""
    try:
        return read_pool(parse(_path(home, content_id).read_bytes()))
    except (OSError, ValueError, KeyError, TypeError):
        return None


def ensure_pool(machine: Machine, prepared: PreparedBase, notify: Notify = lambda _: None) -> Pool | None:
    """The pool of a prepared contract, made now if there is none yet; ``None`` if the contract needs none."""
    if not _needs_pool(prepared.contract):
        return None
    with _locked(machine.home, prepared.content_id) as path:
        known = known_pool(machine.home, prepared.content_id)
        if known is not None:
            return known
        notify(f"making inverted tests for {prepared.contract.name}")
        return _stored(make_pool(machine, prepared), path)


def remake_pool(machine: Machine, prepared: PreparedBase) -> Pool | None:
    """The pool of a prepared contract, always made again; ``None`` if the contract needs none.

    Runs in progress use the pool that existed before.
    """
    if not _needs_pool(prepared.contract):
        return None
    with _locked(machine.home, prepared.content_id) as path:
        return _stored(make_pool(machine, prepared), path)


def _needs_pool(contract: Contract) -> bool:
    return contract.reference is not None and any(map(is_inverted, contract.checks))


@contextmanager
def _locked(home: Home, content_id: str) -> Iterator[Path]:
    """The path of a pool, which no other process makes meanwhile."""
    path = _path(home, content_id)
    path.parent.mkdir(parents=True, exist_ok=True)
    with open(f"{path}.lock", "ab") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield path


def _stored(pool: Pool, path: Path) -> Pool:
    write_whole(path, canonical(pool.record()))
    return pool


def make_pool(machine: Machine, prepared: PreparedBase) -> Pool:
    """Try variants of the hidden tests on the reference, and keep those that fail as they must."""
    with machine.scratch("variants") as place:
        run = RunDirectory(place / "run").create()
        scratch = place / "scratch"
        scratch.mkdir()
        patch = reference_patch(prepared, scratch)
        with TraceWriter.create(run.events, machine.clock, machine.entropy) as trace:
            bench = JudgeContext(
                prepared=prepared,
                backend=machine.backend(prepared.contract),
                scratch=scratch,
                trace=trace,
                run=run,
                clock=machine.clock,
                entropy=machine.entropy,
                slot=machine.slots.hold,
            )
            inverted = [check for check in prepared.contract.checks if is_inverted(check)]
            try:
                with reference_tree(bench, patch) as scene:
                    checks = tuple(_pool_of(bench, check, scene) for check in inverted)
            except UsageFault as fault:
                checks = tuple(
                    CheckPool(check.id, without=tests_of(check), problem=fault.message) for check in inverted
                )
    return Pool(prepared.content_id, checks)


def rounds_at_once() -> int:
    """How many rounds run side by side: one for each processor that this process may use."""
    return processors()


def _pool_of(bench: JudgeContext, check: Check, scene: JudgedTree) -> CheckPool:
    alone = attempt(bench, make_ready(bench, check, scene, 1))
    taken_ms = alone.finished.wall_ns // 1_000_000
    return Screening(bench, check, scene, rounds_at_once()).pool(bench.entropy(NONCE_BYTES), taken_ms)


def _path(home: Home, content_id: str) -> Path:
    return home.variants / f"{content_id.removeprefix('sha256:')}.json"
