"""What a confirmation decides, with rounds whose outcomes are scripted: forged only where something repeats."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pytest

from proctor.base.frozen import replace
from proctor.contract.digest import content_id
from proctor.judge.attempt import Attempt
from proctor.judge.inverted import confirm
from proctor.judge.inverted.draw import Round, evaluate
from proctor.judge.inverted.pool import CheckPool, Pool, Variant
from proctor.judge.inverted.rounds import Made, run_round, sha256_of
from proctor.judge.inverted.units import find_units

ADD, ZERO = "tests/test_calc.py::test_add", "tests/test_calc.py::test_zero"
PASSES = {ADD: "passed", ZERO: "passed"}
FAILS = {ADD: "failed", ZERO: "passed"}
FIXED = "def add(a, b):\n    return a + b\n"
TEXT = "import calc\n\n\ndef test_zero():\n    pass\n\n\ndef test_add():\n    assert calc.add(1, 1) == 2\n"
HIDDEN = {"tests/test_calc.py": TEXT}
PATH = b"tests/test_calc.py"


def by_hand(content_id: str) -> Pool:
    """A pool that nothing was tried for."""
    (unit,) = find_units((ADD,), {PATH: TEXT.encode()}, b"nonce", by_pytest=True)
    variants = tuple(Variant(PATH, edit, (ADD,), (ADD,)) for edit in unit.edits)
    files = {PATH.decode(): sha256_of(TEXT.encode())}
    return Pool(content_id, (CheckPool("tests", variants, (), (ZERO,), True, files),))


class Script:
    """Stands for the rounds of one confirmation: unaltered runs pass and altered ones fail, unless scripted."""

    def __init__(self, altered: list[Mapping[str, str]], unaltered: list[Mapping[str, str]]) -> None:
        self.altered = altered
        self.unaltered = unaltered
        self.count = 0
        self.made: Attempt | None = None

    def __call__(self, bench: Any, check: Any, scene: Any, variants: Any, files: Any, only: Any, number: int) -> Made:
        self.count += 1
        if self.made is None:
            self.made = self.real(bench, check, scene, (), files, only, number).attempt
        if variants:
            outcomes = self.altered.pop(0) if self.altered else FAILS
        else:
            outcomes = self.unaltered.pop(0) if self.unaltered else PASSES
        return Made(replace(self.made, number=number), outcomes)

    real = staticmethod(run_round)


@pytest.mark.parametrize(
    ("altered", "unaltered", "outcome", "rounds"),
    [
        pytest.param([], [], "pass", 4, id="all as expected"),
        pytest.param([PASSES], [], "pass", 7, id="an altered test passes once: unsteady"),
        pytest.param([PASSES] * 2, [], "fail", 10, id="altered tests pass in two rounds, and in no repeat"),
        pytest.param([PASSES, FAILS, PASSES], [], "fail", 5, id="an altered test passes in its first repeat"),
        pytest.param([PASSES, *[FAILS] * 3, PASSES], [], "fail", 7, id="an altered test passes in its last repeat"),
        pytest.param([PASSES] * 6, [], "fail", 5, id="altered tests pass each time"),
        pytest.param([], [FAILS], "pass", 7, id="a control fails once: flaky"),
        pytest.param([], [FAILS, PASSES, FAILS], "pass", 7, id="a control fails twice: flaky"),
        pytest.param([], [FAILS, PASSES, FAILS, FAILS], "fail", 7, id="a control fails in most repeats"),
        pytest.param([], [{}, {}, {}, {}], "fail", 7, id="a control does not turn up"),
        pytest.param([{}], [], "pass", 7, id="an altered run breaks off, and its control passes alone"),
    ],
)
def test_j1_what_repeats_is_forged_and_what_does_not_is_flaky(
    bench: Any,
    monkeypatch: pytest.MonkeyPatch,
    altered: list[Mapping[str, str]],
    unaltered: list[Mapping[str, str]],
    outcome: str,
    rounds: int,
) -> None:
    contract = bench.contract(bench.check(hidden=(bench.hidden(HIDDEN),)))
    script = Script(list(altered), list(unaltered))
    monkeypatch.setattr(confirm, "run_round", script)
    judged = bench.judge(contract, {"calc.py": FIXED}, pool=by_hand(content_id(contract)))
    assert judged.outcome()[0] == outcome
    assert script.count == rounds
    assert len(judged.of("check.inverted")) == rounds, "every round is on record"


def test_a_round_is_named_after_the_worst_that_it_shows() -> None:
    drawn = Round((), (ADD, ZERO))
    verdicts = {confirm._verdict(evaluate(drawn, outcomes)) for outcomes in (PASSES, FAILS, {})}
    assert verdicts == {confirm.CLEAN, confirm.BROKEN}
