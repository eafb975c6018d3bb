"""The stored pool: what is read is what was written, which tests are covered, and which checks have a pool at all."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from proctor.contract.model import Check, Contract, GitRepository, Inverted, NamedFile, Task
from proctor.judge.checks.inverted_tests import variant_pool as stored
from proctor.judge.checks.inverted_tests.assertion_edits import (
    ASSERTION,
    CALL,
    DECLARED,
    EXCEPTION,
    EXPECTATION,
    FORM,
    KINDS,
    NEGATION,
    Edit,
)
from proctor.judge.checks.inverted_tests.variant_pool import (
    WHOLE_CHECK,
    CheckPool,
    Coverage,
    Pool,
    Variant,
    altered_files,
    coverage,
    is_inverted,
    read_pool,
)

CHECK = Check("tests", "acceptance", ("x",), results="pytest", must_pass=("a", "b"))


def variant(ids: tuple[str, ...], kind: str = EXPECTATION, start: int = 0, path: bytes = b"t.py") -> Variant:
    return Variant(path, Edit(start, start + 2, b"new", kind, 1), ids, ids)


def contract(*checks: Check) -> Contract:
    task = Task(NamedFile("issue.md", "0" * 64), "text")
    return Contract(Path(), "calc", "t", "bug-fix", task, GitRepository("x", "0" * 40), checks)


TEXTS = st.text(max_size=6)
SEVERAL = st.lists(TEXTS, max_size=3).map(tuple)
EDITS = st.builds(
    Edit, st.integers(0, 99), st.integers(0, 99), st.binary(max_size=9), st.sampled_from(KINDS), st.integers(1, 99)
)
PATHS = st.binary(min_size=1, max_size=9).filter(lambda path: b"\0" not in path)
VARIANTS = st.builds(Variant, PATHS, EDITS, SEVERAL, SEVERAL)
POOLS = st.builds(
    CheckPool,
    check=TEXTS,
    variants=st.lists(VARIANTS, max_size=3).map(tuple),
    without=SEVERAL,
    controls=SEVERAL,
    selects=st.booleans(),
    files=st.dictionaries(TEXTS, TEXTS, max_size=3),
    round_ms=st.integers(0, 99_999),
    check_ms=st.integers(0, 99_999),
    problem=TEXTS,
    order=st.lists(TEXTS, max_size=3).map(tuple),
)


@settings(max_examples=30)
@given(st.builds(Pool, TEXTS, st.lists(POOLS, max_size=2).map(tuple)))
def test_a_pool_is_read_as_it_was_written(pool: Pool) -> None:
    record = json.loads(json.dumps(pool.record()))
    assert read_pool(record) == pool
    assert read_pool({**record, "kind": "other"}) is None
    assert read_pool({**record, "schema": 1}) is None
    assert read_pool({name: value for name, value in record.items() if name != "kind"}) is None
    assert read_pool({}) is None


def test_a_pool_is_stored_in_this_form() -> None:
    edit = Edit(3, 5, b"\xff", NEGATION, 7)
    made = CheckPool(
        *("tests", (Variant(b"t/a.py", edit, ("a",), ("a", "b"), (("a", "e"),)),), ("c",), ("d",), True),
        *({"z": "2", "t/a.py": "1"}, 12, 34, "why", ("d", "a")),
    )
    record = Pool("id", (made,)).record()
    assert read_pool(record) == Pool("id", (made,))
    assert record == {
        "schema": 3,
        "kind": "proctor.variants",
        "contract": "id",
        "checks": [
            {
                "check": "tests",
                "variants": [
                    {
                        "path": "t/a.py",
                        "kind": "negation",
                        "line": 7,
                        "start": 3,
                        "end": 5,
                        "new": "/w==",
                        "ids": ["a"],
                        "affects": ["a", "b"],
                        "renamed": [["a", "e"]],
                    }
                ],
                "without": ["c"],
                "controls": ["d"],
                "selects": True,
                "files": {"t/a.py": "1", "z": "2"},
                "round_ms": 12,
                "check_ms": 34,
                "problem": "why",
                "order": ["d", "a"],
            }
        ],
    }
    assert list(record["checks"][0]["files"]) == ["t/a.py", "z"]


def test_the_digest_of_a_pool_follows_from_its_record() -> None:
    pool = Pool("id", (CheckPool("tests"),))
    assert pool.digest == Pool("id", (CheckPool("tests"),)).digest
    assert pool.digest != Pool("other", pool.checks).digest
    assert pool.digest != Pool("id", (CheckPool("tests", problem="x"),)).digest


def test_a_pool_that_says_nothing_else_is_empty() -> None:
    record = CheckPool("tests").record()
    assert record == {
        "check": "tests",
        "variants": [],
        "without": [],
        "controls": [],
        "selects": False,
        "files": {},
        "round_ms": 0,
        "check_ms": 0,
        "problem": "",
        "order": [],
    }


def test_variants_clash_where_they_overlap_or_affect_the_same_test() -> None:
    one = variant(("a",))
    assert one.clashes(one)
    assert one.clashes(variant(("b",), start=1))
    assert not one.clashes(variant(("b",), start=2))
    assert not one.clashes(variant(("b",), path=b"u.py"))
    assert one.clashes(variant(("a", "b"), start=9))
    assert one.clashes(replace(variant(("b",), start=9), affects=("b", "a")))
    assert not replace(one, affects=("c",)).clashes(variant(("a",), start=9)), "only what they affect counts"


def test_a_test_is_covered_by_three_variants_of_two_kinds() -> None:
    several = [variant(("a",)), variant(("a", "b"), NEGATION), variant(("a",), EXCEPTION), variant(("b",))]
    pool = CheckPool("tests", tuple(several))
    assert pool.of("a") == tuple(several[:3])
    assert pool.of("b") == (several[1], several[3])
    assert pool.of("c") == ()
    assert pool.is_covered("a")
    assert not pool.is_covered("b")
    assert not CheckPool("tests", tuple([several[0]] * 3)).is_covered("a"), "one kind"
    assert CheckPool("tests", (several[0], several[0], several[1])).is_covered("a")
    assert not CheckPool("tests", (several[0], several[1])).is_covered("a"), "two variants"
    added = variant(("a",), ASSERTION)
    assert several[0].depends and not added.depends and not variant(("a",), CALL).depends


def test_a_pool_finds_the_pool_of_a_check() -> None:
    first, second = CheckPool("other"), CheckPool("tests", problem="x")
    assert Pool("id", (first, second)).of(CHECK) is second
    assert Pool("id", (first,)).of(CHECK) is None


@pytest.mark.parametrize(
    ("fields", "tests", "inverted"),
    [
        ({}, ("a", "b"), True),
        ({"must_pass": ()}, (WHOLE_CHECK,), True),
        ({"must_pass": (), "gate": "static"}, (), False),
        ({"results": "tap"}, ("a", "b"), True),
        ({"results": "exit-code"}, (WHOLE_CHECK,), True),
        ({"results": "exit-code", "gate": "static"}, (), False),
        ({"gate": "static"}, ("a", "b"), True),
        ({"mandatory": False}, ("a", "b"), False),
        ({"no_op": True}, ("a", "b"), False),
        ({"inverted": Inverted(draws=0)}, ("a", "b"), False),
        ({"inverted": Inverted(draws=1)}, ("a", "b"), True),
    ],
)
def test_which_checks_inverted_tests_can_confirm(
    fields: dict[str, Any], tests: tuple[str, ...], inverted: bool
) -> None:
    check = replace(CHECK, **fields)
    assert stored.tests_of(check) == tests
    assert is_inverted(check) is inverted


def test_coverage_counts_tests_and_says_why_there_is_no_pool() -> None:
    off = replace(CHECK, id="off", inverted=Inverted(draws=0))
    missing = replace(CHECK, id="missing")
    left_out = (
        replace(CHECK, id="1", mandatory=False),
        replace(CHECK, id="2", no_op=True),
        replace(CHECK, id="3", must_pass=(), gate="build"),
    )
    whole = contract(left_out[0], CHECK, off, *left_out[1:], missing)
    variants = (variant(("a",)), variant(("a",), NEGATION), variant(("a",)), variant(("b",)))
    pool = Pool("id", (CheckPool("tests", variants, without=("b",), problem="why"),))
    assert coverage(whole, pool) == (
        Coverage("tests", 2, 1, 4, ("b",), "why"),
        Coverage("off", 2, 0, 0, ("a", "b"), "inverted.draws is 0"),
        Coverage("missing", 2, 0, 0, ("a", "b"), "no pool was made"),
    )
    assert [one.problem for one in coverage(whole, None)] == [
        "no pool was made",
        "inverted.draws is 0",
        "no pool was made",
    ]
    assert coverage(contract(), None) == ()


def test_coverage_is_printed_in_this_form() -> None:
    assert Coverage("tests", 2, 1, 4, ("b",), "why", rare=("c",)).record() == {
        "check": "tests",
        "tests": 2,
        "covered": 1,
        "variants": 4,
        "without": ["b"],
        "problem": "why",
        "whole": False,
        "rare": ["c"],
    }


def test_rare_are_tests_whose_variants_all_have_another_form() -> None:
    tests = ("a", "b", "c", "d", "e")
    made = (variant(("a",)), variant(("a",), FORM), variant(("b", "c"), FORM), variant(("b",), DECLARED))
    pool = CheckPool("tests", (*made, variant(("d",), NEGATION)))
    assert [test for test in tests if pool.is_rare(test)] == ["c", "d"]
    (found,) = coverage(contract(replace(CHECK, must_pass=tests)), Pool("id", (pool,)))
    assert found.rare == ("c", "d")


def test_altered_files_are_those_that_variants_name_after_all_edits() -> None:
    files = {b"a": b"0123456789", b"b": b"abcdef", b"c": b"left"}
    several = (
        variant(("x",), start=0, path=b"a"),
        variant(("y",), start=4, path=b"a"),
        variant(("z",), start=4, path=b"b"),
    )
    assert altered_files(several, files) == {b"a": b"new23new6789", b"b": b"abcdnew"}
    assert altered_files((), files) == {}
