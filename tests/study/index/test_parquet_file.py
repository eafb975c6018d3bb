"""Tables as Parquet: what is written comes back, whatever the texts; what was not written here is refused."""

from __future__ import annotations

import random
import unicodedata
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import duckdb
import numpy as np
import pytest

from proctor.base.errors import InfrastructureFault, UsageFault
from proctor.study.index import parquet_file
from proctor.study.index.parquet_file import ingest, read_table, write_table
from proctor.study.index.sql_query import RunsDatabase
from proctor.study.run_table import LATER, NAMES, Coded, Table

ROWS: list[dict[str, Any]] = [
    {"run": "b", "agent": "x", "trial": 1, "success": 1, "cost_usd": 0.1 + 0.2, "tags": "", "tokens_in": 2**40},
    {"run": "a", "agent": "it's; -- ça", "trial": 2, "success": 0, "seconds": 1e-9},
    {"run": "c", "agent": None, "success": None, "scorable": False, "tags": "t1;t2"},
]


def same(one: Table, other: Table) -> bool:
    return list(one.rows()) == list(other.rows())


@pytest.mark.parametrize("few_rows", [0, 1000])
def test_rows_come_back_as_they_were(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, few_rows: int) -> None:
    monkeypatch.setattr(parquet_file, "FEW_ROWS", few_rows)
    path = tmp_path / "runs.parquet"
    assert ingest(iter(ROWS), path) == 3
    table = read_table(path)
    assert same(table, Table.from_rows(ROWS))
    assert list(table.run) == ["b", "a", "c"], "rows keep their order"
    assert table.run.names == ("a", "b", "c"), "names are sorted"
    assert np.isnan(table.success[2])
    assert table.agent[2] is None
    assert list(table.model) == [None] * 3
    write_table(table, tmp_path / "again.parquet")
    assert same(read_table(tmp_path / "again.parquet"), table)
    assert sorted(place.name for place in tmp_path.iterdir()) == ["again.parquet", "runs.parquet"]


def test_columns_have_the_types_that_sql_wants(tmp_path: Path) -> None:
    path = tmp_path / "runs.parquet"
    ingest(ROWS, path)
    found = duckdb.execute(f"DESCRIBE SELECT * FROM read_parquet('{path}')").fetchall()
    assert [row[0] for row in found] == list(NAMES)
    types = {row[0]: row[1] for row in found}
    assert [types[name] for name in ("agent", "trial", "success", "cost_usd", "model")] == [
        *("VARCHAR", "BIGINT", "TINYINT", "DOUBLE", "VARCHAR"),
    ]
    sql = "SELECT sum(success), count(success), max(tokens_in) FROM read_parquet($path)"
    counted = duckdb.execute(sql, {"path": str(path)}).fetchone()
    assert counted == (1, 2, 2**40)


def test_no_rows_make_an_empty_file(tmp_path: Path) -> None:
    assert ingest([], tmp_path / "runs.parquet") == 0
    assert read_table(tmp_path / "runs.parquet").length == 0
    write_table(Table.from_rows([]), tmp_path / "again.parquet")
    assert read_table(tmp_path / "again.parquet").length == 0


def strange_texts() -> list[str | None]:
    """Texts that have a meaning somewhere, and three hundred drawn from all of Unicode."""
    draw = random.Random(20260307)
    letters = [letter for letter in map(chr, range(0x11000)) if unicodedata.category(letter) != "Cs"]
    drawn = ["".join(draw.choices(letters, k=draw.randrange(12))) for _ in range(300)]
    return [
        "",
        None,
        "\0",
        "a\0b",
        "'",
        "''",
        '"',
        "null",
        "NaN",
        "-1",
        "\n",
        ";",
        "x" * 70_000,
        "é",
        "e\u0301",
        *drawn,
    ]


@pytest.mark.parametrize("few_rows", [0, 1000])
def test_any_text_comes_back(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, few_rows: int) -> None:
    monkeypatch.setattr(parquet_file, "FEW_ROWS", few_rows)
    path, texts = tmp_path / "runs.parquet", strange_texts()
    write_table(Table(len(texts), {"agent": Coded.of(texts)}), path)
    assert list(read_table(path).agent) == texts
    ingest([{"agent": text} for text in texts], path)
    assert list(read_table(path).agent) == texts


