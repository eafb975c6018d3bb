"""Agreement between reviewers against published and hand-computed values."""

from __future__ import annotations

from fractions import Fraction

from hypothesis import given
from hypothesis import strategies as st

from proctor.judge.human_review import cohen_kappa, krippendorff_alpha, paired_verdicts


def units(*rows: str) -> list[dict[str, str]]:
    """One row a reviewer, one column a unit; a dot is missing."""
    return [
        {str(reviewer): value for reviewer, value in enumerate(column) if value != "."}
        for column in zip(*rows, strict=True)
    ]


def test_kappa_by_hand() -> None:
    """20 and 15 agree, 5 and 10 do not: observed 0.7; by chance 0.5 * 0.6 + 0.5 * 0.4 = 0.5; (0.7 - 0.5) / 0.5."""
    pairs = [("a", "a")] * 20 + [("a", "b")] * 5 + [("b", "a")] * 10 + [("b", "b")] * 15
    assert cohen_kappa(pairs) == Fraction(2, 5)
    assert cohen_kappa([("a", "a"), ("b", "b")]) == 1
    assert cohen_kappa([("a", "b"), ("b", "a")]) == -1
    assert cohen_kappa([("a", "a")] * 3) is None
    assert cohen_kappa([]) is None


def test_alpha_as_published() -> None:
    """Krippendorff (2011), examples B and C: two observers with two values, four with five values and gaps."""
    two = krippendorff_alpha(units("0100000010", "1110010000"))
    assert two is not None
    assert round(float(two), 3) == 0.095
    four = krippendorff_alpha(units("12332141" + "2...", "1233224125.3", ".33323422" + "51.", "123324412" + "51."))
    assert four is not None
    assert round(float(four), 3) == 0.743


def test_alpha_without_anything_to_compare_is_undefined() -> None:
    assert krippendorff_alpha([]) is None
    assert krippendorff_alpha(units("ab", "..")) is None
    assert krippendorff_alpha(units("aaa", "aaa")) is None
    assert krippendorff_alpha(units("ab", "ab")) == 1


@given(st.lists(st.tuples(st.sampled_from("abc"), st.sampled_from("abc")), min_size=1, max_size=30))
def test_both_are_at_most_one_and_do_not_depend_on_names(pairs: list[tuple[str, str]]) -> None:
    renamed = {"a": "x", "b": "y", "c": "z"}
    again = [(renamed[left], renamed[right]) for left, right in pairs]
    assert cohen_kappa(pairs) == cohen_kappa(again) == cohen_kappa([(right, left) for left, right in pairs])
    alpha = krippendorff_alpha([{"1": left, "2": right} for left, right in pairs])
    for value in (cohen_kappa(pairs), alpha):
        assert value is None or value <= 1
    if alpha is not None and all(left == right for left, right in pairs):
        assert alpha == 1


def test_only_two_reviewers_who_met_are_a_pair() -> None:
    assert paired_verdicts([{"a": "x", "b": "y"}, {"a": "x"}, {"c": "x"}]) == (("a", "b"), [("x", "y")])
    assert paired_verdicts([{"a": "x", "b": "y"}, {"a": "x", "c": "y"}]) is None
    assert paired_verdicts([{"a": "x"}]) is None
