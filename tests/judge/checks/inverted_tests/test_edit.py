"""One alteration: what overlaps, what several make of a file, and the difference that a person reads."""

from __future__ import annotations

import itertools

import pytest
from hypothesis import given
from hypothesis import strategies as st

from proctor.judge.checks.inverted_tests.assertion_edits import (
    DIFF_LINES,
    EXPECTATION,
    KINDS,
    Block,
    Edit,
    diff,
    edited,
    kinds_of,
)


def edit(start: int, end: int, new: bytes = b"") -> Edit:
    return Edit(start, end, new, EXPECTATION, 1)


OVERLAPS = [
    ((0, 2), (2, 4), False),
    ((0, 3), (2, 4), True),
    ((0, 9), (2, 4), True),
    ((0, 2), (3, 4), False),
    ((2, 2), (2, 4), True),
    ((2, 2), (2, 2), True),
    ((3, 3), (2, 4), True),
    ((4, 4), (2, 4), False),
    ((2, 3), (2, 4), True),
    ((1, 1), (2, 4), False),
]


@pytest.mark.parametrize(("one", "other", "expected"), OVERLAPS)
def test_spans_overlap_where_both_edits_cannot_be_made(
    one: tuple[int, int], other: tuple[int, int], expected: bool
) -> None:
    assert edit(*one).overlaps(edit(*other)) is expected
    assert edit(*other).overlaps(edit(*one)) is expected


def test_edits_are_made_in_any_order() -> None:
    edits = [edit(1, 2, b"X"), edit(4, 6, b""), edit(3, 3, b"long"), edit(7, 8, b"YZ")]
    for several in itertools.permutations(edits):
        assert edited(b"01234567", several) == b"0X2long3" + b"6YZ"
    assert edited(b"0123", ()) == b"0123"


@given(st.binary(max_size=60), st.lists(st.tuples(st.integers(0, 60), st.integers(0, 60), st.binary(max_size=4))))
def test_edits_of_disjoint_spans_compose(data: bytes, spans: list[tuple[int, int, bytes]]) -> None:
    chosen: list[Edit] = []
    for one, other, new in spans:
        start, end = sorted((min(one, len(data)), min(other, len(data))))
        candidate = edit(start, end, new)
        if not any(candidate.overlaps(before) for before in chosen):
            chosen.append(candidate)
    together = edited(data, chosen)
    pieces, at = [], 0
    for each in sorted(chosen, key=lambda made: made.start):
        pieces += [data[at : each.start], each.new]
        at = each.end
    assert together == b"".join([*pieces, data[at:]])
    assert together == edited(data, reversed(chosen))


def test_the_difference_is_short_and_names_the_file() -> None:
    before = b"one\ntwo\nthree\nfour\nfive\nsix\nseven\n"
    assert diff("t/a.py", before, before.replace(b"four", b"4\xff")) == (
        "--- a/t/a.py\n+++ b/t/a.py\n@@ -2,5 +2,5 @@\n two\n three\n-four\n+4\ufffd\n five\n six"
    )
    assert diff("a", before, before) == ""
    assert diff("a", b"\xfe", b"b").splitlines()[3:] == ["-\ufffd", "+b"]


def test_a_long_difference_is_cut() -> None:
    old, new = (b"".join(b"%d%s\n" % (number, end) for number in range(100)) for end in (b"a", b"b"))
    lines = diff("a", old, new).splitlines()
    assert len(lines) == DIFF_LINES == 40
    assert lines[3] == "-0a"


def test_kinds_are_a_closed_set_and_a_block_calls_nothing_unless_it_says_so() -> None:
    assert KINDS == ("expectation", "form", "negation", "exception", "assertion", "call", "declared")
    assert Block("a", (), ()).calls == frozenset()


def test_another_form_of_an_expectation_is_no_kind_of_its_own() -> None:
    several = [Edit(0, 1, b"", kind, 1) for kind in KINDS]
    assert kinds_of(several) == frozenset(KINDS) - {"form"}
    assert kinds_of(several[1:2]) == {"expectation"}
