"""Rounds in fresh sandboxes: run a check with altered tests on a scene, and collect the outcomes of its tests."""

from __future__ import annotations

import hashlib
import posixpath
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace

from proctor.base.reversible_escapes import name_text
from proctor.contract.model import Check
from proctor.execute.inputs.input_files import hidden_files
from proctor.execute.sandbox.interface import WORKSPACE
from proctor.execute.workspace.path_patterns import matches
from proctor.execute.workspace.workspace import base_stack
from proctor.judge.check_execution import Altered, Attempt, attempt, make_ready
from proctor.judge.checks.check_decision import KILLED, OF_THE_MACHINE, PASS, set_aside
from proctor.judge.checks.inverted_tests.locate_tests import has_reader, pytest_files
from proctor.judge.checks.inverted_tests.variant_pool import WHOLE_CHECK, CheckPool, Variant, altered_files, is_whole
from proctor.judge.checks.judge_context import JudgeContext, JudgedTree
from proctor.judge.checks.sentinels import FORGED
from proctor.judge.patch_policy.paths_of_tests import is_test

INVERTED = "inverted"
"""The name of the tree of such an attempt in records."""

MOST_TRIES = 3
"""How often a round that the machine may have disturbed is run."""
MOST_BESIDE = 6
MOST_FILES = 2_000
MOST_BYTES = 1 << 20
"""Test files beyond these limits are not read."""


@dataclass(frozen=True)
class RoundResult:
    """One finished round: the attempt, and the outcome of every test that it ran."""

    attempt: Attempt
    outcomes: Mapping[str, str]
    tries: int = 1
    """How often the round was run until it counted."""

    @property
    def disturbance(self) -> str:
        """Why the machine may have caused what the round shows; empty if it did not."""
        return set_aside(self.attempt.finished, self.attempt.judgement, self.attempt.machine_oom_kills)

    @property
    def is_of_the_machine(self) -> bool:
        """Whether the machine kept the round from its end."""
        return self.disturbance in OF_THE_MACHINE

    @property
    def has_wrong_sentinels(self) -> bool:
        """Whether sentinels did not pass or fail as they must."""
        return self.attempt.sentinels == FORGED


def run_undisturbed(run: Callable[[], RoundResult], lacks_results: Callable[[RoundResult], bool]) -> RoundResult:
    """Run a round, and repeat it while the machine may have stopped it early, three times at most.

    An altered test may end its process by a signal, so a round that was killed is run again only if it lacks results.
    Results that are there count, whatever they show: otherwise code that dies by a signal could try several answers. A
    death by signal that repeats each time counts too.
    """
    made, tries = run(), 1
    while tries < MOST_TRIES and (made.is_of_the_machine or (made.disturbance == KILLED and lacks_results(made))):
        made, tries = run(), tries + 1
    return replace(made, tries=tries)


def run_round(
    bench: JudgeContext,
    check: Check,
    scene: JudgedTree,
    variants: tuple[Variant, ...],
    files: Mapping[bytes, bytes],
    only: tuple[str, ...],
    number: int,
) -> RoundResult:
    """Run ``check`` once with ``variants`` of ``files`` in place; ``only`` are the tests to run, if not all.

    Tests are named by their usual ids, here and in the outcomes, also where a variant gives them other ones. All
    ``files`` are written, altered or not: code under test must not recognise the altered ones by their age.
    """
    renamed = dict(pair for one in variants for pair in one.renamed)
    selected = tuple(renamed.get(test, test) for test in only)
    written = {**files, **altered_files(variants, files)}
    altered = Altered(tuple(written.items()), selected, check.inverted.run)
    ready = make_ready(bench, check, JudgedTree(INVERTED, scene.layers, scene.placement), number, altered)
    made = attempt(bench, ready)
    if is_whole(check):
        return RoundResult(made, {WHOLE_CHECK: "passed" if made.judgement.outcome == PASS else "failed"})
    usual = {new: old for old, new in renamed.items()}
    outcomes = {usual.get(test, test): one for test, one in made.results.outcomes.items() if test not in renamed}
    return RoundResult(made, outcomes)


def start_of(check: Check) -> str:
    """The directory of the tree that a check runs in, to which pytest's ids are relative; empty for the tree itself."""
    start = posixpath.relpath(check.directory, WORKSPACE)
    return "" if start == "." or start.startswith("..") else start


def beside(check: Check) -> tuple[str, ...]:
    """Some of the tests that must keep passing, spread over the list: they run together with those that must pass."""
    if is_whole(check):
        return ()
    return check.keep_passing[:: max(1, -(-len(check.keep_passing) // MOST_BESIDE))]


def check_files(bench: JudgeContext, check: Check) -> dict[bytes, bytes]:
    """The test files that a patch cannot change: hidden ones, and those of the base that are protected tests."""
    found: dict[bytes, bytes] = {}
    wanted = None
    if check.results == "pytest" and not is_whole(check):
        listed = (*check.must_pass, *beside(check))
        wanted = {path for test in listed for path in pytest_files(test, start_of(check))}
    base = base_stack(bench.prepared.layers)
    for path in sorted(wanted) if wanted is not None else _protected_tests(bench):
        held = base.file(path)
        if held is not None and len(held[1]) <= MOST_BYTES:
            found[path] = held[1]
    for path, data in hidden_of(bench, check).items():
        if has_reader(path) and len(data) <= MOST_BYTES and (wanted is None or path in wanted):
            found[path] = data
    return found


def hidden_of(bench: JudgeContext, check: Check) -> dict[bytes, bytes]:
    """The hidden files of ``check`` by their paths in the tree."""
    return {
        path: data
        for one in check.hidden
        for path, _, data in hidden_files(one, bench.prepared.contract, bench.prepared.inputs)
    }


def _protected_tests(bench: JudgeContext) -> list[bytes]:
    """The files of the base that contain tests and are restored before judging."""
    protected = bench.prepared.contract.policy.protected
    found: list[bytes] = []
    for directory, entries in base_stack(bench.prepared.layers).walk() if protected else ():
        for entry in entries:
            path = directory + b"/" + entry.name if directory else entry.name
            if has_reader(path) and is_test(name_text(path)) and any(matches(path, one) for one in protected):
                found.append(path)
            if len(found) >= MOST_FILES:
                return found
    return found


def unchanged(pool: CheckPool, bench: JudgeContext, check: Check, scene: JudgedTree) -> dict[bytes, bytes]:
    """The test files of a pool that still match its variants, as the judge is about to place them."""
    hidden = hidden_of(bench, check)
    found: dict[bytes, bytes] = {}
    for path in {one.path for one in pool.variants}:
        data = hidden.get(path)
        if data is None:
            placed = scene.read(path)
            data = placed[1] if placed is not None else None
        if data is not None and sha256_of(data) == pool.files.get(name_text(path)):
            found[path] = data
    return found


def sha256_of(data: bytes) -> str:
    """The digest of a file in a pool."""
    return hashlib.sha256(data).hexdigest()
