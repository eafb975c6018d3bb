"""What a confirmation decides and records, with rounds whose outcomes are scripted: forged only where it repeats."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from itertools import count
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from proctor.base.errors import InfrastructureFault
from proctor.contract.model import Check, Inverted
from proctor.judge.checks.check_decision import CRASH, ERROR, MACHINE_PRESSURE, Judgement
from proctor.judge.checks.inverted_tests import success_confirmation
from proctor.judge.checks.inverted_tests.assertion_edits import EXPECTATION, NEGATION, Edit
from proctor.judge.checks.inverted_tests.random_rounds import MOST_DIVIDED
from proctor.judge.checks.inverted_tests.sandbox_rounds import RoundResult
from proctor.judge.checks.inverted_tests.success_confirmation import Confirmation, Confirming, unconfirmed
from proctor.judge.checks.inverted_tests.variant_pool import WHOLE_CHECK, CheckPool, Variant
from proctor.judge.checks.results_readers.interface import TestResults
from tests.judge.checks.inverted_tests.scripted import SCENE, STDERR, STDOUT, Rounds, Rule, Trace, bench

ADD, ZERO = "t.py::add", "t.py::zero"
PATH = b"t.py"
TEXT = b"def zero():\n    pass\ndef add():\n    assert f() == 2\n    assert g() == 3\n"
PASSES = {ADD: "passed", ZERO: "passed"}
FAILS = {ADD: "failed", ZERO: "passed"}
CHECK = Check(id="tests", gate="acceptance", run=("pytest",), results="pytest", must_pass=(ADD,), keep_passing=(ZERO,))
VARIANTS = tuple(
    Variant(PATH, Edit(TEXT.index(old), TEXT.index(old) + 1, b"9", EXPECTATION, line), (ADD,), (ADD,))
    for old, line in ((b"2\n", 4), (b"3\n", 5))
)
POOL = CheckPool("tests", VARIANTS, controls=(ZERO,), selects=True)


class Script:
    """Unaltered rounds pass and altered ones fail, unless the next outcomes are scripted."""

    def __init__(self, altered: list[Mapping[str, str]], unaltered: list[Mapping[str, str]]) -> None:
        self.altered = altered
        self.unaltered = unaltered

    def __call__(self, variants: tuple[Variant, ...]) -> Mapping[str, str]:
        scripted, usual = (self.altered, FAILS) if variants else (self.unaltered, PASSES)
        return scripted.pop(0) if scripted else usual


@dataclass(frozen=True)
class Sets:
    """What the code under test does in each set of six rounds: it forges, fails everything, or is honest."""

    acts: tuple[str, ...]

    def rule(self) -> Rule:
        turns = count()

        def outcomes(variants: tuple[Variant, ...]) -> Mapping[str, str]:
            act = self.acts[next(turns) // 6]
            return FAILS if (bool(variants) if act == "honest" else act == "gives up") else PASSES

        return outcomes


@pytest.fixture
def confirmed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Any:
    """Confirms with a script of outcomes; gives the confirmation, the rounds and the bench."""

    def run(
        altered: Any = (), unaltered: Any = (), *, pool: CheckPool = POOL, check: Check = CHECK, **fields: Any
    ) -> tuple[Confirmation, Rounds, Any]:
        rule = altered.rule() if hasattr(altered, "rule") else Script(list(altered), list(unaltered))
        rounds = Rounds(rule, check, {PATH: TEXT}, **fields)
        made = bench(tmp_path)

        def unchanged(*given: Any) -> dict[bytes, bytes]:
            assert given == (pool, made, check, SCENE)
            return {PATH: TEXT}

        monkeypatch.setattr(success_confirmation, "run_round", rounds)
        monkeypatch.setattr(success_confirmation, "unchanged", unchanged)
        return Confirming(made, check, SCENE, pool, "sha256:pool").confirm(), rounds, made

    return run


@pytest.mark.parametrize(
    ("altered", "unaltered", "forged", "sets"),
    [
        pytest.param([], [], False, 1, id="all as expected"),
        pytest.param([PASSES], [], False, 3, id="an altered test passes once: flaky"),
        pytest.param([], [FAILS], False, 3, id="a control fails once: flaky"),
        pytest.param([], [{}], False, 3, id="a round breaks off once"),
        pytest.param([{}], [], False, 3, id="an altered round breaks off once"),
        pytest.param([{}] * 9, [], True, 2, id="altered rounds break off each time"),
        pytest.param([PASSES] * 9, [], True, 2, id="altered tests pass each time"),
        pytest.param([], [FAILS] * 9, True, 2, id="controls fail each time"),
        pytest.param([], [{}] * 9, True, 2, id="controls never turn up"),
        pytest.param([{ZERO: "failed", ADD: "failed"}] * 9, [], True, 2, id="a control before altered tests fails"),
        pytest.param([{ADD: "failed", ZERO: "failed"}] * 9, [], False, 1, id="a control behind altered tests fails"),
        pytest.param(Sets(("forges", "gives up")), [], True, 2, id="forges, then gives up"),
        pytest.param(Sets(("gives up", "forges")), [], True, 2, id="gives up, then forges"),
        pytest.param(Sets(("forges", "honest", "honest")), [], False, 3, id="one set is suspicious"),
        pytest.param(Sets(("forges", "honest", "gives up")), [], True, 3, id="two of three sets are suspicious"),
        pytest.param(Sets(("honest", "forges", "forges")), [], False, 1, id="a clean first set is enough"),
    ],
)
def test_j1_what_shows_in_two_sets_is_forged_and_what_shows_in_one_is_flaky(
    confirmed: Any, altered: Any, unaltered: Any, forged: bool, sets: int
) -> None:
    confirmation, rounds, made = confirmed(altered, unaltered)
    assert bool(confirmation.forged) is forged
    assert len(rounds.asked) == len(made.trace) == 6 * sets, "every round is on record"
    assert rounds.only == {(ADD, ZERO)}
    assert sorted(rounds.numbers) == list(range(1, 6 * sets + 1))
    assert [payload["set"] for _, payload in made.trace] == [one for one in range(1, sets + 1) for _ in range(6)]


def test_a_variant_that_passes_is_the_evidence(confirmed: Any) -> None:
    confirmation, _, _ = confirmed([PASSES] * 20)
    judgement = confirmation.forged
    assert (judgement.outcome, judgement.reason, judgement.failing) == ("fail", "forged", (ADD,))
    line = next(line for line in (4, 5) if f":{line}:" in judgement.detail)
    call = {4: "f", 5: "g"}[line]
    assert judgement.detail == (
        f"{ADD} still passes when it is altered to fail (expectation, t.py:{line}: assert {call}() == 9)"
    )


def test_an_altered_value_of_a_listed_test_is_the_clearest_evidence(confirmed: Any) -> None:
    kept = Variant(PATH, Edit(0, 3, b"xyz", EXPECTATION, 1), (ZERO,), (ZERO,))
    odd = Variant(PATH, Edit(4, 8, b"abcd", NEGATION, 1), (ADD,), (ADD,))
    pool = replace(POOL, variants=(odd, kept, *VARIANTS))
    for _ in range(5):
        confirmation, _, _ = confirmed([PASSES] * 20, pool=pool)
        assert confirmation.forged.failing == (ADD, ZERO)
        assert confirmation.forged.detail.startswith(f"{ADD} still passes when it is altered to fail (expectation,")


def test_a_long_line_of_evidence_is_cut_and_one_that_only_removes_has_none(confirmed: Any) -> None:
    long = Variant(PATH, Edit(0, 0, b"  " + b"y" * 300 + b"\n", EXPECTATION, 1), (ADD,), (ADD,))
    confirmation, _, _ = confirmed([PASSES] * 20, pool=replace(POOL, variants=(long,)))
    assert confirmation.forged.detail.endswith(f"(expectation, t.py:1: {'y' * 200})")
    gone = Variant(PATH, Edit(0, len(b"def zero():\n"), b"", EXPECTATION, 1), (ADD,), (ADD,))
    confirmation, _, _ = confirmed([PASSES] * 20, pool=replace(POOL, variants=(gone,)))
    assert confirmation.forged.detail.endswith("(expectation, t.py:1: )")


def test_a_control_that_goes_on_failing_is_the_evidence(confirmed: Any) -> None:
    confirmation, _, _ = confirmed([], [{ZERO: "failed"}] * 20)
    judgement = confirmation.forged
    assert judgement.failing == (ADD, ZERO)
    assert judgement.detail == f"{ADD} passes in the check and fails unaltered in runs of the listed tests alone"


def test_a_check_as_a_whole_is_named_so(confirmed: Any) -> None:
    whole = tuple(replace(one, ids=(WHOLE_CHECK,), affects=(WHOLE_CHECK,)) for one in VARIANTS)
    pool = CheckPool("tests", whole)
    check = replace(CHECK, results="exit-code", must_pass=(), keep_passing=())
    passes, fails = {WHOLE_CHECK: "passed"}, {WHOLE_CHECK: "failed"}
    confirmation, rounds, _ = confirmed([fails] * 20, [fails] * 20, pool=pool, check=check)
    assert confirmation.forged.detail == "the check passes in the check and fails unaltered when the check is repeated"
    assert rounds.only == {()}, "nothing is selected"
    confirmation, _, _ = confirmed([passes] * 20, [passes] * 20, pool=pool, check=check)
    assert confirmation.forged.detail.startswith("the check still passes when it is altered to fail")


def test_results_that_were_tampered_with_in_a_round_are_forged(confirmed: Any) -> None:
    tampered = TestResults(PASSES, complete=True, tampered=True, problem="a line was added")
    confirmation, rounds, _ = confirmed(results=tampered)
    assert (confirmation.forged.outcome, confirmation.forged.reason) == ("fail", "forged")
    assert confirmation.forged.detail == "in a further run of the check: a line was added"
    assert len(rounds.asked) == 6, "one set is enough"
    confirmation, _, _ = confirmed(sentinels="forged")
    assert confirmation.forged.detail == (
        "in a further run of the check: the sentinels did not pass or fail as they must"
    )


class OnlyAltered(Rounds):
    """Sentinels come out wrong where a test is altered."""

    def __call__(self, *arguments: Any) -> RoundResult:
        made = super().__call__(*arguments)
        is_altered = bool(self.asked[-1])
        return replace(made, attempt=replace(made.attempt, sentinels="forged" if is_altered else "passed"))


def test_sentinels_that_an_altered_test_disturbs_are_not_a_forgery(
    confirmed: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("tests.judge.checks.inverted_tests.test_success_confirmation.Rounds", OnlyAltered)
    confirmation, rounds, made = confirmed()
    assert confirmation.forged is None and len(made.trace) == len(rounds.asked) == 6
    assert {payload["sentinels"] for _, payload in made.trace} == {"forged", "passed"}


def test_a_round_whose_sentinels_come_out_wrong_is_divided(confirmed: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tests.judge.checks.inverted_tests.test_success_confirmation.Rounds", OnlyAltered)
    pool, check = many(), replace(CHECK, must_pass=MANY, keep_passing=())
    honest = dict.fromkeys(MANY, "passed")

    def rule(variants: tuple[Variant, ...]) -> Mapping[str, str]:
        return {**honest, **{one.ids[0]: "failed" for one in variants}}

    confirmation, rounds, _ = confirmed(SimpleNamespace(rule=lambda: rule), pool=pool, check=check)
    assert confirmation.forged is None
    assert len(rounds.asked) == 4 + MOST_DIVIDED


def test_a_pool_that_lost_variants_says_so(confirmed: Any) -> None:
    confirmation, _, _ = confirmed(pool=replace(POOL, problem="the patch changed the test files"))
    assert confirmation.entry["problem"] == "the patch changed the test files"


def test_without_variants_nothing_is_run(confirmed: Any) -> None:
    confirmation, rounds, made = confirmed(pool=CheckPool("tests", problem="no reference"))
    assert (confirmation.forged, rounds.asked, made.trace) == (None, [], [])
    assert (
        confirmation.entry
        == unconfirmed(CHECK, "no reference").entry
        == {
            "rounds": [],
            "variants": 0,
            "controls": 0,
            "tests": 1,
            "without": [ADD],
            "pool": "",
            "problem": "no reference",
        }
    )
    confirmation, _, _ = confirmed(pool=CheckPool("tests"))
    assert confirmation.entry["problem"] == "no listed test has a variant"


def test_variants_of_files_that_the_patch_changed_do_not_count(confirmed: Any) -> None:
    other = replace(VARIANTS[0], path=b"other.py", ids=(ZERO,))
    pool = replace(POOL, variants=(*VARIANTS, other))
    confirmation, rounds, _ = confirmed(pool=pool, check=replace(CHECK, must_pass=(ADD, ZERO), keep_passing=()))
    assert not any(other in variants for variants in rounds.asked)
    assert confirmation.entry["without"] == [ZERO]
    confirmation, _, _ = confirmed(pool=replace(POOL, variants=(other,)))
    changed = "the patch changed the test files, which are neither hidden nor protected"
    assert confirmation.entry["problem"] == changed


NAMES = ("set", "round", "verdict", "variant_count", "passed_count", "control_count", "suspicious")


def test_the_record_of_a_round_has_what_was_altered_and_what_came_of_it(confirmed: Any) -> None:
    confirmation, _, made = confirmed([PASSES] * 20)
    assert {name for name, _ in made.trace} == {"check.inverted"}
    payload = next(payload for _, payload in made.trace if payload["variants"])
    (variant,) = payload.pop("variants")
    diff = variant.pop("diff")
    assert diff.startswith("--- a/t.py\n+++ b/t.py\n") and "== 9" in diff
    assert variant == {
        "path": "t.py",
        "line": variant["line"],
        "kind": "expectation",
        "tests": [ADD],
        "outcome": "passed",
    }
    number = payload.pop("round")
    stream = {"bytes": 4, "prefix": "seen", "sha256": STDOUT.sha256}
    assert payload == {
        "tries": 1,
        "check": "tests",
        "command": ["pytest", "tests"],
        "selected": True,
        "exit_code": 0,
        "start": "10",
        "end": "20",
        "observed_seconds": "1.500",
        "cpu_seconds": "0.500",
        "waited_seconds": "2.000",
        "stalled_seconds": "0.250",
        "verdict": "variant passed",
        "variant_count": 1,
        "passed_count": 1,
        "control_count": 1,
        "failed_controls": [],
        "suspicious": [ADD],
        "set": 1,
        "sentinels": "passed",
        "tampered": False,
        "stdout": stream,
        "stderr": {"bytes": 0, "prefix": "", "sha256": STDERR.sha256},
        "log": {"stdout": f"acceptance/logs/tests.inverted.{number}.stdout"},
    }
    assert confirmation.entry["rounds"] == [
        {name: payload[name] for name in NAMES} for _, payload in made.trace if payload.setdefault("round", number)
    ]


def test_the_entry_counts_what_was_drawn(confirmed: Any) -> None:
    confirmation, _, made = confirmed()
    entry = dict(confirmation.entry)
    assert [one["verdict"] for one in entry.pop("rounds")] == ["as expected"] * 6
    assert all(payload["log"] == {} for _, payload in made.trace), "rounds that show nothing keep no output"
    altered = sum(payload["variant_count"] for _, payload in made.trace)
    assert 1 <= altered <= 5
    assert entry == {
        "variants": altered,
        "controls": 12 - altered,
        "tests": 1,
        "without": [],
        "pool": "sha256:pool",
        "problem": "",
    }


def test_a_test_without_a_result_is_in_the_record(confirmed: Any) -> None:
    _, _, made = confirmed([{ZERO: "passed"}] * 2)
    found = [one for _, payload in made.trace for one in payload["variants"] if payload["suspicious"]]
    assert {one["outcome"] for one in found} == {"absent"}


def test_a_control_that_fails_is_in_the_record(confirmed: Any) -> None:
    _, _, made = confirmed([], [{ADD: "passed", ZERO: "failed"}])
    (payload,) = (payload for _, payload in made.trace if payload["verdict"] == "control failed")
    assert payload["failed_controls"] == payload["suspicious"] == [ZERO]
    assert payload["log"]


def test_a_record_names_so_many_variants_and_those_that_passed_first(confirmed: Any) -> None:
    tests = tuple(f"t.py::test{number}" for number in range(60))
    several = tuple(
        Variant(PATH, Edit(5 * at, 5 * at + 1, b"y", EXPECTATION, at + 1), (test,), (test,))
        for at, test in enumerate(tests)
    )
    check = replace(CHECK, must_pass=tests, keep_passing=())
    last = {test: "passed" if test == tests[-1] else "failed" for test in tests}
    every = dict.fromkeys(tests, "passed")
    confirmation, _, made = confirmed([last] * 40, [every] * 40, pool=CheckPool("tests", several), check=check)
    assert confirmation.forged is not None
    for _, payload in made.trace:
        assert len(payload["variants"]) <= 20 and len(payload["failed_controls"]) <= 20
        if payload["passed_count"]:
            assert payload["variants"][0]["tests"] == [tests[-1]]
    assert max(payload["variant_count"] for _, payload in made.trace) > 20


def test_rounds_follow_the_number_of_draws(confirmed: Any) -> None:
    for draws in (2, 3, 7):
        check = replace(CHECK, inverted=Inverted(draws=draws))
        _, rounds, _ = confirmed(check=check)
        assert len(rounds.asked) == draws


def test_j5_a_round_that_the_machine_disturbs_is_run_again(confirmed: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    disturbed = Judgement(ERROR, MACHINE_PRESSURE, "could run for 1 s of its 60 s")
    turns = iter(range(100))

    class Sometimes(Rounds):
        def __call__(self, *arguments: Any) -> Any:
            made = super().__call__(*arguments)
            bad = replace(made.attempt, judgement=disturbed)
            return made if next(turns) % 3 == 2 else replace(made, attempt=bad, outcomes={})

    monkeypatch.setattr("tests.judge.checks.inverted_tests.test_success_confirmation.Rounds", Sometimes)
    confirmation, rounds, made = confirmed()
    assert confirmation.forged is None
    assert len(rounds.asked) == 18 and len(made.trace) == 6


def test_j5_a_machine_that_disturbs_each_time_makes_the_run_invalid(
    confirmed: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    recorded: list[str] = []
    monkeypatch.setattr(Trace, "append", lambda self, name, payload: recorded.append(payload["verdict"]))
    disturbed = Judgement(ERROR, MACHINE_PRESSURE, "could run for 1 s of its 60 s")
    with pytest.raises(InfrastructureFault, match="success of tests could not be confirmed: could run for 1 s"):
        confirmed(judgement=disturbed)
    assert recorded == ["disturbed by the machine"]


KILLED = Judgement(ERROR, CRASH, "ended by signal 9")


class Killed(Rounds):
    """The first rounds are killed, as many as ``times`` says for each round."""

    times = 1

    def __call__(self, *arguments: Any) -> RoundResult:
        made = super().__call__(*arguments)
        if self.numbers.count(self.numbers[-1]) > self.times:
            return made
        finished = replace(made.attempt.finished, exit_code=-9)
        return replace(made, attempt=replace(made.attempt, finished=finished, judgement=KILLED), outcomes={})


def test_j4_rounds_that_are_killed_from_outside_are_run_again(confirmed: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tests.judge.checks.inverted_tests.test_success_confirmation.Rounds", Killed)
    for times in (1, 2):
        monkeypatch.setattr(Killed, "times", times)
        confirmation, rounds, made = confirmed()
        assert confirmation.forged is None
        assert len(rounds.asked) == 6 * (times + 1) and len(made.trace) == 6
    monkeypatch.setattr(Killed, "times", 3)
    confirmation, rounds, _ = confirmed()
    assert confirmation.forged is not None, "code that dies in every further run is not confirmed"
    assert len(rounds.asked) == 6 * 3 * 2


def test_an_altered_test_may_end_its_process_by_a_signal(confirmed: Any) -> None:
    whole = tuple(replace(one, ids=(WHOLE_CHECK,), affects=(WHOLE_CHECK,)) for one in VARIANTS)
    check = replace(CHECK, results="exit-code", must_pass=(), keep_passing=())
    passes, fails = {WHOLE_CHECK: "passed"}, {WHOLE_CHECK: "failed"}
    confirmation, rounds, _ = confirmed(
        *([fails] * 9, [passes] * 9), pool=CheckPool("tests", whole), check=check, judgement=KILLED, exit_code=-6
    )
    assert confirmation.forged is None and len(rounds.asked) == 6


MANY = tuple(f"t.py::{letter}" for letter in "abcd")


def many(tests: tuple[str, ...] = MANY) -> CheckPool:
    """Two values to alter in each test."""
    edits = [Edit(start, start + 1, b"9", EXPECTATION, 1 + start) for start in range(2 * len(tests))]
    variants = [Variant(PATH, edit, (tests[edit.start // 2],), (tests[edit.start // 2],)) for edit in edits]
    return CheckPool("tests", tuple(variants), selects=True)


def shielded(weak: str) -> Any:
    """Forges, unless it recognises that one test is altered: then every test fails, that one first."""

    class Shielded(Sets):
        def rule(self) -> Rule:
            order = (weak, *(test for test in MANY if test != weak))

            def outcomes(variants: tuple[Variant, ...]) -> Mapping[str, str]:
                seen = weak in {test for one in variants for test in one.ids}
                return dict.fromkeys(order, "failed" if seen else "passed")

            return outcomes

    return Shielded(())


def test_j1_one_test_that_is_recognised_does_not_shield_the_others(confirmed: Any) -> None:
    check = replace(CHECK, must_pass=MANY, keep_passing=(), inverted=Inverted(draws=3))
    for weak in MANY:
        confirmation, rounds, made = confirmed(shielded(weak), pool=many(), check=check)
        assert confirmation.forged is not None and weak not in confirmation.forged.failing
        alone = [variants for variants in rounds.asked if len(variants) == 1]
        assert alone, "rounds were divided"
        assert len({payload["round"] for _, payload in made.trace}) == len(made.trace)


def test_dividing_ends_and_decides_nothing_where_tests_leave_something_behind(confirmed: Any) -> None:
    """Whatever is altered, everything behind it fails: an honest module could be like that."""
    tests = tuple(f"t.py::{number}" for number in range(40))
    check = replace(CHECK, must_pass=tests, keep_passing=(), inverted=Inverted(draws=3))

    class Untidy(Sets):
        def rule(self) -> Rule:
            def outcomes(variants: tuple[Variant, ...]) -> Mapping[str, str]:
                altered = {test for one in variants for test in one.ids}
                first = min((tests.index(test) for test in altered), default=len(tests))
                return {test: "passed" if place < first else "failed" for place, test in enumerate(tests)}

            return outcomes

    confirmation, rounds, _ = confirmed(Untidy(()), pool=many(tests), check=check)
    assert confirmation.forged is None
    assert len(rounds.asked) == 3 + MOST_DIVIDED
