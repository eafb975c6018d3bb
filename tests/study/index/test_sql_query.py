"""Questions in SQL: answers, clear refusals, and doors that stay closed."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from proctor.base.errors import UsageFault
from proctor.study.index import sql_query
from proctor.study.index.parquet_file import ingest
from proctor.study.index.sql_query import RunsDatabase
from proctor.study.run_table import NAMES


@pytest.fixture
def question(tmp_path: Path) -> Iterator[RunsDatabase]:
    path = tmp_path / "runs.parquet"
    ingest(({"run": f"r{n}", "agent": "ab"[n % 2], "success": int(n < 3), "cost_usd": n / 4} for n in range(6)), path)
    (tmp_path / "secret.csv").write_text("word\nplugh\n")
    with RunsDatabase.over(path) as made:
        yield made


def test_an_answer_has_names_and_rows(question: RunsDatabase) -> None:
    sql = "select agent, count(*) as runs, sum(success) as good, sum(cost_usd) usd from runs group by 1 order by 1"
    answer = question.ask(sql)
    assert answer.names == ("agent", "runs", "good", "usd")
    assert list(answer.rows) == [("a", 3, 2, 1.5), ("b", 3, 1, 2.25)]
    assert [row[0] for row in question.ask("describe runs").rows] == list(NAMES)
    assert next(question.ask("summarize runs").rows)[0] == "run"
    assert list(question.ask("select run from runs where false").rows) == []
    assert list(question.ask("from runs select count(model)").rows) == [(0,)]


def test_many_rows_come_in_order(question: RunsDatabase) -> None:
    assert [row[0] for row in question.ask("select range from range(10000)").rows] == list(range(10000))


@pytest.mark.parametrize(
    ("sql", "why"),
    [
        ("", "the query is empty"),
        ("select '\udcff'", "not valid Unicode"),
        ("-- nothing", "the query is empty"),
        ("select 1; select 2", "2 statements; give one"),
        ("select * from runs; drop table runs", "2 statements"),
        ("drop table runs", "only a SELECT can be executed, not DROP"),
        ("delete from runs", "only a SELECT can be executed, not DELETE"),
        ("update runs set success = 1", "only a SELECT can be executed, not UPDATE"),
        ("create table x as select 1", "only a SELECT can be executed, not CREATE"),
        ("set enable_external_access = true", "only a SELECT can be executed, not SET"),
        ("pragma version", "only a SELECT can be executed, not PRAGMA"),
        ("attach 'x.db'", "only a SELECT can be executed, not ATTACH"),
        ("install httpfs", "only a SELECT can be executed, not LOAD"),
        ("begin", "only a SELECT can be executed, not TRANSACTION"),
        ("selec 1", 'syntax error at or near "selec"'),
        ("select from where", "syntax error"),
        ("select * from walks", "Table with name walks does not exist"),
        ("select agnt from runs", '"agnt" not found'),
        ("select 'a'::int", "Could not convert string 'a'"),
        ("select nothing()", "nothing does not exist"),
    ],
)
def test_what_cannot_be_asked_says_why(question: RunsDatabase, sql: str, why: str) -> None:
    with pytest.raises(UsageFault) as caught:
        list(question.ask(sql).rows)
    assert why in caught.value.message
    assert caught.value.where == "SELECT"
    assert caught.value.hint
    assert list(question.ask("select count(*) from runs").rows) == [(6,)], "the next question is answered"


@pytest.mark.parametrize(
    "sql",
    [
        "select * from read_csv('{place}/secret.csv')",
        "select * from read_text('{place}/secret.csv')",
        "select * from read_blob('{place}/secret.csv')",
        "select * from '{place}/secret.csv'",
        "select * from read_parquet('{place}/runs.parquet')",
        "select * from glob('{place}/*')",
        "select * from sniff_csv('{place}/secret.csv')",
        "select * from read_json('https://example.org/x.json')",
        "select * from query('copy runs to ''{place}/out.csv''')",
        "with x as (copy runs to '{place}/out.csv') select 1",
        "with x as (insert into runs (run) values ('r9') returning run) select * from x",
        "with x as (delete from runs returning run) select * from x",
        "with x as (update runs set success = 1 returning run) select * from x",
        "select * from question",
        "select * from duckdb_secrets()",
    ],
)
def test_doors_stay_closed(question: RunsDatabase, tmp_path: Path, sql: str) -> None:
    before = sorted(tmp_path.iterdir())
    with pytest.raises(UsageFault) as caught:
        list(question.ask(sql.format(place=tmp_path)).rows)
    assert "plugh" not in str(caught.value)
    assert sorted(tmp_path.iterdir()) == before
    assert list(question.ask("select count(*), sum(success) from runs").rows) == [(6, 3)]


def test_settings_are_locked(question: RunsDatabase) -> None:
    settings = dict(question.ask("select name, value from duckdb_settings()").rows)
    assert settings["enable_external_access"] == "false"
    assert settings["lock_configuration"] == "true"
    assert settings["autoload_known_extensions"] == "false"
    assert settings["autoinstall_known_extensions"] == "false"


def test_a_question_that_needs_too_much_memory_is_ended(
    question: RunsDatabase, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sql_query, "MEMORY", "20MB")
    with RunsDatabase.over(tmp_path / "runs.parquet") as small:
        with pytest.raises(UsageFault, match="needs more memory than the 20MB") as caught:
            list(small.ask("select list(range || repeat('x', 100)) from range(1000000)").rows)
        assert "fewer rows" in caught.value.hint
        assert list(small.ask("select count(*) from runs").rows) == [(6,)]


def test_a_file_that_is_no_table_of_runs_is_refused(tmp_path: Path) -> None:
    (tmp_path / "x.parquet").write_text("x")
    with pytest.raises(UsageFault, match="cannot be read as Parquet"):
        RunsDatabase.over(tmp_path / "x.parquet")
