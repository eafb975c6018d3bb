"""Judge patches without a run: the same sandboxes, checks and parsers, and nothing is stored.

A trial is not evidence about an agent. It shows an author the oracle's decision on a patch, on the base that runs use.
"""

from __future__ import annotations

import glob
import os
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, replace
from types import MappingProxyType
from typing import Any

from proctor.base.dataclass_fields import EMPTY
from proctor.base.errors import InfrastructureFault
from proctor.conduct.machine_setup import Machine
from proctor.contract.model import Check, Contract, Rerun
from proctor.execute.prepare import PreparedBase
from proctor.execute.sandbox.interface import Mount
from proctor.execute.workspace.layer_store import hold
from proctor.judge.checks.acceptance import accept
from proctor.judge.checks.check_decision import ERROR, PASS
from proctor.judge.checks.inverted_tests.variant_pool import Pool
from proctor.judge.checks.judge_context import JudgeContext
from proctor.judge.run_verdict import HARNESS
from proctor.record.run_directory import RunDirectory
from proctor.record.trace.writer import TraceWriter

PRINTED_BYTES = 2000
ACCEPTED, REFUSED, NO_VERDICT = "accepted", "refused", "no verdict"


@dataclass(frozen=True)
class Checked:
    """The result of one check: its outcome, the reason, how long it took, and the outcome of every test it ran."""

    outcome: str
    reason: str
    detail: str
    seconds: float
    tests: Mapping[str, str]
    omitted: int = 0
    attribution: str = ""
    printed: str = ""
    """The end of what its first attempt printed, if it did not pass."""


@dataclass(frozen=True)
class Trial:
    """What the oracle said of a patch; ``problem`` where it did not even apply."""

    problem: str
    checks: Mapping[str, Checked]

    def verdict(self, contract: Contract) -> tuple[str, str, str]:
        """Accepted, refused or no verdict; the check that said so, and why. An accepted patch has neither.

        As in a run, one mandatory check that ended in an error leaves the whole without a verdict.
        """
        if self.problem:
            return REFUSED, "patch", self.problem
        mandatory = [check.id for check in contract.checks if check.mandatory]
        errors = [name for name in mandatory if self.checks[name].outcome == ERROR]
        failed = [name for name in mandatory if self.checks[name].outcome != PASS]
        if not failed:
            return ACCEPTED, "", ""
        name = (errors or failed)[0]
        said = self.checks[name]
        why = f"{said.reason}: {said.detail}" if said.detail else said.reason
        return NO_VERDICT if errors else REFUSED, name, why


@contextmanager
def ready(machine: Machine, contract: Contract) -> Iterator[PreparedBase]:
    """The prepared contract; what it is made of stays in the caches meanwhile. Every check makes a single attempt."""
    with ExitStack() as held, machine.inputs.in_use():
        machine.require([contract])
        prepared = machine.prepare(contract)
        for layer in prepared.layers:
            held.callback(os.close, hold(layer))
        yield prepared


def with_changed_checks(prepared: PreparedBase, change: Callable[[Check], Check]) -> PreparedBase:
    """``prepared`` with other checks, on the same base."""
    checks = tuple(change(check) for check in prepared.contract.checks)
    return replace(prepared, contract=replace(prepared.contract, checks=checks))


def try_patch(
    machine: Machine,
    prepared: PreparedBase,
    patch: bytes,
    variables: Callable[[Check], Mapping[str, str]] | None = None,
    mounts: tuple[Mount, ...] = (),
    pool: Pool | None = None,
) -> Trial:
    """Judge ``patch``; each check also gets ``variables``.

    An accepted patch is confirmed with inverted tests only if ``pool`` is given.
    Raises :class:`InfrastructureFault` if the machine kept a check from starting, on the base as well.
    """

    def once(check: Check) -> Check:
        more = variables(check) if variables else EMPTY
        return replace(check, rerun=Rerun(), variables=MappingProxyType({**check.variables, **more}))

    with machine.scratch("trial") as place:
        run = RunDirectory(place / "run").create()
        scratch = place / "scratch"
        scratch.mkdir()
        with TraceWriter.create(run.events, machine.clock, machine.entropy) as trace:
            bench = JudgeContext(
                prepared=with_changed_checks(prepared, once),
                backend=machine.backend(prepared.contract),
                scratch=scratch,
                trace=trace,
                run=run,
                clock=machine.clock,
                entropy=machine.entropy,
                slot=machine.slots.hold,
                mounts=mounts,
                pool=pool,
            )
            accepted = accept(bench, patch, confirm=pool is not None)
        results = run.read_json(run.results)
        checks = {entry["id"]: replace(_checked(entry), printed=_printed(run, entry)) for entry in results["checks"]}
    _require_verdicts(prepared.contract, checks)
    return Trial(accepted.problem, checks)


def _require_verdicts(contract: Contract, checks: Mapping[str, Checked]) -> None:
    """Refuse a trial whose result depends on the machine and not on the patch."""
    for name, said in checks.items():
        if said.outcome == ERROR and said.attribution == HARNESS:
            raise InfrastructureFault(
                f"no verdict, because of this machine or its set-up: check {name}: {said.reason}: {said.detail}",
                where=contract.name,
                hint="fix the machine and start again; proctor doctor checks what a run needs",
            )


def _printed(run: RunDirectory, entry: Mapping[str, Any]) -> str:
    """The end of the output of a check that did not pass."""
    if entry["outcome"] == PASS:
        return ""
    texts = []
    for kind in ("stdout", "stderr"):
        for path in sorted(run.logs.glob(f"{glob.escape(entry['id'])}.*.{kind}"))[:1]:
            texts.append(path.read_bytes()[-PRINTED_BYTES:].decode("utf-8", "backslashreplace"))
    return "\n".join(text.strip() for text in texts if text.strip())


def _checked(entry: Mapping[str, Any]) -> Checked:
    counting = (one for one in entry["attempts"] if one["tree"] == "patched" and not one["set_aside"])
    seconds = sum(float(one["observed_seconds"]) for one in counting)
    tests = {test: outcome for test, outcome in entry["tests"] if outcome != "absent"}
    said = (entry["outcome"], entry["reason"], entry["detail"], seconds, tests, entry["tests_omitted"])
    return Checked(*said, entry["attribution"])
