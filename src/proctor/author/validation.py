"""Validate contracts: runs of the no-op must be failures, and runs of the reference must be successes.

A run without a verdict is undecided, whatever the others are. A must_pass test that passes on the base does not test
the fix; a contract in which no must_pass test fails there is not valid.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from proctor.author.patch_trial import ready
from proctor.base.errors import InfrastructureFault, ProctorError
from proctor.conduct.batch.batch_runs import BatchWatcher
from proctor.conduct.inverted_pools import remake_pool
from proctor.conduct.machine_setup import Machine
from proctor.conduct.session.batch_plan import Plan, begin_batch, fill
from proctor.contract.model import Check, Contract
from proctor.judge.checks.inverted_tests.variant_pool import Coverage, coverage
from proctor.judge.run_verdict import is_machine_fault
from proctor.record.report_model import Report
from proctor.record.run_directory import RunDirectory


@dataclass(frozen=True)
class PassingOnBase:
    """The must_pass tests of one check that pass on the base, and how many must_pass tests it has."""

    check: str
    passing: tuple[str, ...]
    tests: int


def passing_on_base(contract: Contract, results: Sequence[Mapping[str, Any]]) -> tuple[PassingOnBase, ...]:
    """One entry for each check with must_pass tests; ``results`` are the records of the judged runs of the no-op."""
    listed = [check for check in contract.checks if check.must_pass]
    return tuple(PassingOnBase(one.id, _passing(one, results), len(one.must_pass)) for one in listed) if results else ()


def all_pass_on_base(several: Sequence[PassingOnBase]) -> bool:
    """Whether every must_pass test of a contract passes on the base."""
    return bool(several) and all(len(one.passing) == one.tests for one in several)


def _passing(check: Check, results: Sequence[Mapping[str, Any]]) -> tuple[str, ...]:
    entries = [entry for result in results for entry in result["checks"] if entry["id"] == check.id]
    passed = [{test for test, outcome in entry["tests"] if outcome == "passed"} for entry in entries]
    return tuple(test for test in check.must_pass if passed and all(test in seen for seen in passed))


WANTED = (("noop", "failure"), ("reference", "success"))
"""The two agents and the status that each run of theirs must have."""


@dataclass(frozen=True)
class Rehearsal:
    """A run of the no-op or the reference; ``wanted`` is the status that it must have."""

    run: str
    agent: str
    status: str
    wanted: str
    report: Report

    @property
    def undecided(self) -> bool:
        """Whether the machine kept the run from a verdict."""
        return is_machine_fault(self.status, self.report.attribution)

    @property
    def wrong(self) -> bool:
        """Whether the run has a verdict, and the wrong one."""
        return self.status != self.wanted and not self.undecided


@dataclass(frozen=True)
class Validation:
    """The runs and what they show. All mappings are by the path of the contract: several can have one name."""

    contracts: Mapping[str, Contract]
    runs: tuple[Rehearsal, ...]
    errors: Mapping[str, ProctorError]
    inverted: Mapping[str, tuple[Coverage, ...]] = field(default_factory=dict)
    """The coverage of inverted tests."""
    on_base: Mapping[str, Sequence[PassingOnBase]] = field(default_factory=dict)
    """The must_pass tests that pass on the base."""
    seconds: Mapping[str, float] = field(default_factory=dict)
    """How long the checks of the last run took."""
    stopped: bool = False

    @property
    def wrong(self) -> tuple[Rehearsal, ...]:
        return tuple(run for run in self.runs if run.wrong)

    @property
    def undecided(self) -> tuple[Rehearsal, ...]:
        return tuple(run for run in self.runs if run.undecided)

    @property
    def vacuous(self) -> tuple[str, ...]:
        """The paths of the contracts without a must_pass test that fails on the base."""
        return tuple(path for path, found in self.on_base.items() if all_pass_on_base(found))

    @property
    def valid(self) -> bool | None:
        """Whether all contracts are valid; ``None`` if nothing is wrong and something has no verdict."""
        if self.wrong or self.vacuous:
            return False
        return None if self.undecided or self.errors or self.stopped else True


def validate_contracts(
    machine: Machine,
    paths: Sequence[Path],
    times: int,
    jobs: int,
    watching: Callable[[Plan], AbstractContextManager[BatchWatcher]],
) -> Validation:
    """Run the no-op and the reference ``times`` each; ``watching`` gives the watcher of one of the two batches."""
    runs: list[Rehearsal] = []
    errors: dict[str, ProctorError] = {}
    seconds: dict[str, float] = {}
    bases: dict[str, list[Mapping[str, Any]]] = {}
    covered: dict[str, tuple[Coverage, ...]] = {}
    for agent, wanted in WANTED:
        plan = begin_batch(machine, paths, [agent], repeats=times, settings={"rehearse": "yes", "command": "validate"})
        with plan.held:
            if agent == "reference":
                covered = dict(_covered(machine, plan.contracts, errors))
            with watching(plan) as watcher:
                result = fill(machine, plan, jobs, watcher)
        for place, error in (*result.errors, *result.refused):
            errors[place.contract] = error
        for place, outcome in result.outcomes:
            seconds[place.contract] = check_seconds(outcome.report)
            run = RunDirectory(outcome.directory)
            if agent == "noop" and outcome.status in ("success", "failure") and run.results.is_file():
                bases.setdefault(place.contract, []).append(run.read_json(run.results))
            runs.append(Rehearsal(outcome.run_id, agent, outcome.status, wanted, outcome.report))
        if result.stopped:
            return Validation(plan.contracts, tuple(runs), errors, stopped=True)
    on_base = {path: passing_on_base(one, bases.get(path, ())) for path, one in plan.contracts.items()}
    return Validation(plan.contracts, tuple(runs), errors, covered, on_base, seconds)


def check_seconds(report: Report) -> float:
    """How long the checks of a run took on the patched tree, one attempt each."""
    patched = ([one for one in check.attempts if one.tree == "patched"] for check in report.checks)
    return sum(float(attempts[0].observed_seconds) for attempts in patched if attempts)


def _covered(
    machine: Machine, contracts: Mapping[str, Contract], errors: Mapping[str, ProctorError]
) -> Iterator[tuple[str, tuple[Coverage, ...]]]:
    """Make the inverted tests of every contract that could be run, and measure their coverage."""
    for path, contract in contracts.items():
        if path not in errors and contract.reference is not None:
            # The runs of the reference try again, and report the fault if it stays.
            with suppress(InfrastructureFault), ready(machine, contract) as prepared:
                yield path, coverage(contract, remake_pool(machine, prepared))
