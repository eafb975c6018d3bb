"""``proctor query``: ask the index of runs in SQL."""

from __future__ import annotations

import csv
import sys
from collections.abc import Iterable, Iterator, Sequence
from decimal import Decimal
from itertools import islice
from pathlib import Path
from typing import Any

import click
import orjson

from proctor.base.errors import UsageFault
from proctor.base.reversible_escapes import escape_cell
from proctor.cli.output import ANSWER_SCHEMA, answer_kind, as_json, counted, print_json, print_table, printable
from proctor.cli.wiring import home
from proctor.study.index.index_update import LeftOut, refresh
from proctor.study.index.sql_query import QueryResult, RunsDatabase
from proctor.study.run_table import COLUMNS

MOST_SHOWN = 1000
"""How many rows a table for people shows; programs get all of them."""

MOST_NAMED = 20
SAFE_INTEGER = 2**53 - 1


@click.command(epilog="Example: proctor query 'select agent, avg(success) from runs group by agent'")
@click.argument("select", required=False)
@click.option("--sql", default=None, hidden=True)
@click.option("--columns", is_flag=True, help="List the columns of the table and their meaning.")
@click.option(
    "--results",
    type=click.Path(dir_okay=False, path_type=Path),
    default=None,
    metavar="FILE.parquet",
    help="Query this table of runs instead of the home.",
)
@click.option("--csv", "csv_", is_flag=True, help="Print CSV, with all digits.")
@click.option("--table", "table_", is_flag=True, help="Print a table; the default.")
@as_json
def command(
    select: str | None, sql: str | None, columns: bool, results: Path | None, csv_: bool, table_: bool, json_: bool
) -> None:
    """Query all runs in SQL.

    SELECT is one statement over the table `runs`, which has one row for each run of the home directory; --columns lists
    its columns. The index is brought up to date first. Runs without a row (running, cut off, changed after their seal,
    replays of other runs) are listed on standard error with the reason. A query can read only this table, and changes
    nothing.
    """
    if sum((csv_, table_, json_)) > 1:
        raise UsageFault("--json, --csv and --table exclude each other")
    if select is not None and sql is not None:
        raise UsageFault("two queries were given", where="SELECT", hint="give one SELECT as the argument")
    sql = sql if select is None else select
    if columns == (sql is not None):
        raise UsageFault("give a query or --columns", hint="proctor query SELECT, or proctor query --columns")
    if columns:
        _columns(csv_, json_)
        return
    path = _index() if results is None else results.absolute()
    with RunsDatabase.over(path) as question:
        answer = question.ask(sql or "")
        if json_:
            _print_objects(answer)
        elif csv_:
            _print_csv(answer.names, answer.rows)
        else:
            _print_rows(answer)


def _index() -> Path:
    """The index of the home, brought up to date; its contents and gaps are printed on the error output."""
    found = refresh(home())
    click.echo(f"{counted(found.runs, 'run')} in the index, {found.read} of them new or changed", err=True)
    for line in left_out(found.left_out):
        click.echo(line, err=True)
    return found.path


def left_out(found: Sequence[LeftOut]) -> Iterator[str]:
    """The runs without a row, with their reasons, in lines."""
    if found:
        yield f"{counted(len(found), 'run')} left out:"
    for one in found[:MOST_NAMED]:
        yield f"  {one.run} {printable(one.reason)}"
    if len(found) > MOST_NAMED:
        yield f"  and {len(found) - MOST_NAMED} more; `proctor runs` lists them all"


def _columns(csv_: bool, json_: bool) -> None:
    names = ("column", "values", "meaning")
    rows = [[column.name, column.kind, column.meaning] for column in COLUMNS]
    if json_:
        print_json({"columns": [dict(zip(names, row, strict=True)) for row in rows]})
    elif csv_:
        _print_csv(names, rows)
    else:
        print_table([name.upper() for name in names], rows)


def _print_rows(answer: QueryResult) -> None:
    rows = [[_word(value) for value in row] for row in islice(answer.rows, MOST_SHOWN)]
    rest = sum(1 for _ in answer.rows)
    print_table([printable(name) for name in answer.names], rows)
    if rest:
        shown = f"{MOST_SHOWN:,} of {MOST_SHOWN + rest:,} rows are shown"
        click.echo(f"{shown}; --csv and --json print all of them", err=True)


def _print_csv(names: Sequence[str], rows: Iterable[Sequence[Any]]) -> None:
    writer = csv.writer(sys.stdout, lineterminator="\n")
    writer.writerow(map(escape_cell, names))
    writer.writerows([_exact(value) for value in row] for row in rows)
    sys.stdout.flush()


def _print_objects(answer: QueryResult) -> None:
    """One JSON object whose ``rows`` has an object for each row, written as the rows come."""
    twice = next((name for name in answer.names if answer.names.count(name) > 1), None)
    if twice is not None:
        raise UsageFault(f"two columns are called {twice!r}", where="SELECT", hint="rename one of them with AS")
    out = sys.stdout.buffer
    out.write(f'{{"kind":"{answer_kind()}","schema":{ANSWER_SCHEMA},"rows":['.encode())
    before = b""
    for row in answer.rows:
        values = (_plain(value) for value in row)
        out.write(before + orjson.dumps(dict(zip(answer.names, values, strict=True))))
        before = b",\n"
    out.write(b"]}\n")
    out.flush()


def _word(value: Any) -> str:
    """A value in a table for people: a dash for nothing, and no more digits than a reader needs."""
    if value is None:
        return "-"
    return f"{value:.10g}" if isinstance(value, float) else printable(str(_plain(value))).replace("\n", " ")


def _exact(value: Any) -> Any:
    """A value in CSV: nothing is an empty cell, numbers have every digit, and no text is a formula."""
    if value is None:
        return ""
    if isinstance(value, float):
        return repr(value)
    plain = _plain(value)
    return escape_cell(plain) if isinstance(plain, str) else plain


def _plain(value: Any) -> Any:
    """A value in JSON: numbers that JSON does not have become text, and NaN becomes null."""
    if value is None or isinstance(value, str | bool):
        return value
    if isinstance(value, int):
        return value if abs(value) <= SAFE_INTEGER else str(value)
    if isinstance(value, float | Decimal):
        number = float(value)
        return number if number - number == 0 else None
    if isinstance(value, list | tuple):
        return [_plain(inner) for inner in value]
    if isinstance(value, dict):
        return {str(key): _plain(inner) for key, inner in value.items()}
    return value.hex() if isinstance(value, bytes) else str(value)
