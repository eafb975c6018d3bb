"""Which checks have different outcomes on the same tree, and which tests belong in a check's lists.

The judge tries the base and the reference again and again. The first attempt has the declared seed and order; each
other one has seeds of its own (``PYTHONHASHSEED``, ``PROCTOR_SEED``), and where the runner is pytest the tests run in
another order. Other runners have no order that a harness could change from outside, which is said with the result.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path
from random import Random

from proctor.author.binomial_bounds import CONFIDENCE, at_most
from proctor.author.patch_trial import Checked, Trial, try_patch
from proctor.base.parallel import parallel_map
from proctor.conduct.machine_setup import Machine
from proctor.contract.model import Check, Contract
from proctor.execute.prepare import PreparedBase
from proctor.execute.sandbox.interface import Mount
from proctor.judge.checks.check_decision import FAIL, PASS

BASE, REFERENCE = "base", "reference"
ORDER = Path(__file__).parent / "order"
SHOWN_AT = "/proctor/order"


@dataclass(frozen=True)
class Observed:
    """One attempt of every check on one of the two trees."""

    tree: str
    trial: Trial


@dataclass(frozen=True)
class Screened:
    """How steady one check was on the tree on which it was less steady.

    ``unlisted`` are unsteady tests that decide nothing, ``bound`` the largest share of deviating attempts that these
    attempts leave possible with 95 % confidence.
    """

    check: str
    primary: bool
    tree: str
    deviating: int
    attempts: int
    tolerance: str
    bound: float
    flagged: bool
    order_varied: bool
    tests: tuple[str, ...]
    unlisted: tuple[str, ...]

    def words(self) -> str:
        """The result of the screen of a check, in a sentence."""
        most = f"at most {100 * self.bound:.2g} % with {100 * CONFIDENCE:g} % confidence"
        if not self.deviating:
            return f"no flake seen in {self.attempts} runs: {most}"
        return f"{self.deviating} of {self.attempts} runs on the {self.tree} deviate: {most}"


def survey(
    machine: Machine, prepared: PreparedBase, reference: bytes, times: int, jobs: int, after_attempt: Callable[[], None]
) -> tuple[Observed, ...]:
    """Try both trees ``times`` times, each time but the first with other seeds and another order."""

    def one(place: tuple[str, int]) -> Observed:
        tree, number = place
        patch = reference if tree == REFERENCE else b""
        mounts = (Mount(ORDER, SHOWN_AT),) if number else ()
        seen = try_patch(machine, prepared, patch, lambda check: _variables(prepared, check, number), mounts)
        after_attempt()
        return Observed(tree, seen)

    places = [(tree, number) for number in range(times) for tree in (BASE, REFERENCE)]
    return tuple(parallel_map(one, places, jobs))


def _variables(prepared: PreparedBase, check: Check, number: int) -> Mapping[str, str]:
    """The additional settings of attempt ``number``; none for the first, which is as declared."""
    if not number:
        return {}
    seed = prepared.contract.environment.seed
    drawn = Random(f"{seed} {number}").randrange(1, 2**32)
    found = {"PYTHONHASHSEED": str(drawn), "PROCTOR_SEED": str(drawn)}
    if check.results == "pytest":
        known = {**prepared.environment, **check.variables}
        options, path = known.get("PYTEST_ADDOPTS", ""), known.get("PYTHONPATH", "")
        found["PYTEST_ADDOPTS"] = f"-p proctor_order {options}".strip()
        found["PYTHONPATH"] = f"{SHOWN_AT}:{path}" if path else SHOWN_AT
        found["PROCTOR_ORDER"] = str(drawn)
    return found


def screen(contract: Contract, observed: tuple[Observed, ...]) -> tuple[Screened, ...]:
    """What the attempts show about every check that runs something."""
    return tuple(_screened(check, observed) for check in contract.checks if not check.no_op)


def _screened(check: Check, observed: tuple[Observed, ...]) -> Screened:
    listed = (*check.must_pass, *check.keep_passing)
    worst, unsteady = (-1.0, "", 0, 0), set()
    for tree in (BASE, REFERENCE):
        said = [one.trial.checks[check.id] for one in observed if one.tree == tree]
        usual = Counter(_signature(one, listed) for one in said).most_common(1)
        deviating = len(said) - (usual[0][1] if usual else 0)
        unsteady |= unsteady_tests(said)
        worst = max(worst, (at_most(deviating, len(said)), tree, deviating, len(said)))
    bound, tree, deviating, attempts = worst
    tests = unsteady & set(listed) if listed else unsteady
    return Screened(
        check=check.id,
        primary=check.mandatory,
        tree=tree,
        deviating=deviating,
        attempts=attempts,
        tolerance=check.flake_tolerance,
        bound=bound,
        flagged=deviating > Fraction(check.flake_tolerance) * attempts,
        order_varied=check.results == "pytest",
        tests=tuple(sorted(tests)),
        unlisted=tuple(sorted(unsteady - tests)),
    )


def _signature(said: Checked, listed: tuple[str, ...]) -> tuple[str, ...]:
    """What counts of an attempt: its outcome and, where tests are listed, theirs."""
    return (said.outcome, *(said.tests.get(test, "absent") for test in listed))


def unsteady_tests(said: list[Checked]) -> set[str]:
    """The tests with different outcomes in the attempts."""
    names = {test for one in said for test in one.tests}
    return {test for test in names if len({one.tests.get(test, "absent") for one in said}) > 1}


@dataclass(frozen=True)
class Derived:
    """The lists of one check as real attempts give them; ``unsteady`` tests are in neither.

    ``problem`` says why there are none: with the reference the check did not end normally, or no test passed.
    """

    check: str
    must_pass: tuple[str, ...]
    keep_passing: tuple[str, ...]
    unsteady: tuple[str, ...]
    omitted: int
    problem: str = ""


def derive(contract: Contract, observed: tuple[Observed, ...]) -> tuple[Derived, ...]:
    """The lists of every check with test ids: the tests that the reference fixes, and those that pass on both trees."""
    return tuple(_derived(check, observed) for check in contract.checks if check.results != "exit-code")


def _derived(check: Check, observed: tuple[Observed, ...]) -> Derived:
    trees = {tree: [one.trial.checks[check.id] for one in observed if one.tree == tree] for tree in (BASE, REFERENCE)}
    unsteady = unsteady_tests(trees[BASE]) | unsteady_tests(trees[REFERENCE])
    before, after = (_passing(trees[tree]) - unsteady for tree in (BASE, REFERENCE))
    omitted = max((one.omitted for said in trees.values() for one in said), default=0)
    return Derived(
        check=check.id,
        must_pass=tuple(sorted(after - before)),
        keep_passing=tuple(sorted(after & before)),
        unsteady=tuple(sorted(unsteady)),
        omitted=omitted,
        problem=_underivable(trees[REFERENCE]),
    )


def _underivable(said: list[Checked]) -> str:
    """Why attempts with the reference say nothing of the tests; empty where they do."""
    for one in said:
        if one.outcome not in (PASS, FAIL):
            return f"with the reference it has no verdict: {one.detail or one.reason}"
    return "" if _passing(said) else "no test passes with the reference every time"


def _passing(said: list[Checked]) -> set[str]:
    passing = [{test for test, outcome in one.tests.items() if outcome == "passed"} for one in said]
    return set.intersection(*passing) if passing else set()
