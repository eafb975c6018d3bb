"""How a pool is made, with rounds that follow a rule: what is kept, divided and left out, and when it ends."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Mapping
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from proctor.base.errors import ContractError, InfrastructureFault
from proctor.contract.load import load_contract
from proctor.contract.model import Check
from proctor.judge.checks.check_decision import ERROR, MACHINE_PRESSURE, Judgement
from proctor.judge.checks.inverted_tests import variant_screening
from proctor.judge.checks.inverted_tests.assertion_edits import (
    ASSERTION,
    CALL,
    DECLARED,
    EXCEPTION,
    EXPECTATION,
    FORM,
    NEGATION,
)
from proctor.judge.checks.inverted_tests.sandbox_rounds import RoundResult
from proctor.judge.checks.inverted_tests.variant_pool import WHOLE_CHECK, CheckPool, Variant
from proctor.judge.checks.inverted_tests.variant_screening import Screening
from tests.judge.checks.inverted_tests.scripted import SCENE, Rounds, bench

PATH = b"tests/test_a.py"
TESTS = tuple(f"tests/test_a.py::test_{letter}" for letter in "abc")
KEPT = tuple(f"tests/test_a.py::kept_{number}" for number in range(7))
SOME = KEPT[::2]
TEXT = "\n".join(
    f"def test_{letter}():\n    assert f('{letter}') == [1, 'one', 2.5]\n    assert g('{letter}') == 7\n    h()"
    for letter in "abc"
).encode()
FILES = {PATH: TEXT}
CHECK = Check(id="tests", gate="acceptance", run=("pytest",), results="pytest", must_pass=TESTS, keep_passing=KEPT)
PASSED = dict.fromkeys((*TESTS, *KEPT), "passed")

Rule = Callable[[tuple[Variant, ...]], Mapping[str, str]]


def honest(variants: tuple[Variant, ...]) -> dict[str, str]:
    """Whatever is altered fails, and nothing else."""
    return PASSED | {test: "failed" for one in variants for test in one.ids}


@pytest.fixture
def screened(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Any:
    """Makes a pool by a rule; gives the pool and the rounds."""

    def run(
        rule: Rule = honest, check: Check = CHECK, files: Mapping[bytes, bytes] = FILES, jobs: int = 1, **fields: Any
    ) -> tuple[CheckPool, Rounds]:
        rounds = Rounds(rule, check, files, **fields)
        made = bench(tmp_path)

        def check_files(*given: Any) -> dict[bytes, bytes]:
            assert given == (made, check)
            return dict(files)

        monkeypatch.setattr(variant_screening, "run_round", rounds)
        monkeypatch.setattr(variant_screening, "check_files", check_files)
        return Screening(made, check, SCENE, jobs).pool(b"nonce", 4_000), rounds

    return run


def test_the_variants_that_fail_are_kept_up_to_six_of_each_test(screened: Any) -> None:
    pool, rounds = screened()
    assert pool.check == "tests" and pool.problem == "" and pool.without == ()
    assert pool.selects is True and pool.check_ms == 4_000 and pool.round_ms == 1_500
    assert pool.files == {PATH.decode(): hashlib.sha256(TEXT).hexdigest()}
    for test in TESTS:
        assert pool.is_covered(test)
        assert len(pool.of(test)) == 6
        assert {EXPECTATION, FORM, NEGATION} <= {one.edit.kind for one in pool.of(test)}
    assert all(one.affects == one.ids for one in pool.variants)
    assert len(rounds.asked) == 13, "one without alterations, and two for each turn: tests share rounds"
    assert rounds.numbers == list(range(1, 14))
    assert [len(one) for one in rounds.asked] == [0, *[3] * 12]


def test_the_same_nonce_makes_the_same_pool_whatever_runs_side_by_side(screened: Any) -> None:
    alone, _ = screened()
    together, _ = screened(jobs=4)
    assert set(alone.variants) == set(together.variants)


def test_the_order_of_the_tests_is_stored_if_it_is_always_the_same(screened: Any) -> None:
    def ordered(variants: tuple[Variant, ...]) -> dict[str, str]:
        found = honest(variants)
        return {test: found[test] for test in ("other", *reversed(found), *found) if test in found}

    pool, _ = screened(ordered)
    assert pool.order == (*reversed(SOME), *reversed(TESTS))

    def by_chance(variants: tuple[Variant, ...]) -> dict[str, str]:
        found = honest(variants)
        return found if not variants else {test: found[test] for test in reversed(found)}

    pool, _ = screened(by_chance)
    assert pool.variants and pool.order == ()


def test_some_kept_tests_are_controls(screened: Any) -> None:
    pool, rounds = screened()
    assert pool.controls == SOME
    assert rounds.only == {(*TESTS, *pool.controls)}
    many = replace(CHECK, keep_passing=tuple(f"tests/test_a.py::kept_{number}" for number in range(60)))
    passed = dict.fromkeys((*TESTS, *many.keep_passing), "passed")
    pool, _ = screened(lambda some: passed | honest(some), many)
    assert pool.controls == many.keep_passing[::10]


@pytest.mark.parametrize("results", ["pytest", "tap"])
def test_kept_tests_that_do_not_pass_are_no_controls(screened: Any, results: str) -> None:
    pool, _ = screened(lambda some: honest(some) | {KEPT[2]: "failed"}, replace(CHECK, results=results))
    assert pool.controls == (KEPT[0], KEPT[4], KEPT[6])
    assert pool.selects is (results == "pytest")


def test_controls_have_variants_too(screened: Any) -> None:
    text = TEXT + b"\ndef kept_0():\n    assert f() == 11\n    assert g() == [1, 2]"
    pool, _ = screened(files={PATH: text})
    assert pool.is_covered(KEPT[0]) and not pool.of(KEPT[2])
    assert pool.without == (), "only of must_pass tests it is said that they have none"


def test_a_check_in_a_directory_names_its_files_from_there(screened: Any) -> None:
    inner = tuple(test.removeprefix("tests/") for test in TESTS)
    kept = tuple(test.removeprefix("tests/") for test in KEPT)
    check = replace(CHECK, directory="/workspace/tests", must_pass=inner, keep_passing=kept)
    passed = dict.fromkeys((*inner, *kept), "passed")
    pool, _ = screened(lambda some: passed | {test: "failed" for one in some for test in one.ids}, check)
    assert pool.without == () and pool.controls == kept[::2]


def test_tests_that_do_not_pass_alone_are_run_with_the_whole_suite(screened: Any) -> None:
    turns = iter(range(1_000))
    pool, rounds = screened(lambda some: {} if next(turns) == 0 else honest(some))
    assert pool.selects is False and pool.controls == SOME and pool.problem == ""
    assert rounds.only == {(*TESTS, *SOME), ()}
    assert rounds.asked[:2] == [(), ()]
    assert all(pool.is_covered(test) for test in TESTS)


def test_tests_that_never_pass_have_no_pool(screened: Any) -> None:
    pool, rounds = screened(lambda _: {}, judgement=Judgement("fail", "tests", "3 of 3 did not pass"))
    assert pool == CheckPool(
        "tests",
        without=TESTS,
        check_ms=4_000,
        problem="the listed tests do not pass with the reference: 3 of 3 did not pass",
    )
    assert len(rounds.asked) == 2
    pool, _ = screened(honest, judgement=Judgement(ERROR, "timeout"))
    assert pool.problem == "the listed tests do not pass with the reference: see validate"
    failing = replace(CHECK, results="tap", keep_passing=())
    pool, rounds = screened(lambda _: PASSED | {TESTS[1]: "failed"}, failing)
    assert pool.problem and len(rounds.asked) == 1, "only pytest can select"


def test_other_tests_of_the_suite_may_fail_with_the_reference(screened: Any) -> None:
    pool, _ = screened(judgement=Judgement("fail", "tests", "another one fails"))
    assert pool.problem == "" and pool.variants


def test_a_variant_that_passes_is_left_out(screened: Any) -> None:
    def rule(variants: tuple[Variant, ...]) -> Mapping[str, str]:
        return PASSED | {t: "failed" for one in variants for t in one.ids if one.edit.kind != EXPECTATION}

    pool, _ = screened(rule)
    assert {one.edit.kind for one in pool.variants} == {FORM, NEGATION}
    assert pool.without == ()


def test_a_variant_that_fails_only_once_is_left_out(screened: Any) -> None:
    seen: set[Variant] = set()

    def rule(variants: tuple[Variant, ...]) -> Mapping[str, str]:
        again = {one for one in variants if one.edit.kind == FORM and one in seen}
        seen.update(variants)
        return PASSED | {test: "failed" for one in variants if one not in again for test in one.ids}

    pool, _ = screened(rule)
    assert FORM not in {one.edit.kind for one in pool.variants}
    assert all(len(pool.of(test)) >= 3 for test in TESTS)


def test_a_test_whose_variants_all_pass_is_without(screened: Any) -> None:
    pool, _ = screened(lambda some: honest(some) | {TESTS[1]: "passed"})
    assert pool.without == (TESTS[1],)
    assert not pool.of(TESTS[1])


@pytest.mark.parametrize("outcome", ["error", None])
def test_a_variant_that_breaks_its_test_is_left_out_and_does_not_harm_others(screened: Any, outcome: Any) -> None:
    def rule(variants: tuple[Variant, ...]) -> Mapping[str, str]:
        found = honest(variants)
        for one in variants:
            if one.edit.kind == NEGATION:
                found[one.ids[0]] = outcome
        return {test: one for test, one in found.items() if one}

    pool, rounds = screened(rule)
    assert NEGATION not in {one.edit.kind for one in pool.variants}
    assert all(len(pool.of(test)) >= 3 for test in TESTS)
    assert any(len(one) == 1 for one in rounds.asked), "rounds are divided until the cause is alone"


def test_a_variant_that_disturbs_others_is_kept_with_what_it_disturbs(screened: Any) -> None:
    def rule(variants: tuple[Variant, ...]) -> Mapping[str, str]:
        found = honest(variants)
        for one in variants:
            if one.edit.kind == FORM and one.ids == (TESTS[0],):
                found[KEPT[0]] = "failed"
        return found

    pool, _ = screened(rule)
    for one in pool.variants:
        disturbs = one.edit.kind == FORM and one.ids == (TESTS[0],)
        assert one.affects == ((TESTS[0], KEPT[0]) if disturbs else one.ids)
    assert any(one.affects != one.ids for one in pool.variants)


def test_of_several_parameters_some_may_go_on_passing(screened: Any) -> None:
    ids = ("tests/test_a.py::test_a[1]", "tests/test_a.py::test_a[2]")
    check = replace(CHECK, must_pass=ids, keep_passing=())
    passed = dict.fromkeys(ids, "passed")
    pool, _ = screened(lambda some: passed | ({ids[0]: "failed"} if some else {}), check)
    assert pool.without == (ids[1],)
    assert {one.ids for one in pool.variants} == {(ids[0],)}
    assert {one.affects for one in pool.variants} == {ids}, "the other one is neither altered for certain nor a control"


def test_a_test_that_is_not_in_the_files_is_without(screened: Any) -> None:
    lost = "tests/test_a.py::gone"
    pool, _ = screened(lambda some: honest(some) | {lost: "passed"}, replace(CHECK, must_pass=(*TESTS, lost)))
    assert pool.without == (lost,)


def test_tests_without_edits_and_files_without_tests_have_no_variants(screened: Any) -> None:
    empty = {PATH: b"def test_a(): pass"}
    pool, _ = screened(files=empty)
    assert pool.variants == () and pool.without == TESTS
    pool, _ = screened(by_exit, EXIT, {PATH: b""}, exit_code=1)
    assert pool.variants == () and pool.without == (WHOLE_CHECK,)


def test_ids_of_other_formats_are_led_to_tests_by_their_names(screened: Any) -> None:
    tests = tuple(f"suite > test_{letter}" for letter in "abc")
    check = replace(CHECK, results="junit", must_pass=tests, keep_passing=())
    passed = dict.fromkeys(tests, "passed")
    pool, rounds = screened(lambda some: passed | {test: "failed" for one in some for test in one.ids}, check)
    assert pool.without == () and pool.selects is False
    assert not any(b"pytest" in one.edit.new for one in pool.variants)
    assert rounds.only == {()}


def test_edits_that_overlap_are_tried_in_rounds_of_their_own(screened: Any) -> None:
    text = b"def same(x):\n    assert x == 1\ndef test_a():\n    same(f())\ndef test_b():\n    same(g())\n"
    tests = TESTS[:2]
    check = replace(CHECK, must_pass=tests, keep_passing=())
    passed = dict.fromkeys(tests, "passed")
    pool, rounds = screened(
        lambda some: passed | {test: "failed" for one in some for test in one.ids}, check, {PATH: text}
    )
    for several in rounds.asked:
        for at, one in enumerate(several):
            assert not any(one.edit.overlaps(other.edit) for other in several[at + 1 :])
    assert pool.without == ()


def test_a_pair_of_which_one_breaks_is_divided(screened: Any) -> None:
    check = replace(CHECK, must_pass=TESTS[:2], keep_passing=())

    def rule(variants: tuple[Variant, ...]) -> Mapping[str, str]:
        found = honest(variants)
        return found | ({TESTS[1]: "error"} if any(one.ids == TESTS[:1] for one in variants) else {})

    pool, _ = screened(rule, check)
    assert len(pool.of(TESTS[1])) >= 3, "alone it fails as it must"


def test_enough_variants_of_one_kind_are_not_enough(screened: Any) -> None:
    def rule(variants: tuple[Variant, ...]) -> Mapping[str, str]:
        return PASSED | {t: "failed" for one in variants for t in one.ids if one.edit.kind in (EXPECTATION, FORM)}

    _, rounds = screened(rule)
    tried = {one.edit.kind for several in rounds.asked for one in several}
    assert NEGATION in tried
    assert len(rounds.asked) > 13, "other kinds are tried until none is left"


def test_the_number_of_rounds_is_bounded(screened: Any) -> None:
    tests = tuple(f"tests/test_a.py::test_{number}" for number in range(300))
    text = "\n".join(f"def test_{number}():\n    assert f() == [1, 2, 3]" for number in range(300)).encode()
    passed = dict.fromkeys(tests, "passed")

    def alone(variants: tuple[Variant, ...]) -> Mapping[str, str]:
        altered = {test: "failed" for one in variants for test in one.ids}
        return passed | (altered if len(variants) < 2 else dict.fromkeys(altered, "error"))

    pool, rounds = screened(alone, replace(CHECK, must_pass=tests, keep_passing=()), {PATH: text})
    assert 160 <= len(rounds.asked) <= 161
    assert pool.variants and pool.without


EXIT = replace(CHECK, results="exit-code", must_pass=(), keep_passing=())
WHOLE = {PATH: TEXT, b"tests/test_z.py": b"def test_z():\n    assert f() == 1\n"}


PRESSED = Judgement(ERROR, MACHINE_PRESSURE, "could run for 0.1 s of its 60 s")


class Pressed(Rounds):
    """Every round is disturbed by the machine, as many times as ``times`` says."""

    times = 2

    def __call__(self, *arguments: Any) -> RoundResult:
        made = super().__call__(*arguments)
        if self.numbers.count(self.numbers[-1]) > self.times:
            return made
        return replace(made, attempt=replace(made.attempt, judgement=PRESSED), outcomes={})


def test_j5_rounds_that_the_machine_disturbs_cost_no_variants(screened: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    usual, _ = screened()
    monkeypatch.setattr("tests.judge.checks.inverted_tests.test_variant_screening.Rounds", Pressed)
    pool, rounds = screened()
    assert pool.variants == usual.variants
    assert len(rounds.asked) == 13 * 3


def test_j5_no_pool_is_made_on_a_machine_that_disturbs_every_round(
    screened: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("tests.judge.checks.inverted_tests.test_variant_screening.Rounds", Pressed)
    monkeypatch.setattr(Pressed, "times", 3)
    with pytest.raises(InfrastructureFault) as no:
        screened()
    assert no.value.message == "no inverted tests could be made for tests: could run for 0.1 s of its 60 s"
    assert no.value.hint == "the machine is too loaded: try again when it is not"


class Sentinels(Rounds):
    """The sentinels come out wrong in rounds that alter what ``concerns`` says."""

    def concerns(self, variants: Any) -> bool:
        return False

    def __call__(self, *arguments: Any) -> RoundResult:
        made = super().__call__(*arguments)
        wrong = self.concerns(self.asked[-1])
        return replace(made, attempt=replace(made.attempt, sentinels="forged" if wrong else "passed"))


def test_variants_that_disturb_the_sentinels_are_left_out(screened: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tests.judge.checks.inverted_tests.test_variant_screening.Rounds", Sentinels)
    monkeypatch.setattr(Sentinels, "concerns", lambda self, several: any(TESTS[0] in one.ids for one in several))
    pool, _ = screened()
    assert pool.of(TESTS[0]) == () and pool.without == TESTS[:1]
    assert all(map(pool.is_covered, TESTS[1:]))


def test_variants_that_disturb_the_sentinels_the_second_time_are_left_out(
    screened: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("tests.judge.checks.inverted_tests.test_variant_screening.Rounds", Sentinels)
    seen: list[Any] = []

    def second(self: Any, several: Any) -> bool:
        seen.append(several)
        return bool(several) and seen.count(several) > 1

    monkeypatch.setattr(Sentinels, "concerns", second)
    pool, _ = screened()
    assert pool.variants == ()


def test_a_mode_in_which_sentinels_come_out_wrong_is_not_used(screened: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tests.judge.checks.inverted_tests.test_variant_screening.Rounds", Sentinels)
    monkeypatch.setattr(Sentinels, "concerns", lambda self, several: len(self.asked) == 1)
    pool, rounds = screened()
    assert pool.selects is False and rounds.only == {(), (*TESTS, *SOME)}
    assert all(map(pool.is_covered, TESTS))


def by_exit(variants: tuple[Variant, ...]) -> Mapping[str, str]:
    return {WHOLE_CHECK: "failed" if variants else "passed"}


def test_a_check_by_exit_code_has_one_variant_in_each_round(screened: Any) -> None:
    pool, rounds = screened(by_exit, EXIT, WHOLE, exit_code=1)
    assert [len(one) for one in rounds.asked] == [0] + [1] * 24
    assert len(pool.variants) == 12 and pool.without == () and pool.selects is False
    assert {one.ids for one in pool.variants} == {(WHOLE_CHECK,)}
    assert {one.path for one in pool.variants} == set(WHOLE), "files take turns"
    assert all(one.affects == (WHOLE_CHECK,) for one in pool.variants)
    assert [one.path for one in pool.variants].index(b"tests/test_z.py") == 3, "one of each test in turn"
    assert len({one.edit.line for one in pool.variants if one.path == PATH}) > 3, "and so do tests"


@pytest.mark.parametrize(("code", "kept"), [(1, True), (10, True), (134, True), (-6, True), (11, False), (139, False)])
def test_only_an_end_that_shows_a_wrong_result_counts(screened: Any, code: int, kept: bool) -> None:
    pool, _ = screened(by_exit, EXIT, exit_code=code)
    assert bool(pool.variants) is kept
    assert pool.without == (() if kept else (WHOLE_CHECK,))


def test_a_variant_with_which_the_check_passes_is_left_out(screened: Any) -> None:
    pool, _ = screened(lambda _: {WHOLE_CHECK: "passed"}, EXIT, exit_code=1)
    assert pool.variants == () and pool.without == (WHOLE_CHECK,)


@pytest.mark.parametrize(("reason", "kept"), [("tests", True), ("runner-crash", False)])
def test_a_check_without_must_pass_tests_fails_as_a_whole(screened: Any, reason: str, kept: bool) -> None:
    check = replace(CHECK, must_pass=(), results="tap")
    pool, rounds = screened(by_exit, check, judgement=Judgement("fail", reason))
    assert bool(pool.variants) is kept and pool.controls == ()
    assert rounds.only == {()} and len(rounds.asked) == (25 if kept else 13)


@pytest.fixture
def declared(make_contract: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Any:
    """Makes the pool of a contract whose author wrote variants, given as patches."""

    def run(*patches: str, hidden: bool = True, protected: str = "*.test", fails: bool = True) -> CheckPool:
        place = make_contract(policy={"protected": [protected]})
        names = []
        for number, patch in enumerate(patches):
            (place / f"{number}.patch").write_text(patch)
            names.append(f"{number}.patch")
        text = (place / "contract.yaml").read_text()
        wanted = '"timeout_seconds": 60'
        assert wanted in text
        rest = f'{wanted}, "results": "tap", "results_file": "r.tap", "must_pass": ["one"]'
        listed = ", ".join(f'"{name}"' for name in names)
        text = text.replace(wanted, f'{rest}, "inverted": {{"variants": [{listed}]}}')
        (place / "contract.yaml").write_text(text)
        contract = load_contract(place)
        (check,) = contract.checks
        found = {b"a.test": b"first\nsecond\n"}
        monkeypatch.setattr(variant_screening, "check_files", lambda *_: {})
        monkeypatch.setattr(variant_screening, "hidden_of", lambda *_: found if hidden else {})
        rule = Rounds(lambda some: {"one": "failed" if some and fails else "passed"}, check, found)
        monkeypatch.setattr(variant_screening, "run_round", rule)
        stale = dict.fromkeys(found, b"of the base") if hidden else found
        monkeypatch.setattr(
            SCENE, "read", lambda path: (0o100644, stale[path]) if path in stale else None, raising=False
        )
        made = bench(tmp_path / "contracts", prepared=SimpleNamespace(contract=contract))
        return Screening(made, check, SCENE, 1).pool(b"nonce", 0)

    return run


PATCH = "--- a/a.test\n+++ b/a.test\n@@ -1,2 +1,2 @@\n first\n-second\n+third\n"


@pytest.mark.parametrize("hidden", [True, False])
def test_variants_of_the_author_are_tried_like_others(declared: Any, hidden: bool) -> None:
    pool = declared(PATCH, PATCH.replace("third", "fourth"), hidden=hidden)
    assert [(one.path, one.edit.new, one.edit.kind, one.edit.line, one.ids) for one in pool.variants] == [
        (b"a.test", b"first\nthird\n", DECLARED, 1, ("one",)),
        (b"a.test", b"first\nfourth\n", DECLARED, 2, ("one",)),
    ]
    assert {(one.edit.start, one.edit.end) for one in pool.variants} == {(0, len(b"first\nsecond\n"))}
    assert pool.files == {"a.test": hashlib.sha256(b"first\nsecond\n").hexdigest()}


@pytest.mark.parametrize(
    ("patch", "message"),
    [
        (PATCH.replace("second", "other"), "0.patch does not apply"),
        (PATCH.replace("a.test", "b.test"), "0.patch does not apply"),
        (
            "--- /dev/null\n+++ b/new.test\n@@ -0,0 +1 @@\n+new\n",
            "0.patch does not change one file that is there",
        ),
        (PATCH + PATCH.replace("a.test", "c.test"), "0.patch does not"),
    ],
)
def test_a_variant_that_cannot_be_used_is_a_mistake_of_the_contract(declared: Any, patch: str, message: str) -> None:
    with pytest.raises(ContractError) as seen:
        declared(patch)
    (mistake,) = seen.value.mistakes
    assert message in mistake.message
    assert mistake.hint == "a variant is a patch against one hidden or protected test file"
    lines = Path(mistake.file).read_text().splitlines()
    assert lines[mistake.line - 1][mistake.column - 1 :].startswith('"0.patch"')


def test_a_variant_of_the_author_that_makes_no_test_fail_is_refused(declared: Any) -> None:
    with pytest.raises(ContractError) as seen:
        declared(PATCH, fails=False)
    (mistake,) = seen.value.mistakes
    assert mistake.message == "0.patch makes no must_pass test fail with the reference"


def test_a_variant_of_a_file_that_a_patch_can_change_is_refused(declared: Any) -> None:
    with pytest.raises(ContractError, match=r"0\.patch does not apply"):
        declared(PATCH, hidden=False, protected="other/**")


def test_added_assertions_alone_do_not_confirm_a_test(screened: Any) -> None:
    text = b"def test_a():\n    f()\n    g()\n"
    pool, _ = screened(check=replace(CHECK, must_pass=TESTS[:1], keep_passing=()), files={PATH: text})
    assert {one.edit.kind for one in pool.variants} == {ASSERTION, CALL}
    assert pool.without == TESTS[:1]


def test_kinds_take_turns_among_the_candidates(screened: Any) -> None:
    pool, _ = screened(lambda some: honest(some) if len(some) < 4 else {}, jobs=1)
    for test in TESTS:
        kinds = [one.edit.kind for one in pool.of(test)]
        assert {*kinds[:3]} == {EXPECTATION, FORM, NEGATION}
    assert not {ASSERTION, EXCEPTION} & {one.edit.kind for one in pool.variants}, "there were enough others"


def test_a_case_whose_new_id_is_wrong_is_left_out_and_the_others_of_its_round_are_kept(screened: Any) -> None:
    text = (
        b"import pytest\n\n\n@pytest.mark.parametrize('n,expected', [(1, 10), (2, 20), (3, 30)])\n"
        b"def test_a(n, expected):\n    assert f(n) == expected\n"
    )
    tests = tuple(f"tests/test_a.py::test_a[{n}-{n}0]" for n in (1, 2, 3))
    check = replace(CHECK, must_pass=tests, keep_passing=())

    def rule(variants: tuple[Variant, ...]) -> dict[str, str]:
        altered = {test for one in variants for test in one.ids}
        found = {test: "failed" if test in altered else "passed" for test in tests}
        for one in variants:
            if one.renamed and one.ids == tests[:1]:
                del found[tests[0]]
        return found

    pool, rounds = screened(rule, check, {PATH: text})
    cases = [one for one in pool.variants if one.renamed]
    assert {one.ids for one in cases} == {tests[1:2], tests[2:]}
    assert all(one.affects == one.ids and dict(one.renamed).keys() == set(one.ids) for one in cases)
    together = [asked for asked in rounds.asked if len(asked) == 3]
    assert len(together) == 1, "a round with one wrong id is not divided"
    assert pool.is_covered(tests[1])
