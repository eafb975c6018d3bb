"""The evidence of a trip: in order, each event once, bounded, and ending where the breaker tripped."""

from __future__ import annotations

import pytest

from proctor.execute.monitor.breakers.interface import MOST_EVIDENCE, evidence_of


@pytest.mark.parametrize(
    ("seqs", "last", "expected"),
    [
        ([], 7, (7,)),
        ([5, 3, 5], 7, (3, 5, 7)),
        ([3, 7, 9], 7, (3, 7)),
        (list(range(31)), 90, (*range(31), 90)),
        (list(range(32)), 90, (*range(16), *range(17, 32), 90)),
        (list(range(80)), 90, (*range(16), *range(65, 80), 90)),
    ],
)
def test_the_first_and_the_last_are_kept(seqs: list[int], last: int, expected: tuple[int, ...]) -> None:
    assert evidence_of(seqs, last) == expected
    assert len(expected) <= MOST_EVIDENCE