def test_many_different_texts_come_back(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(parquet_file, "FEW_NAMES", 10)
    monkeypatch.setattr(parquet_file, "FEW_ROWS", 0)
    texts = [f"r{number}" if number % 7 else None for number in range(200)]
    ingest([{"source": text} for text in texts], tmp_path / "runs.parquet")
    table = read_table(tmp_path / "runs.parquet")
    assert list(table.source) == texts
    assert list(table.source.names) == list(filter(None, texts))
    ingest([{"run": f"r{number}"} for number in range(200)], tmp_path / "runs.parquet")
    assert list(read_table(tmp_path / "runs.parquet").run) == [f"r{number}" for number in range(200)]


def test_parts_are_joined_in_order(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(parquet_file, "PART_ROWS", 1024)
    count = 3 * 1024 + 5
    assert ingest(({"run": f"r{number}", "trial": number} for number in range(count)), tmp_path / "r.parquet") == count
    assert read_table(tmp_path / "r.parquet").trial.tolist() == list(range(count))
    assert [place.name for place in tmp_path.iterdir()] == ["r.parquet"]


@pytest.mark.parametrize("part_rows", [1024, 1 << 20])
def test_rows_of_one_run_leave_the_file_as_it_was(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, part_rows: int
) -> None:
    monkeypatch.setattr(parquet_file, "PART_ROWS", part_rows)
    path = tmp_path / "runs.parquet"
    ingest(ROWS, path)
    before = path.read_bytes()
    twins = [{"run": f"r{number % 5000}", "source": f"x.csv:{number}"} for number in range(5001)]
    with pytest.raises(UsageFault, match="'r0' is in more than one row") as caught:
        ingest(twins, path)
    assert caught.value.where == "x.csv:0, x.csv:5000"
    assert path.read_bytes() == before
    with pytest.raises(UsageFault, match="'a' is in more than one row"):
        write_table(Table(2, {"run": Coded.of(["a", "a"])}), path)
    assert path.read_bytes() == before
    assert [place.name for place in tmp_path.iterdir()] == ["runs.parquet"]


def broken_off() -> Iterator[dict[str, Any]]:
    yield {"run": "a"}
    raise OSError(5, "gone", "there")


def test_rows_that_break_off_leave_the_file_as_it_was(tmp_path: Path) -> None:
    path = tmp_path / "runs.parquet"
    ingest(ROWS, path)
    before = path.read_bytes()
    with pytest.raises(OSError, match="gone"):
        ingest(broken_off(), path)
    with pytest.raises(ValueError, match="no column 'price'"):
        ingest([{"price": 1}], path)
    with pytest.raises(TypeError, match="agent is a text column and cannot hold a value of type int"):
        ingest([{"agent": 7}], path)
    assert path.read_bytes() == before
    assert [place.name for place in tmp_path.iterdir()] == ["runs.parquet"]


def test_a_file_of_an_earlier_version_has_nothing_in_columns_that_came_later(tmp_path: Path) -> None:
    path, old = tmp_path / "runs.parquet", tmp_path / "old.parquet"
    ingest([{"run": "a", "agent": "ada", "exit_code": 2, "changed_files": 0}], path)
    kept = ", ".join(name for name in NAMES if name not in LATER)
    form = "(FORMAT parquet, KV_METADATA {kind: 'proctor.runs', schema: '1'})"
    duckdb.execute(f"COPY (SELECT {kept} FROM read_parquet('{path}')) TO '{old}' {form}")
    assert list(read_table(path).rows()) == [{"run": "a", "agent": "ada", "exit_code": 2, "changed_files": 0}]
    assert list(read_table(old).rows()) == [{"run": "a", "agent": "ada"}]
    with RunsDatabase.over(old) as question:
        assert list(question.ask("select run, exit_code, changed_files from runs").rows) == [("a", None, None)]
    bare = tmp_path / "bare.parquet"
    duckdb.execute(f"COPY (SELECT run FROM read_parquet('{path}')) TO '{bare}' {form}")
    with pytest.raises(UsageFault, match="cannot be read as Parquet"):
        read_table(bare)


def test_other_files_are_refused(tmp_path: Path) -> None:
    absent, text, foreign, newer = (tmp_path / name for name in ("a.parquet", "t.parquet", "f.parquet", "n.parquet"))
    text.write_text("not parquet at all, but long enough to have a tail")
    duckdb.execute(f"COPY (SELECT 1 AS run) TO '{foreign}' (FORMAT parquet)")
    duckdb.execute(
        f"COPY (SELECT 1 AS run) TO '{newer}' (FORMAT parquet, KV_METADATA {{kind: 'proctor.runs', schema: '9'}})"
    )
    for path, why in (
        (absent, "is not there"),
        (text, "cannot be read as Parquet"),
        (foreign, "is not a table of runs"),
        (newer, "has the schema 9, not 1"),
    ):
        with pytest.raises(UsageFault, match=why) as caught:
            read_table(path)
        assert caught.value.where == str(path)


def test_a_cut_file_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "runs.parquet"
    ingest(ROWS, path)
    path.write_bytes(path.read_bytes()[:-20])
    with pytest.raises(UsageFault, match="cannot be read as Parquet"):
        read_table(path)


def test_a_place_that_cannot_be_written_to_is_named(tmp_path: Path) -> None:
    with pytest.raises(InfrastructureFault, match="cannot be written") as caught:
        ingest(ROWS, tmp_path / "absent" / "runs.parquet")
    assert caught.value.where == str(tmp_path / "absent" / "runs.parquet")


def test_a_path_with_strange_letters_is_one_path(tmp_path: Path) -> None:
    place = tmp_path / "it's [a] *"
    place.mkdir()
    ingest(ROWS, place / "runs.parquet")
    assert read_table(place / "runs.parquet").length == 3
