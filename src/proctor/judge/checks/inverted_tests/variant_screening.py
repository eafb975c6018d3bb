"""Make a pool: try every candidate on the reference, and keep the variants that fail as they must.

Candidates of different tests share a round, and what fails must fail again in a second one. If a round disturbs tests
that it does not alter, or the sentinels, it is divided until the cause is known. A variant that disturbs the sentinels
alone is left out. A variant must make its test *fail*: a test that breaks before it runs, or does not appear, shows
nothing. No pool is made on a machine that keeps disturbing rounds.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import zip_longest
from random import Random

from proctor.base.errors import ContractError, InfrastructureFault, Mistake
from proctor.base.parallel import parallel_map
from proctor.base.reversible_escapes import name_text
from proctor.contract.lint import place_of
from proctor.contract.load import CONTRACT_NAME
from proctor.contract.model import Check
from proctor.execute.workspace.patch import PatchProblem, apply_patch
from proctor.execute.workspace.path_patterns import matches
from proctor.judge.check_execution import Attempt
from proctor.judge.checks.check_decision import FAIL, PASS, TESTS
from proctor.judge.checks.inverted_tests.assertion_edits import DECLARED, Edit, kinds_of
from proctor.judge.checks.inverted_tests.locate_tests import EditableTest, find_units, whole_files
from proctor.judge.checks.inverted_tests.random_rounds import Round, evaluate, lacks_results
from proctor.judge.checks.inverted_tests.sandbox_rounds import (
    RoundResult,
    beside,
    check_files,
    hidden_of,
    run_round,
    run_undisturbed,
    sha256_of,
    start_of,
)
from proctor.judge.checks.inverted_tests.variant_pool import (
    ENOUGH_KINDS,
    WHOLE_CHECK,
    CheckPool,
    Variant,
    is_whole,
    tests_of,
)
from proctor.judge.checks.judge_context import JudgeContext, JudgedTree

WANTED = 6
"""A test with this many variants of at least two kinds gets no more."""
MOST_CANDIDATES = 12
MOST_WHOLE = 12
"""How many candidates are tried for a check as a whole."""
MOST_ROUNDS = 160
SOUND_CRASHES = (1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 134, -6)
"""Exit codes of a program that found a wrong result; ``assert`` in C ends with ``abort``."""


@dataclass(frozen=True)
class _Candidate:
    path: bytes
    edit: Edit
    ids: tuple[str, ...]
    renamed: tuple[tuple[str, str], ...] = ()
    touched: tuple[str, ...] = ()

    def variant(self, ids: tuple[str, ...], *disturbed: str) -> Variant:
        """The variant that makes ``ids`` fail. The other tests that it may concern are neither altered nor controls."""
        affects = dict.fromkeys((*ids, *disturbed, *self.ids, *self.touched))
        return Variant(self.path, self.edit, ids, tuple(affects), self.renamed)


class Screening:
    """Tries candidates of one check on the tree of the reference. How it is run is found out first."""

    _controls: tuple[str, ...]
    _selects: bool

    def __init__(self, bench: JudgeContext, check: Check, scene: JudgedTree, jobs: int) -> None:
        self._bench = bench
        self._check = check
        self._scene = scene
        self._jobs = jobs
        self._files: dict[bytes, bytes] = check_files(bench, check)
        self._tests = tests_of(check)
        self._is_whole = is_whole(check)
        self._rounds = 0
        self._took_ms: list[int] = []
        self._order: tuple[str, ...] = ()
        self._has_order = True
        self._variants: list[Variant] = []

    def pool(self, nonce: bytes, check_ms: int) -> CheckPool:
        """The variants that fail as required, or why there are none."""
        problem = self._find_mode()
        if problem:
            return CheckPool(self._check.id, without=self._tests, check_ms=check_ms, problem=problem)
        for batch in self._batches(nonce):
            self._try_all(batch)
        variants = tuple(self._variants)
        self._check_declared(variants)
        covered = {test for one in variants if one.depends for test in one.ids}
        used = {one.path for one in variants}
        return CheckPool(
            check=self._check.id,
            variants=variants,
            without=tuple(test for test in self._tests if test not in covered),
            controls=self._controls,
            selects=self._selects,
            files={name_text(path): sha256_of(self._files[path]) for path in sorted(used)},
            round_ms=min(self._took_ms),
            check_ms=check_ms,
            order=self._order if self._has_order else (),
        )

    def _find_mode(self) -> str:
        """Find out whether the listed tests pass alone or only in the whole suite; returns the problem if neither."""
        can_select = self._check.results == "pytest" and not self._is_whole
        for self._selects in (True, False) if can_select else (False,):
            self._controls = beside(self._check)
            made = self._run(())
            self._controls = tuple(test for test in self._controls if made.outcomes.get(test) == "passed")
            if self._is_clean(made):
                listed = {*self._tests, *self._controls}
                self._order = tuple(test for test in made.outcomes if test in listed)
                return ""
        return f"the listed tests do not pass with the reference: {made.attempt.judgement.detail or 'see validate'}"

    def _is_clean(self, made: RoundResult) -> bool:
        if made.has_wrong_sentinels or (not self._is_whole and made.attempt.judgement.outcome not in (PASS, FAIL)):
            return False
        return all(made.outcomes.get(test) == "passed" for test in self._tests)

    def _batches(self, nonce: bytes) -> list[list[list[_Candidate]]]:
        """Rounds of candidates, in batches: a round has one candidate of every test, or one in all for an exit code."""
        chance = Random(nonce)
        queues = [[one] for one in self._declared()]
        queues += [self._candidates(unit, chance) for unit in self._units(nonce)]
        if self._is_whole:
            spread = [one for turn in range(MOST_CANDIDATES) for queue in queues for one in queue[turn : turn + 1]]
            return [[[one] for one in spread[:MOST_WHOLE]]]
        rounds = [[one for one in several if one is not None] for several in zip_longest(*queues)]
        return [rounds[:WANTED], *([one] for one in rounds[WANTED:])]

    def _units(self, nonce: bytes) -> tuple[EditableTest, ...]:
        if self._is_whole:
            return whole_files(self._files, nonce)
        by_pytest = self._check.results == "pytest"
        tests = (*self._tests, *self._controls)
        return find_units(tests, self._files, nonce, by_pytest=by_pytest, start=start_of(self._check))

    def _candidates(self, unit: EditableTest, chance: Random) -> list[_Candidate]:
        """The candidates of one test, one of each kind in turn."""
        by_kind: dict[str, list[Edit]] = {}
        for edit in chance.sample(unit.edits, len(unit.edits)):
            by_kind.setdefault(edit.kind, []).append(edit)
        spread = [edit for several in zip_longest(*by_kind.values()) for edit in several if edit is not None]
        ids = unit.ids or (WHOLE_CHECK,)
        return [_candidate(unit, edit, ids) for edit in spread[:MOST_CANDIDATES]]

    def _declared(self) -> list[_Candidate]:
        """The variants that the contract's author wrote, each as one edit of the whole file that it changes."""
        hidden = hidden_of(self._bench, self._check) if self._check.inverted.variants else {}
        protected = self._bench.prepared.contract.policy.protected if self._check.inverted.variants else ()

        def read(path: bytes) -> tuple[int, bytes] | None:
            """A file that no patch can change."""
            if path in hidden:
                return 0o100644, hidden[path]
            return self._scene.read(path) if any(matches(path, one) for one in protected) else None

        found = []
        for number, file in enumerate(self._check.inverted.variants, 1):
            patch = (self._bench.prepared.contract.directory / file.path).read_bytes()
            try:
                writes = apply_patch(patch, read, scratch=self._bench.scratch).writes
            except PatchProblem as problem:
                raise self._unusable(number, f"{file.path} does not apply: {problem.reason}") from None
            before = read(writes[0][0]) if len(writes) == 1 else None
            if before is None:
                raise self._unusable(number, f"{file.path} does not change one file that is there")
            path, _, data = writes[0]
            self._files[path] = before[1]
            found.append(_Candidate(path, Edit(0, len(before[1]), data, DECLARED, number), self._tests))
        return found

    def _check_declared(self, variants: tuple[Variant, ...]) -> None:
        """Refuse a variant of the author that makes no test fail."""
        kept = {one.edit.line for one in variants if one.edit.kind == DECLARED}
        for number, file in enumerate(self._check.inverted.variants, 1):
            if number not in kept:
                raise self._unusable(number, f"{file.path} makes no must_pass test fail with the reference")

    def _unusable(self, number: int, message: str) -> ContractError:
        contract = self._bench.prepared.contract
        place = place_of(contract, ("checks", contract.checks.index(self._check), "inverted", "variants", number - 1))
        hint = "a variant is a patch against one hidden or protected test file"
        return ContractError([Mistake(str(contract.directory / CONTRACT_NAME), *place, message, hint)])

    def _try_all(self, rounds: Sequence[list[_Candidate]]) -> None:
        waiting = [[one for one in several if self._is_wanted(one)] for several in rounds]
        for kept in parallel_map(self._tried, [one for one in waiting if one], self._jobs):
            self._variants += kept

    def _is_wanted(self, candidate: _Candidate) -> bool:
        if candidate.edit.kind == DECLARED:
            return True
        for test in candidate.ids:
            have = [one for one in self._variants if test in one.ids]
            if len(have) < WANTED or len(kinds_of(one.edit for one in have)) < ENOUGH_KINDS:
                return True
        return False

    def _tried(self, several: list[_Candidate]) -> list[Variant]:
        """The candidates of one round that fail as they must; it is divided if they disturb others or each other."""
        if self._rounds >= MOST_ROUNDS:
            return []
        fitting = _compatible(several)
        left = [one for one in several if one not in fitting]
        made = self._run(tuple(one.variant(one.ids) for one in fitting))
        kept = self._judged(fitting, made)
        if kept is None:
            half = len(fitting) // 2
            kept = [*self._tried(fitting[:half]), *self._tried(fitting[half:])] if half else []
        else:
            kept = self._failing_again(kept)
        return [*kept, *(self._tried(left) if left else [])]

    def _failing_again(self, kept: list[Variant]) -> list[Variant]:
        """The variants that fail a second time: a test that failed for another reason, such as load, would pass."""
        if not kept:
            return []
        made = self._run(tuple(kept))
        if made.has_wrong_sentinels:
            return []
        return [one for one in kept if all(made.outcomes.get(test) == "failed" for test in one.ids)]

    def _judged(self, several: list[_Candidate], made: RoundResult) -> list[Variant] | None:
        """The variants that failed as they must in a round; ``None`` if it must be divided."""
        outcomes = made.outcomes
        if made.has_wrong_sentinels:
            return None
        if self._is_whole:
            holds = outcomes[WHOLE_CHECK] == "failed" and self._is_sound(made.attempt)
            return [one.variant(one.ids) for one in several] if holds else []
        altered = {test for one in several for test in one.ids}
        touched = {test for one in several for test in one.touched}
        others = [test for test in (*self._tests, *self._controls) if test not in altered | touched]
        disturbed = [test for test in others if outcomes.get(test) != "passed"]
        renamed = {test for one in several for test, _ in one.renamed}
        absent = {test for test in altered if outcomes.get(test) in (None, "error")}
        if len(several) > 1 and (disturbed or absent - renamed or absent == altered):
            return None
        found = []
        for one in several:
            failed = tuple(test for test in one.ids if outcomes.get(test) == "failed")
            if failed:
                found.append(one.variant(failed, *disturbed))
        return found

    def _is_sound(self, made: Attempt) -> bool:
        """Whether a check as a whole failed because a test found a wrong result."""
        if self._check.results == "exit-code":
            return made.finished.exit_code in SOUND_CRASHES
        return made.judgement.reason == TESTS

    def _run(self, variants: tuple[Variant, ...]) -> RoundResult:
        self._rounds += 1
        number, tests = self._rounds, (*self._tests, *self._controls)
        only = tests if self._selects else ()
        affected = {test for one in variants for test in one.affects}
        drawn = Round(variants, tuple(test for test in tests if test not in affected))
        made = run_undisturbed(
            lambda: run_round(self._bench, self._check, self._scene, variants, self._files, only, number),
            lambda made: lacks_results(evaluate(drawn, made.outcomes), made.outcomes),
        )
        if made.is_of_the_machine:
            raise InfrastructureFault(
                f"no inverted tests could be made for {self._check.id}: {made.attempt.judgement.detail}",
                hint="the machine is too loaded: try again when it is not",
            )
        self._took_ms.append(made.attempt.finished.wall_ns // 1_000_000)
        ran = [test for test in made.outcomes if test in self._order]
        if ran != sorted(ran, key=self._order.index):
            self._has_order = False
        return made


def _candidate(unit: EditableTest, edit: Edit, ids: tuple[str, ...]) -> _Candidate:
    renamed = edit.case.renamed(ids) if edit.case is not None else {}
    changed = [pair for pair in renamed.items() if pair[0] != pair[1]]
    return _Candidate(unit.path, replace(edit, case=None), ids, tuple(changed), unit.touched)


def _compatible(several: list[_Candidate]) -> list[_Candidate]:
    chosen: list[_Candidate] = []
    for one in several:
        variant = one.variant(one.ids)
        if not any(variant.clashes(other.variant(other.ids)) for other in chosen):
            chosen.append(one)
    return chosen
