"""Draw at random the variants that a run must fail, in sets of rounds, and decide what the rounds show. Pure.

Each set has rounds of three sorts, in random order:

    unaltered   Nothing is altered. Code that forges only where the whole suite runs fails here.
    alike       Only values of must_pass tests are altered, and look like the ones they replace. Code under test cannot
                know which tests of such a round are altered, or whether any is.
    any         Tests are altered in every other way, some that must keep passing among them. These alterations are easy
                to recognise, by their form or because the agent has seen the test.

In an altered round about two thirds of the tests are altered, one place each. At least one test that must pass is left
as it is where there are several: code that fails everything in such a round fails that control. Where there is only one
test, chance decides for each round whether it is altered.

A control that fails after an altered test shows nothing by itself: the altered test stopped early and may have left
something behind. Such a round is divided in two, so that code which recognises one altered test, and then fails all
other tests, meets the other altered tests without that one.

A test is suspicious where a variant of it passes, where it fails unaltered, or where it has no result. If a set has
suspicious tests, further sets are drawn: a test that is suspicious in two sets is forged, one that is suspicious in one
is flaky.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from random import Random

from proctor.contract.model import Inverted
from proctor.judge.checks.inverted_tests.assertion_edits import EXPECTATION
from proctor.judge.checks.inverted_tests.variant_pool import CheckPool, Variant

UNALTERED, ALIKE, ANY = "unaltered", "alike", "any"

LEAST_ROUNDS = 3
FEW_TESTS, FURTHER_ROUNDS = 2, 2
"""With at most this many tests, a set has this many more rounds: chance could help code that forges in some."""
SHORT_MS, LONG_MS = 2_000, 5_000
"""The time for the rounds of a short check; from ``LONG_MS`` on it is a share of the time of the check."""
SHARE = 0.6

MOST_DIVIDED = 8
"""How many further rounds of a set come from dividing others."""
MOST_SETS = 3
SUSPICIOUS_SETS = 2
"""A test that is suspicious in this many sets is forged, not flaky."""
MOST_SUSPICIOUS = 200
"""How many suspicious tests of a round are recorded and counted."""


@dataclass(frozen=True)
class Round:
    """One more run of a check: tests that are altered and must fail, and tests that must pass."""

    variants: tuple[Variant, ...]
    controls: tuple[str, ...]


def affordable(draws: int, pool: CheckPool, tests: Sequence[str], side_by_side: int) -> int:
    """How many rounds of a set fit into the time that confirming a success may take; three at least, or ``draws``.

    The times are those of the pool, not of the run: load does not change how many rounds there are. An author who asks
    for more than usual gets them, whatever they take.
    """
    if draws > Inverted.draws:
        return draws
    allowed = SHARE * pool.check_ms if pool.check_ms >= LONG_MS else SHORT_MS
    wanted = draws + FURTHER_ROUNDS if len(tests) <= FEW_TESTS and draws == Inverted.draws else draws
    fitting = int(allowed * side_by_side / pool.round_ms) if pool.round_ms else wanted
    return max(2, min(wanted, max(LEAST_ROUNDS, fitting)))


def plan_rounds(pool: CheckPool, tests: Sequence[str], rounds: int, chance: Random) -> tuple[Round, ...]:
    """One set of rounds for the must_pass ``tests`` and the controls of the pool, in random order."""
    used: dict[str, list[Variant]] = {}
    planned = []
    for sort in _sorts(pool, tests, rounds, chance):
        chosen: list[Variant] = []
        for group in (tests, pool.controls) if sort == ANY else (tests,):
            for test in _to_alter(pool, group, sort, used, chance):
                _alter(pool, test, sort, chosen, used.setdefault(test, []), chance)
        planned.append(_round(tuple(chosen), pool, tests))
    chance.shuffle(planned)
    return tuple(planned)


def divide(drawn: Round, pool: CheckPool, tests: Sequence[str], chance: Random) -> tuple[Round, ...]:
    """Two rounds with half of the alterations each; none where there is only one alteration."""
    half = len(drawn.variants) // 2
    if not half:
        return ()
    mixed = chance.sample(drawn.variants, len(drawn.variants))
    return tuple(_round(tuple(part), pool, tests) for part in (mixed[:half], mixed[half:]))


def _round(variants: tuple[Variant, ...], pool: CheckPool, tests: Sequence[str]) -> Round:
    """The round with these alterations: whatever they do not affect is a control."""
    affected = {test for one in variants for test in one.affects}
    return Round(variants, tuple(test for test in (*tests, *pool.controls) if test not in affected))


def _sorts(pool: CheckPool, tests: Sequence[str], rounds: int, chance: Random) -> list[str]:
    """The sorts of the rounds of a set: enough of ``any`` for the tests that have no values to alter."""
    altered = rounds - 1
    if len(tests) == 1:
        altered = chance.randint(max(1, rounds // 3), rounds - max(1, rounds // 3))
    without = sum(not _of_sort(pool.of(test), ALIKE) for test in tests)
    least = altered if without == len(tests) else min(altered - 1, -(-without // _most(tests)))
    others = max(least, 1 if altered > 1 else 0)
    return [UNALTERED] * (rounds - altered) + [ALIKE] * (altered - others) + [ANY] * others


def _most(group: Sequence[str]) -> int:
    """How many tests of a group are altered in one round: about two thirds, and never all of several."""
    return (2 * len(group) + 1) // 3


def _to_alter(
    pool: CheckPool, group: Sequence[str], sort: str, used: Mapping[str, Sequence[Variant]], chance: Random
) -> list[str]:
    """The tests of a group to alter in one round, those first that were altered least often."""
    fitting = [test for test in group if sort != UNALTERED and _of_sort(pool.of(test), sort)]
    chance.shuffle(fitting)
    fitting.sort(key=lambda test: len(used.get(test, ())))
    return fitting[: _most(group)]


def _of_sort(variants: Sequence[Variant], sort: str) -> list[Variant]:
    return [one for one in variants if sort == ANY or one.edit.kind == EXPECTATION]


def _alter(pool: CheckPool, test: str, sort: str, chosen: list[Variant], used: list[Variant], chance: Random) -> None:
    """Add a variant of ``test`` to a round that does not affect it; kinds and lines take turns."""
    fitting = [one for one in _of_sort(pool.of(test), sort) if not any(one.clashes(other) for other in chosen)]
    if not fitting:
        return
    kinds = [one.edit.kind for one in used]
    lines = [one.edit.line for one in used]
    picked = min(
        fitting,
        key=lambda one: (
            one in used,
            one.edit.kind == EXPECTATION,
            kinds.count(one.edit.kind),
            lines.count(one.edit.line),
            chance.random(),
        ),
    )
    used.append(picked)
    chosen.append(picked)


@dataclass(frozen=True)
class RoundFindings:
    """What a round showed: variants that passed with the first test that did, and tests that failed unexpectedly.

    ``failed`` are controls that did not pass, and altered tests that have no result. With ``is_disturbed``, controls
    failed that ran after an altered test.
    """

    passed: tuple[tuple[Variant, str], ...]
    failed: tuple[str, ...]
    is_disturbed: bool = False

    @property
    def suspicious(self) -> tuple[str, ...]:
        """The tests that did not behave as honest code lets them, in order; of very many, the first."""
        return tuple(sorted({*self.failed, *(test for _, test in self.passed)})[:MOST_SUSPICIOUS])


def evaluate(drawn: Round, outcomes: Mapping[str, str], order: Sequence[str] = ()) -> RoundFindings:
    """Compare the outcomes of a round with what honest code must show.

    An altered test stops early and may leave something behind, such as a file or an open connection. So a control that
    fails counts only if it runs before every altered test. ``order`` is the order in which tests run with the
    reference: code under test can change the order of a round. Without it, the order of the ``outcomes`` is used.
    """
    places = {test: place for place, test in enumerate(order or outcomes)}
    altered = [places[test] for one in drawn.variants for test in one.ids if test in outcomes and test in places]
    first = min(altered, default=len(places))
    passed, missing = [], []
    for one in drawn.variants:
        found = [outcomes.get(test) for test in one.ids]
        if "passed" in found:
            passed.append((one, one.ids[found.index("passed")]))
        elif None in found:
            missing.append(one.ids[found.index(None)])
    failing = {test for test, outcome in outcomes.items() if outcome in ("failed", "error")}
    behind = {test for test in failing if places.get(test, -1) > first}
    failed = [test for test in drawn.controls if outcomes.get(test) != "passed" and test not in behind]
    return RoundFindings(tuple(passed), (*failed, *missing), not behind.isdisjoint(drawn.controls))


def lacks_results(seen: RoundFindings, outcomes: Mapping[str, str]) -> bool:
    """Whether everything suspicious in a round is a test without a result, as if the round was ended from outside."""
    return bool(seen.suspicious) and not any(test in outcomes for test in seen.suspicious)


def forged_tests(sets: Sequence[Collection[str]]) -> tuple[str, ...]:
    """The tests that are forged, given the suspicious tests of each set."""
    times = Counter(test for suspicious in sets for test in set(suspicious))
    return tuple(sorted(test for test, count in times.items() if count >= SUSPICIOUS_SETS))
