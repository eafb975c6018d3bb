"""Numbers in sentences are rounded for people, and never to more than they are."""

from __future__ import annotations

import pytest

from proctor.study.analysis.number_format import level_words


@pytest.mark.parametrize(
    ("level", "words"),
    [
        (0.95, "95%"),
        (0.700266, "70%"),
        (0.875, "87.5%"),
        (0.975, "97.5%"),
        (0.9549, "95.5%"),
        (0.9971, "99.71%"),
        (0.99999, "99.999%"),
        (1.0, "100%"),
    ],
)
def test_a_level_in_words(level: float, words: str) -> None:
    assert level_words(level) == words
