"""Prove a contract in the judge's sandbox: which tests the solution fixes, and why they fail before.

Base and solution are judged several times in different orders and with different hash seeds; then the tests that the
solution fixes run alone, since a test may fail because of another one. Each of their failures on the base has a kind:
an assertion or an error inside the code under test shows a fault; a missing name shows that the test needs an interface
that the solution adds; a file that cannot be collected shows nothing.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path

from proctor.author.contract_edit import set_field, set_ids
from proctor.author.flaky_tests import Derived, derive, survey
from proctor.author.mine.contract_files import TESTS_CHECK
from proctor.author.patch_trial import Trial, ready, try_patch, with_changed_checks
from proctor.conduct.machine_setup import Machine
from proctor.conduct.reference_patch import reference_patch
from proctor.contract.load import load_contract
from proctor.contract.model import Check, Contract, Inverted
from proctor.execute.prepare import PreparedBase
from proctor.execute.sandbox.interface import Mount

ASSERTION, EXCEPTION, TIMEOUT, MISSING, COLLECTION, UNKNOWN = (
    *("assertion", "exception", "timeout", "missing-name", "collection", "unknown"),
)
SHOWING = (ASSERTION, EXCEPTION, TIMEOUT)
"""The kinds of failures that show a fault of the base."""

FAILURES = Path(__file__).parent.parent / "failures"
SHOWN_AT = "/proctor/failures"
MOUNTS = (Mount(FAILURES, SHOWN_AT),)
MOST_ALONE = 300
ONLY_BYTES = 100_000
MOST_KEPT = 400
"""How many must_pass tests are tried alone, and how many keep_passing tests are listed."""


@dataclass(frozen=True)
class Failure:
    """Why a test fails on the base: the kind, and the name that it misses."""

    kind: str
    name: str = ""


@dataclass(frozen=True)
class Proof:
    """What the attempts show. ``reason`` is a code, and empty if there are tests that the solution fixes."""

    reason: str
    detail: str
    must_pass: tuple[str, ...] = ()
    keep_passing: tuple[str, ...] = ()
    unsteady: tuple[str, ...] = ()
    dependent: tuple[str, ...] = ()
    """Tests that the solution fixes in the suite, but not alone, or the other way round."""
    hidden: tuple[str, ...] = ()
    """Tests that need a name which the text does not have, and were left out."""
    failures: Mapping[str, Failure] = field(default_factory=dict)
    attempts: int = 0

    @property
    def kind(self) -> str:
        """The kind of the contract: a bug fix if a test shows a fault of the base."""
        shows = any(self.failures.get(test, Failure(UNKNOWN)).kind in SHOWING for test in self.must_pass)
        return "bug-fix" if shows else "feature"

    def counted(self) -> dict[str, int]:
        """How many must_pass tests fail in each way."""
        kinds = [self.failures.get(test, Failure(UNKNOWN)).kind for test in self.must_pass]
        return {kind: kinds.count(kind) for kind in sorted(set(kinds))}


def prove(
    machine: Machine,
    directory: Path,
    names: frozenset[str],
    said: Callable[[str], bool],
    times: int,
    jobs: int = 1,
    after_attempt: Callable[[], None] = lambda: None,
) -> Proof:
    """Judge the contract in ``directory`` and decide its lists; nothing is written.

    ``names`` are the new names of the solution, and ``said`` whether the text has one of them.
    """
    contract = without_confirmation(load_contract(directory))
    with ready(machine, contract) as prepared:
        with machine.scratch("reference") as scratch:
            solution = reference_patch(prepared, scratch)
        first = try_patch(machine, prepared, solution)
        after_attempt()
        reason, detail = _unusable(contract, first)
        if reason:
            return Proof(reason, detail, attempts=1)
        prepared = _only_tests(prepared)
        observed = survey(machine, prepared, solution, times, jobs, after_attempt)
        (derived,) = derive(prepared.contract, observed)
        attempts = 1 + 2 * times
        early = _without_tests(derived, observed[0].trial)
        if early is not None:
            return replace(early, attempts=attempts)
        failures, alone = _alone(machine, prepared, solution, derived.must_pass, names)
        after_attempt()
    dependent = tuple(test for test in derived.must_pass if test not in alone)
    proof = _decided(derived, failures, alone, said)
    return replace(proof, dependent=dependent, attempts=attempts + 2, failures=failures)


def without_confirmation(contract: Contract) -> Contract:
    """``contract`` without inverted tests, which need lists that do not exist yet."""
    return replace(contract, checks=tuple(replace(one, inverted=Inverted(draws=0)) for one in contract.checks))


def _only_tests(prepared: PreparedBase) -> PreparedBase:
    """``prepared`` with the check of the tests alone: the others have the same outcome every time."""
    checks = tuple(one for one in prepared.contract.checks if one.id == TESTS_CHECK)
    return replace(prepared, contract=replace(prepared.contract, checks=checks))


def _unusable(contract: Contract, trial: Trial) -> tuple[str, str]:
    """Why the solution cannot be judged at all."""
    if trial.problem:
        return "reference-does-not-apply", trial.problem
    for check in contract.checks:
        said = trial.checks[check.id]
        if check.id == "imports" and said.outcome != "pass":
            why = _last_line(said.printed) or said.detail or said.reason
            return "imports", f"the modules under test cannot be imported from the tree: {why}"
        if check.id == TESTS_CHECK and not any(outcome == "passed" for outcome in said.tests.values()):
            why = _last_line(said.printed) or said.detail or said.reason
            return "gold-passes-no-test", f"with the solution no test passes: {why}"
    return "", ""


def _last_line(printed: str) -> str:
    """The last line of an output that says something, without signs that a terminal would obey."""
    lines = [line.strip() for line in printed.splitlines() if re.search(r"[A-Za-z]{3}", line)]
    telling = [line for line in lines if re.search(r"Error|error|Exception|not found|unrecognized", line)]
    return "".join(sign for sign in (telling or lines or [""])[-1] if sign.isprintable())[:300]


def _without_tests(derived: Derived, base: Trial) -> Proof | None:
    """The proof of a fix without a test that fails before and passes after."""
    unsteady, keep = derived.unsteady, derived.keep_passing
    if derived.problem:
        return Proof("gold-fails", derived.problem, unsteady=unsteady, keep_passing=keep)
    if not derived.must_pass:
        if base.checks[TESTS_CHECK].outcome not in ("pass", "fail"):
            return Proof("base-hangs", f"the base has no results: {base.checks[TESTS_CHECK].detail}", unsteady=unsteady)
        detail = "every test that passes with the solution passes without it"
        return Proof("no-fail-to-pass", detail, unsteady=unsteady, keep_passing=keep)
    return None


def _decided(
    derived: Derived, failures: Mapping[str, Failure], alone: frozenset[str], said: Callable[[str], bool]
) -> Proof:
    """Choose the must_pass tests: those that show a fault, and those whose missing names the text has."""
    steady = [test for test in derived.must_pass if test in alone]
    keep = derived.keep_passing
    if not steady:
        if all(one.kind == UNKNOWN for one in failures.values()):
            detail = "on the base the tests give no results: they may end the process"
            return Proof("base-hangs", detail, unsteady=derived.unsteady)
        detail = "no test fails before and passes after when it runs alone"
        return Proof("order-dependent", detail, unsteady=derived.unsteady)
    kinds = {test: failures.get(test, Failure(UNKNOWN)) for test in steady}
    hidden = [test for test, one in kinds.items() if one.kind == MISSING and not (one.name and said(one.name))]
    lost = [test for test, one in kinds.items() if one.kind in (COLLECTION, UNKNOWN)]
    chosen = tuple(test for test in steady if test not in (*hidden, *lost))
    touched = {test.partition("::")[0] for test in chosen}
    kept = sorted(keep, key=lambda test: (test.partition("::")[0] not in touched, test))[:MOST_KEPT]
    proof = Proof("", "", chosen, tuple(sorted(kept)), derived.unsteady, hidden=tuple(hidden))
    if chosen:
        return proof
    if hidden:
        names = ", ".join(dict.fromkeys(kinds[test].name or "a changed signature" for test in hidden))
        return replace(
            proof, reason="hidden-interface", detail=f"the tests need names that the text does not have: {names}"
        )
    return replace(proof, reason="collection-error", detail="on the base the tests cannot be collected")


def _alone(
    machine: Machine, prepared: PreparedBase, solution: bytes, must_pass: tuple[str, ...], names: frozenset[str]
) -> tuple[dict[str, Failure], frozenset[str]]:
    """Run the tests without others: why they fail on the base, and which fail there and pass with the solution.

    A failed collection of a file counts for all that it holds.
    """
    asked = _fitting(must_pass)
    variables = {"PROCTOR_ONLY": json.dumps(asked), **_plugged(prepared)}
    reasons = with_changed_checks(prepared, _with_reasons)
    before = try_patch(machine, reasons, b"", lambda _: variables, MOUNTS)
    after = try_patch(machine, prepared, solution, lambda _: variables, MOUNTS)
    by_test: dict[str, Failure] = {}
    for line in before.checks[TESTS_CHECK].tests:
        when, _, rest = line.partition(" ")
        kind, _, rest = rest.partition(" ")
        name, _, test = rest.partition(" ")
        by_test[test] = _failure(when, kind, "" if name == "-" else name, names)
    passing = after.checks[TESTS_CHECK].tests
    failures, steady = {}, []
    for test in asked:
        found = by_test.get(test) or by_test.get(test.partition("::")[0])
        failures[test] = found or Failure(UNKNOWN)
        if found is not None and passing.get(test) == "passed":
            steady.append(test)
    return failures, frozenset(steady)


def _fitting(must_pass: tuple[str, ...]) -> list[str]:
    """The first tests whose ids fit into one variable."""
    found: list[str] = []
    left = ONLY_BYTES
    for test in must_pass[:MOST_ALONE]:
        left -= len(json.dumps(test)) + 2
        if left > 0:
            found.append(test)
    return found


def _with_reasons(check: Check) -> Check:
    """``check`` with the file of the plug-in as its results."""
    return replace(check, results="tap", results_file="failures.tap", must_pass=(), keep_passing=())


def _plugged(prepared: PreparedBase) -> dict[str, str]:
    """The variables that load the plug-in."""
    path = prepared.environment.get("PYTHONPATH", "")
    options = "-p proctor_failures -p no:cacheprovider --continue-on-collection-errors"
    return {"PYTEST_ADDOPTS": options, "PYTHONPATH": f"{SHOWN_AT}:{path}" if path else SHOWN_AT}


def _failure(when: str, kind: str, name: str, names: frozenset[str]) -> Failure:
    """The failure that the plug-in saw. A missing name counts only if the solution brings it."""
    last = name.rpartition(".")[2]
    if when == "collect":
        return Failure(COLLECTION, name)
    if kind == "missing":
        return Failure(MISSING, last) if not last or last in names else Failure(EXCEPTION, last)
    return Failure(kind if kind in (ASSERTION, EXCEPTION, TIMEOUT) else UNKNOWN, last)


def write_lists(directory: Path, proof: Proof) -> None:
    """Write the lists of a proof, and the kind, into the contract."""
    for name in ("must_pass", "keep_passing"):
        contract = load_contract(directory)
        check = next(one for one in contract.checks if one.id == TESTS_CHECK)
        ids: tuple[str, ...] = getattr(proof, name)
        if ids:
            set_ids(contract, check, name, ids)
        else:
            set_field(contract, check, name, [])
