"""Rounds in fresh sandboxes: run a check with altered tests on a scene, and collect the outcomes of its tests."""

from __future__ import annotations

import hashlib
import posixpath
from collections.abc import Mapping

from proctor.base.frozen import frozen
from proctor.base.names import name_text
from proctor.contract.model import Check
from proctor.execute.inputs.place import hidden_files
from proctor.execute.sandbox.interface import WORKSPACE
from proctor.execute.workspace.glob import matches
from proctor.execute.workspace.workspace import base_stack
from proctor.judge.attempt import Altered, Attempt, attempt, make_ready
from proctor.judge.bench import Bench, Scene
from proctor.judge.inverted.pool import WHOLE_CHECK, CheckPool, Variant, altered_files, is_whole
from proctor.judge.inverted.units import has_reader, pytest_file
from proctor.judge.outcome import PASS
from proctor.judge.testpaths import is_test

INVERTED = "inverted"
"""The name of the tree of such an attempt in records."""

MOST_BESIDE = 6
MOST_FILES = 2_000
MOST_BYTES = 1 << 20
"""Test files beyond these limits are not read."""


@frozen
class Made:
    """One finished round: the attempt, and the outcome of every test that it ran."""

    attempt: Attempt
    outcomes: Mapping[str, str]


def run_round(
    bench: Bench,
    check: Check,
    scene: Scene,
    variants: tuple[Variant, ...],
    files: Mapping[bytes, bytes],
    only: tuple[str, ...],
    number: int,
) -> Made:
    """Run ``check`` once with ``variants`` of ``files`` in place; ``only`` are the tests to run, if not all."""
    altered = Altered(tuple(altered_files(variants, files).items()), only, check.inverted.run)
    ready = make_ready(bench, check, Scene(INVERTED, scene.layers, scene.placement), number, altered)
    made = attempt(bench, ready)
    if is_whole(check):
        return Made(made, {WHOLE_CHECK: "passed" if made.judgement.outcome == PASS else "failed"})
    return Made(made, made.results.outcomes)


def start_of(check: Check) -> str:
    """The directory of the tree that a check runs in, to which pytest's ids are relative; empty for the tree itself."""
    start = posixpath.relpath(check.directory, WORKSPACE)
    return "" if start == "." or start.startswith("..") else start


def beside(check: Check) -> tuple[str, ...]:
    """Some of the tests that must keep passing, spread over the list: they run beside those that must pass."""
    if is_whole(check):
        return ()
    return check.keep_passing[:: max(1, -(-len(check.keep_passing) // MOST_BESIDE))]


def check_files(bench: Bench, check: Check) -> dict[bytes, bytes]:
    """The test files that a patch cannot change: hidden ones, and those of the base that are protected tests."""
    found: dict[bytes, bytes] = {}
    wanted = None
    if check.results == "pytest" and not is_whole(check):
        wanted = {pytest_file(test, start_of(check)) for test in (*check.must_pass, *beside(check))}
    base = base_stack(bench.prepared.layers)
    for path in sorted(wanted) if wanted is not None else _protected_tests(bench):
        held = base.file(path)
        if held is not None and len(held[1]) <= MOST_BYTES:
            found[path] = held[1]
    for path, data in hidden_of(bench, check).items():
        if has_reader(path) and len(data) <= MOST_BYTES and (wanted is None or path in wanted):
            found[path] = data
    return found


def hidden_of(bench: Bench, check: Check) -> dict[bytes, bytes]:
    """The hidden files of ``check`` by their paths in the tree."""
    return {
        path: data
        for one in check.hidden
        for path, _, data in hidden_files(one, bench.prepared.contract, bench.prepared.inputs)
    }


def _protected_tests(bench: Bench) -> list[bytes]:
    """The files of the base that hold tests and are put back before judging."""
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


def unchanged(pool: CheckPool, bench: Bench, check: Check, scene: Scene) -> dict[bytes, bytes]:
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
