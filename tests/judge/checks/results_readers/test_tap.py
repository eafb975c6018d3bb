"""TAP streams, honest and hostile."""

from __future__ import annotations

import pytest

from proctor.judge.checks.results_readers import tap
from proctor.judge.checks.results_readers.interface import MAX_TESTS, RESULT_BYTES

FLAT = b"""TAP version 13
1..7
ok 1 - adds
not ok 2 - subtracts
  ---
  message: ok 9 - not a test
  ...
ok 3 divides # SKIP no zero
not ok 4 - knows pi # TODO later
ok 5
ok - no number
ok 7 - a \\# in it
"""

NESTED = b"""TAP version 14
# Subtest: math
    # Subtest: plus
    ok 1 - plus
    # Subtest: minus
        ok 1 - negative
        not ok 2 - zero
        1..2
    not ok 2 - minus
    1..2
not ok 1 - math
ok 2 - text
1..2
"""

TAPE = b"""TAP version 13
# proto pollution
ok 1 should be equal
ok 2 should be equal
# proto pollution (array)
not ok 3 should be equal

1..3
# tests 3
# pass  2
# fail  1
"""


def test_flat() -> None:
    results = tap.parse(FLAT)
    assert results.complete, results.problem
    assert dict(results.outcomes) == {
        "adds": "passed",
        "subtracts": "failed",
        "divides": "skipped",
        "knows pi": "skipped",
        "5": "passed",
        "no number": "passed",
        "a # in it": "passed",
    }


def test_subtests_carry_their_parents() -> None:
    results = tap.parse(NESTED)
    assert results.complete, results.problem
    assert dict(results.outcomes) == {
        "math": "failed",
        "math > plus": "passed",
        "math > minus": "failed",
        "math > minus > negative": "passed",
        "math > minus > zero": "failed",
        "text": "passed",
    }


def test_a_comment_above_test_lines_names_their_group() -> None:
    results = tap.parse(TAPE)
    assert results.complete, results.problem
    assert dict(results.outcomes) == {
        "proto pollution": "passed",
        "proto pollution (array)": "failed",
        "should be equal": "failed",
    }


@pytest.mark.parametrize("data", [b"1..2\nok 1 - a\nnot ok 2 - a\n", b"1..2\nnot ok 1 - a\nok 2 - a\n"])
def test_a_failed_duplicate_wins(data: bytes) -> None:
    assert dict(tap.parse(data).outcomes) == {"a": "failed"}


@pytest.mark.parametrize(
    ("data", "words"),
    [
        (b"", "no plan"),
        (b"ok 1 - a\n", "no plan"),
        (b"1..2\nok 1 - a\n", "2 tests, 1"),
        (b"1..1\nok 1 - a\nok 2 - b\n", "1 tests, 2"),
        (b"1..1\n1..2\nok\nok\n", "two plans"),
        (b"1..1\nok 1 - a\nBail out! no disk\n", "bailed out"),
        (b"1..0\n    ok 1 - inner\n", "closing line"),
        (b"\x00\xff\xfe\n", "no plan"),
    ],
)
def test_a_broken_promise_is_incomplete(data: bytes, words: str) -> None:
    results = tap.parse(data)
    assert not results.complete
    assert words in results.problem


def test_an_empty_plan_is_complete() -> None:
    assert tap.parse(b"1..0 # SKIP nothing to do\n").complete


def test_bytes_that_are_no_text_become_escapes() -> None:
    assert dict(tap.parse(b"1..1\r\nok 1 - \xff\xfe\r\n").outcomes) == {"\\xff\\xfe": "passed"}


def test_words_that_only_look_like_results_are_none() -> None:
    results = tap.parse(b"okay 1 - a\nnotok 2\nnot  ok 3\nOK 4\n1..0\n")
    assert results.complete
    assert not results.outcomes


def test_deep_nesting_is_refused() -> None:
    results = tap.parse(b" " * 5000 + b"ok 1 - deep\n1..0\n")
    assert not results.complete
    assert "deeper" in results.problem


def test_many_long_names_under_one_parent_are_refused() -> None:
    inner = b"    ok 1 - x\n" * 150_000
    results = tap.parse(inner + b"ok 1 - " + b"p" * 3000 + b"\n1..1\n")
    assert not results.complete
    assert "too long" in results.problem


def test_too_many_tests_are_refused() -> None:
    data = b"".join(b"ok %d - t%d\n" % (number, number) for number in range(MAX_TESTS + 2))
    assert "more than" in tap.parse(data).problem
    assert "more than" in tap.parse(b"    ok 1 - x\n" * (MAX_TESTS + 2)).problem


def test_long_runs_of_blanks_are_read_in_linear_time() -> None:
    data = b"ok" + b" " * 2_000_000 + b"x\n" + b"# " * 500_000 + b"\n1..1\n"
    assert tap.parse(data).complete


def test_more_than_the_bound_is_not_read() -> None:
    assert "larger" in tap.parse(bytes(RESULT_BYTES + 1)).problem
