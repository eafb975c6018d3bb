"""The table of runs: what is missing stays missing, selections keep their texts, bad rows are refused."""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import numpy as np
import pytest

from proctor.base.errors import UsageFault
from proctor.study.run_table import CHUNK_ROWS, COLUMNS, NAMES, NUMBER_NAMES, TEXT_NAMES, Coded, Table

ROWS: list[dict[str, Any]] = [
    {"run": "r1", "agent": "a", "task": "t1", "trial": 1, "success": 1, "cost_usd": 0.5, "tags": ""},
    {"run": "r2", "agent": "b", "task": "t1", "trial": 1, "success": 0, "cost_usd": 1.25, "tags": "x;y"},
    {"run": "r3", "agent": "a", "task": "t2", "trial": 2, "success": None, "seconds": 3.0},
]


def test_rows_become_columns_and_rows_again() -> None:
    table = Table.from_rows(ROWS)
    assert len(table) == table.length == 3
    assert list(table.agent) == ["a", "b", "a"]
    assert table.agent.names == ("a", "b")
    assert table.agent.codes.dtype == np.int32
    assert table.trial.dtype == np.float64
    assert table.trial.tolist() == [1, 1, 2]
    assert table.success[:2].tolist() == [1, 0]
    assert np.isnan(table.success[2])
    assert list(table.tags) == ["", "x;y", None]
    assert list(table.model) == [None, None, None]
    assert np.isnan(table.score).all()
    assert list(table.rows()) == [{name: value for name, value in row.items() if value is not None} for row in ROWS]
    assert [type(row["trial"]) for row in table.rows()] == [int] * 3


def test_every_column_is_there_under_its_kind() -> None:
    table = Table.from_rows(ROWS)
    assert set(NAMES) == set(TEXT_NAMES) | set(NUMBER_NAMES)
    assert len(NAMES) == len(COLUMNS) == len(set(NAMES))
    assert set(NAMES) == set(Table.__annotations__)
    for name in TEXT_NAMES:
        assert isinstance(getattr(table, name), Coded)
    for name in NUMBER_NAMES:
        assert getattr(table, name).dtype == np.float64


def test_no_rows_make_an_empty_table() -> None:
    table = Table.from_rows([])
    assert table.length == 0
    assert list(table.rows()) == []
    assert table.select(np.zeros(0, dtype=bool)).length == 0


def test_a_selection_by_mask_and_by_position() -> None:
    table = Table.from_rows(ROWS)
    chosen = table.select(table.agent.is_("a"))
    assert list(chosen.run) == ["r1", "r3"]
    assert chosen.run.names == table.run.names
    assert list(table.select([2, 0]).run) == ["r3", "r1"]
    assert table.select([]).length == 0
    assert not table.agent.is_("nobody").any()


def test_names_that_occur_sorted() -> None:
    column = Coded.of(["z", None, "a", "m", "a"]).select([0, 1, 2, 4]).used()
    assert column.names == ("a", "z")
    assert list(column) == ["z", None, "a", "a"]
    assert column[0] == "z"
    assert column[1] is None


def test_a_table_cannot_be_changed() -> None:
    table = Table.from_rows(ROWS)
    with pytest.raises(ValueError, match="read-only"):
        table.cost_usd[0] = 2.0
    with pytest.raises(ValueError, match="read-only"):
        table.agent.codes[0] = 1


def test_the_array_of_a_caller_stays_its_own() -> None:
    costs = np.array([1.0, 2.0])
    Table(2, {"cost_usd": costs})
    costs[0] = 5.0
    assert costs[0] == 5.0


def test_rows_of_one_run_are_refused() -> None:
    rows = [{"run": "r1", "source": "x.csv:2"}, {"run": "r2"}, {"run": "r1", "source": "x.csv:4"}]
    with pytest.raises(UsageFault, match="'r1' is in more than one row") as caught:
        Table.from_rows(rows)
    assert caught.value.where == "x.csv:2, x.csv:4"
    assert Table.from_rows([{"task": "t"}, {"task": "t"}]).length == 2


def test_columns_of_another_name_kind_or_length_are_refused() -> None:
    with pytest.raises(ValueError, match="no column 'price'"):
        Table.from_rows([{"price": 1}])
    with pytest.raises(ValueError, match="no column 'price'"):
        Table(1, {"price": [1.0]})
    with pytest.raises(TypeError, match="cannot hold 7"):
        Table.from_rows([{"agent": 7}])
    with pytest.raises(TypeError, match="agent is a text column"):
        Table(1, {"agent": ["a"]})
    with pytest.raises(ValueError, match="2 values in a table of 1 rows"):
        Table(1, {"cost_usd": [1.0, 2.0]})
    with pytest.raises(ValueError, match="outside the 1 names"):
        Coded([0, 1], ["a"])
    with pytest.raises(AttributeError, match="no column 'price'"):
        _ = Table.from_rows([]).price


def test_many_rows_come_through_in_order() -> None:
    count = 2 * CHUNK_ROWS + 3
    table = Table.from_rows({"run": f"r{number}", "trial": number} for number in range(count))
    assert table.length == count
    assert table.trial.tolist() == list(range(count))
    assert table.run[count - 1] == f"r{count - 1}"
    assert all(one["trial"] + 1 == other["trial"] for one, other in pairwise(table.rows()))
