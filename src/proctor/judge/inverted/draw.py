"""Draw at random the variants that a run must fail, in rounds. Pure.

One round of several alters nothing: it shows that the tests pass in this mode of running too, so that code that forges
only where the whole suite runs is found. Where a single test has variants there are two such rounds: no control is
beside it in the others, and code that forges at random could pass by chance.

In every other round about two thirds of the listed tests are altered, one place each, and the others are controls
beside them. The draws of one test go through its kinds in turn, an altered expectation first, since most forgeries show
there.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from random import Random

from proctor.base.frozen import frozen
from proctor.contract.model import Inverted
from proctor.judge.inverted.edit import EXPECTATION
from proctor.judge.inverted.pool import CheckPool, Variant

LEAST_ROUNDS = 3
SHORT_MS, LONG_MS = 2_000, 5_000
"""A short check may take this much longer by its rounds; from ``LONG_MS`` on it is a share of the check."""
SHARE = 0.6

MOST_PASSED, MOST_FAILED = 2, 3
"""In so many rounds variants pass, or a control fails, before that is a forgery and not a flaky test."""


@frozen
class Round:
    """One more run of a check: tests that are altered and must fail, and tests that must pass."""

    variants: tuple[Variant, ...]
    controls: tuple[str, ...]


def affordable(draws: int, pool: CheckPool, side_by_side: int) -> int:
    """How many rounds fit into the time that confirming a success may take; three at least.

    The times are those of the pool, not of the run: load does not change how many rounds there are. An author who asks
    for more than usual gets them, whatever they take.
    """
    if draws > Inverted.draws:
        return draws
    allowed = SHARE * pool.check_ms if pool.check_ms >= LONG_MS else SHORT_MS
    fitting = int(allowed * side_by_side / pool.round_ms) if pool.round_ms else draws
    return max(2, min(draws, max(LEAST_ROUNDS, fitting)))


def plan_rounds(pool: CheckPool, tests: tuple[str, ...], count: int, chance: Random) -> tuple[Round, ...]:
    """``count`` rounds for the listed ``tests``, in random order."""
    selected = (*tests, *pool.controls)
    used: dict[str, list[Variant]] = {}
    covered = [test for test in tests if pool.of(test)]
    chance.shuffle(covered)
    unaltered = 2 if len(covered) == 1 and count > LEAST_ROUNDS else 1
    places = range(count - unaltered)
    altered: list[list[Variant]] = [[] for _ in places]
    often = len(places) if len(covered) == 1 else (2 * len(places) + 2) // 3
    for test in covered:
        for turn, number in enumerate(chance.sample(places, len(places))):
            if turn < often or not used.get(test):
                _alter(pool, test, altered[number], used.setdefault(test, []), chance)
    rounds = [Round((), selected)] * unaltered + [_round(variants, selected) for variants in altered if variants]
    chance.shuffle(rounds)
    return tuple(rounds)


def _alter(pool: CheckPool, test: str, chosen: list[Variant], used: list[Variant], chance: Random) -> None:
    """Add a variant of ``test`` to a round that does not affect it, of the kind that was drawn least often."""
    fitting = [one for one in pool.of(test) if not any(one.clashes(other) for other in chosen)]
    if not fitting:
        return
    kinds = [one.edit.kind for one in used]
    lines = [one.edit.line for one in used]
    picked = min(
        fitting,
        key=lambda one: (
            one in used,
            kinds.count(one.edit.kind),
            one.edit.kind != EXPECTATION,
            lines.count(one.edit.line),
            chance.random(),
        ),
    )
    used.append(picked)
    chosen.append(picked)


def _round(variants: list[Variant], selected: tuple[str, ...]) -> Round:
    affected = {test for one in variants for test in one.affects}
    return Round(tuple(variants), tuple(test for test in selected if test not in affected))


@frozen
class Seen:
    """What a round showed: variants that passed with the first test that did, and controls that did not pass."""

    passed: tuple[tuple[Variant, str], ...]
    failed_controls: tuple[str, ...]

    @property
    def is_clean(self) -> bool:
        """Whether everything that must fail failed and everything that must pass passed."""
        return not self.passed and not self.failed_controls


def evaluate(drawn: Round, outcomes: Mapping[str, str]) -> Seen:
    """Compare the outcomes of a round with what honest code must show."""
    passed = []
    for one in drawn.variants:
        test = next((test for test in one.ids if outcomes.get(test) == "passed"), None)
        if test is not None:
            passed.append((one, test))
    return Seen(tuple(passed), tuple(test for test in drawn.controls if outcomes.get(test) != "passed"))


def shows_forgery(passed: Sequence[bool], failed: Sequence[Sequence[str]]) -> tuple[bool, tuple[str, ...]]:
    """What all rounds of a check show together, repeats included.

    Given whether variants passed in each round, and the controls that failed in it. The answer is whether variants
    passed in too many rounds, and the controls that failed in too many.
    """
    times = Counter(test for controls in failed for test in controls)
    return sum(passed) >= MOST_PASSED, tuple(sorted(test for test, count in times.items() if count >= MOST_FAILED))
