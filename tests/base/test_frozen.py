"""Frozen classes behave as data classes do, and cannot be changed."""

from __future__ import annotations

import copy
import pickle
from typing import Any, ClassVar

import pytest

from proctor.base.frozen import EMPTY, field_names, frozen, items, replace


@frozen
class Span:
    """A span."""

    start: int
    end: int = 0
    limit: ClassVar[int] = 9

    def length(self) -> int:
        return self.end - self.start


@frozen
class Named(Span):
    name: str = "none"


@frozen
class Other:
    start: int
    end: int = 0


@frozen
class Even:
    number: int

    def __post__(self) -> None:
        if self.number % 2:
            raise ValueError("odd")


def test_fields_come_by_place_by_name_and_by_default() -> None:
    assert Span(1, 2) == Span(start=1, end=2) == Span(1, end=2)
    assert Span(1).end == 0
    assert Span(1, 3).length() == 2
    assert Span.__doc__ == "A span." and Span.__name__ == "Span" and Span.__qualname__ == "Span"


def test_class_variables_are_no_fields() -> None:
    assert field_names(Span) == ("start", "end")
    assert Span.limit == 9


@pytest.mark.parametrize(
    ("values", "named"),
    [((), {}), ((1, 2, 3), {}), ((1,), {"start": 1}), ((1,), {"middle": 2}), ((), {"end": 2})],
)
def test_wrong_fields_are_refused(values: tuple[int, ...], named: dict[str, Any]) -> None:
    with pytest.raises(TypeError):
        Span(*values, **named)


def test_nothing_can_be_changed() -> None:
    span = Span(1)
    with pytest.raises(AttributeError, match="frozen"):
        span.start = 2  # type: ignore[misc]
    with pytest.raises(AttributeError, match="frozen"):
        span.new = 2  # type: ignore[attr-defined]
    with pytest.raises(AttributeError, match="frozen"):
        del span.start
    assert span == Span(1)


def test_equality_and_hash_are_by_class_and_fields() -> None:
    assert Span(1) == Span(1, 0) and hash(Span(1)) == hash(Span(1, 0))
    assert Span(1) != Span(2)
    others: list[object] = [Other(1), Named(1), (1, 0), None]
    assert Span(1) not in others
    assert len({Span(1), Span(1), Span(2)}) == 2


def test_it_shows_its_fields() -> None:
    assert repr(Named(1, 2, "x")) == "Named(start=1, end=2, name='x')"


def test_a_class_adds_to_its_base() -> None:
    assert field_names(Named) == ("start", "end", "name")
    assert isinstance(Named(1), Span)
    assert Named(1).name == "none"
    assert Named(1, 5).length() == 4


def test_fields_are_checked_by_the_class() -> None:
    assert Even(2).number == 2
    with pytest.raises(ValueError, match="odd"):
        Even(1)
    with pytest.raises(ValueError, match="odd"):
        replace(Even(2), number=3)


def test_replace_and_items() -> None:
    first = Named(1, 2, "x")
    assert replace(first, end=5) == Named(1, 5, "x") and first.end == 2
    assert dict(items(first)) == {"start": 1, "end": 2, "name": "x"}
    with pytest.raises(TypeError):
        replace(first, unknown=1)
    with pytest.raises(TypeError):
        list(items(object()))
    with pytest.raises(TypeError):
        field_names(int)


def test_copies_are_equal() -> None:
    value = Named(1, 2, "x")
    assert copy.copy(value) == copy.deepcopy(value) == value


def test_it_travels_between_processes() -> None:
    from proctor.contract.model import Rerun

    assert pickle.loads(pickle.dumps(Rerun(3, "any"))) == Rerun(3, "any")


def test_the_empty_mapping_cannot_be_filled() -> None:
    with pytest.raises(TypeError):
        EMPTY["a"] = 1  # type: ignore[index]


def test_a_field_may_be_called_value() -> None:
    @frozen
    class Held:
        value: int

    assert replace(Held(1), value=2) == Held(2)
