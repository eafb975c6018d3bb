"""Tables as Parquet files: written from rows as they come or from a whole table, read back as a table.

A file is written beside its place and then put there, so that a reader sees the old one or the new one. Yes and no are
small whole numbers, counts are whole numbers, everything missing is NULL. The file names its own kind; another
program's Parquet file is refused. Equal files give equal tables: names are sorted, or where they are very many in the
order of their first use.
"""

from __future__ import annotations

import os
from collections.abc import Collection, Iterable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from shutil import rmtree
from typing import TYPE_CHECKING, Any

import numpy as np

from proctor.base.errors import InfrastructureFault, UsageFault
from proctor.base.files import sync_directory
from proctor.study.run_table import COLUMNS, LATER, NAMES, TEXT_NAMES, Coded, Table, chunks_of

if TYPE_CHECKING:
    import duckdb

KIND = "proctor.runs"
SCHEMA = 1
TYPES = {"text": "VARCHAR", "whole number": "BIGINT", "1 or 0": "TINYINT", "number": "DOUBLE"}
PART_ROWS = 1 << 20
"""How many rows are kept in memory before they are written; more make several parts, which are then joined."""

MEMORY = "1GB"
FEW_ROWS = 1 << 16
"""Up to so many rows are read at once; more are read column by column."""

FEW_NAMES = 1 << 16
"""Up to so many different texts are numbered by the database; more are numbered here."""

_FORMAT = f"(FORMAT parquet, COMPRESSION snappy, KV_METADATA {{kind: '{KIND}', schema: '{SCHEMA}'}})"


def connect(spill: Path | None = None) -> duckdb.DuckDBPyConnection:
    """A database in memory, which may put what does not fit into ``spill``.

    One thread reads Python's texts faster than several that wait for each other.
    """
    import duckdb

    settings: dict[str, str | bool | int | float | list[str]] = {"threads": 1, "memory_limit": MEMORY}
    return duckdb.connect(
        ":memory:", config={**settings, "temp_directory": str(spill or ""), "pandas_analyze_sample": 0}
    )


def quoted(text: str | Path) -> str:
    """``text`` as SQL writes it."""
    return "'" + str(text).replace("'", "''") + "'"


def ingest(rows: Iterable[Mapping[str, Any]], path: Path) -> int:
    """Write ``rows``, dicts by column name, to the file at ``path`` and return how many they were.

    :class:`UsageFault` when two rows have the same run; then the file is as it was before.
    """
    count, held = 0, 0
    parts: list[Path] = []
    columns: dict[str, list[Any]] = {name: [] for name in NAMES}
    with _beside(path) as place, connect(spill_of(place)) as database:

        def flush() -> None:
            whole = {name: np.concatenate(pieces) if pieces else _none() for name, pieces in columns.items()}
            parts.append(place.with_name(f"{place.name}.{len(parts)}"))
            _write(database, whole, parts[-1])
            for pieces in columns.values():
                pieces.clear()

        try:
            for cells in chunks_of(rows):
                for name, pieces in columns.items():
                    pieces.append(_texts(name, cells[name]) if name in TEXT_NAMES else np.array(cells[name], float))
                count, held = count + len(cells["run"]), held + len(cells["run"])
                if held >= PART_ROWS:
                    flush()
                    held = 0
            if held or not parts:
                flush()
            join(database, parts, place)
        finally:
            for part in parts:
                part.unlink(missing_ok=True)
    return count


def write_table(table: Table, path: Path) -> None:
    """Write a whole table to the file at ``path``."""
    columns: dict[str, Any] = {}
    for name in NAMES:
        column = getattr(table, name)
        if isinstance(column, Coded):
            names = np.empty(len(column.names) + 1, dtype=object)
            names[: len(column.names)] = column.names
            column = names[column.codes]
        columns[name] = column
    with _beside(path) as place, connect() as database:
        _write(database, columns, place)
        _refuse_twins(database, place)


def read_table(path: Path) -> Table:
    """The table in the file at ``path``; :class:`UsageFault` when it contains none."""
    with connect() as database, reading(path):
        check(database, path)
        database.execute(f"CREATE VIEW runs AS SELECT {selected(database, path)} FROM read_parquet({quoted(path)})")
        length = int(_one(database, "SELECT count(*) FROM runs"))
        if length <= FEW_ROWS:
            found = database.execute(f"SELECT {', '.join(map(_column, NAMES))} FROM runs").fetchnumpy()
            texts = {name: Coded.of(_texts_of(found[name])).used() for name in TEXT_NAMES}
            return Table(length, {**found, **texts})
        columns: dict[str, Any] = {}
        for name in NAMES:
            if name in TEXT_NAMES:
                columns[name] = _coded(database, name)
            else:
                columns[name] = database.execute(f"SELECT {_column(name)} FROM runs").fetchnumpy()[name]
    return Table(length, columns)


def check(database: duckdb.DuckDBPyConnection, path: Path) -> dict[str, str]:
    """The kind and the version that a file names; one that was not written here, or by another version, is refused."""
    found = database.execute(f"SELECT key, value FROM parquet_kv_metadata({quoted(path)})").fetchall()
    said = {bytes(key).decode("utf-8", "replace"): bytes(value).decode("utf-8", "replace") for key, value in found}
    if said.get("kind") != KIND:
        raise UsageFault("is not a table of runs", where=str(path), hint="`proctor analyse --out` writes such tables")
    if said.get("schema") != str(SCHEMA):
        raise UsageFault(f"has the schema {said.get('schema')}, not {SCHEMA}", where=str(path), hint="write it anew")
    return said


def selected(database: duckdb.DuckDBPyConnection, path: Path) -> str:
    """The columns of a table as they are asked for from a file; what an earlier version did not have is missing."""
    said = database.execute(f"DESCRIBE SELECT * FROM read_parquet({quoted(path)})").fetchall()
    lacking = set(LATER) - {row[0] for row in said}
    return ", ".join(
        f"NULL::{TYPES[column.kind]} AS {column.name}" if column.name in lacking else column.name for column in COLUMNS
    )


def join(database: duckdb.DuckDBPyConnection, parts: list[Path], path: Path) -> None:
    """Put ``parts`` one after the other into the file at ``path``."""
    if len(parts) == 1:
        _refuse_twins(database, parts[0])
        os.replace(parts[0], path)
        return
    listed = ", ".join(map(quoted, parts))
    database.execute(f"COPY (SELECT * FROM read_parquet([{listed}])) TO {quoted(path)} {_FORMAT}")
    _refuse_twins(database, path)


def merge(
    old: Path | None, dropped: Collection[str], new: Path, stamps: Mapping[str, str], path: Path, by: int
) -> None:
    """Put the rows of ``old`` but the ``dropped``, and those of ``new``, into the file at ``path``, by run.

    The rows of ``new`` get the stamps of their runs, and the file gets the version ``by`` which rows are made.
    """
    with _beside(path) as place, connect(spill_of(place)) as database:
        database.register("gone", {"run": np.array(sorted(dropped), dtype=object)})
        database.register(
            "stamped",
            {name: np.array(texts, dtype=object) for name, texts in zip(("run", "stamp"), _pairs(stamps), strict=True)},
        )
        parts = [f"SELECT * FROM read_parquet({quoted(new)}) JOIN stamped USING (run)"]
        if old is not None:
            parts.insert(0, f"SELECT * FROM read_parquet({quoted(old)}) WHERE run NOT IN (SELECT run FROM gone)")
        form = f"{_FORMAT[:-2]}, made: '{by}'}})"
        database.execute(f"COPY ({' UNION ALL BY NAME '.join(parts)} ORDER BY run) TO {quoted(place)} {form}")


def read_stamps(database: duckdb.DuckDBPyConnection, path: Path, by: int) -> dict[str, str]:
    """The runs of an index with their stamps; :class:`UsageFault` when rows were made in another way than ``by``."""
    with reading(path):
        if check(database, path).get("made") != str(by):
            raise UsageFault("is an index of another version", where=str(path))
        return dict(database.execute(f"SELECT run, stamp FROM read_parquet({quoted(path)})").fetchall())


@contextmanager
def reading(path: Path) -> Iterator[None]:
    """Turn the database's message on an unreadable file into a message about the file."""
    import duckdb

    try:
        yield
    except (duckdb.IOException, duckdb.InvalidInputException, duckdb.BinderException) as error:
        why = "is not there" if not path.exists() else f"cannot be read as Parquet: {str(error).splitlines()[0]}"
        raise UsageFault(why, where=str(path)) from None


@contextmanager
def _beside(path: Path) -> Iterator[Path]:
    """A name beside ``path`` for a file that takes its place once it is whole."""
    import duckdb

    place = path.with_name(f".{path.name[:40]}.{os.urandom(8).hex()}")
    try:
        yield place
        handle = os.open(place, os.O_RDONLY | os.O_CLOEXEC)
        try:
            os.fsync(handle)
        finally:
            os.close(handle)
        os.replace(place, path)
        sync_directory(path.parent)
    except duckdb.IOException as error:
        raise InfrastructureFault(f"cannot be written: {str(error).splitlines()[0]}", where=str(path)) from None
    finally:
        place.unlink(missing_ok=True)
        rmtree(spill_of(place), ignore_errors=True)


def spill_of(place: Path) -> Path:
    """Where a database puts what does not fit into memory while it writes ``place``."""
    return place.with_name(f"{place.name}.spill")


def _write(database: duckdb.DuckDBPyConnection, columns: Mapping[str, Any], path: Path) -> None:
    listed = ", ".join(f"{column.name}::{TYPES[column.kind]} AS {column.name}" for column in COLUMNS)
    database.register("given", dict(columns))
    try:
        database.execute(f"COPY (SELECT {listed} FROM given) TO {quoted(path)} {_FORMAT}")
    finally:
        database.unregister("given")


def _refuse_twins(database: duckdb.DuckDBPyConnection, path: Path) -> None:
    """Rows that share a run would be counted twice."""
    if not _one(database, f"SELECT count(run) - count(DISTINCT run) FROM read_parquet({quoted(path)})"):
        return
    twins = database.execute(
        "SELECT run, list(source ORDER BY source) "
        f"FROM read_parquet({quoted(path)}) WHERE run IS NOT NULL GROUP BY run HAVING count(*) > 1 ORDER BY run LIMIT 1"
    ).fetchone()
    if twins is not None:
        raise UsageFault(
            f"the run {twins[0]!r} is in more than one row",
            where=", ".join(text for text in twins[1][:2] if text),
            hint="each row needs a run of its own; remove one of them",
        )


def _texts(name: str, cells: Any) -> Any:
    """Texts as the database takes them; numbers are refused, because the database would format them in its own way."""
    for kind in set(map(type, cells)) - {str, type(None)}:
        raise TypeError(f"{name} is a text column and cannot hold a value of type {kind.__name__}")
    return np.fromiter(cells, dtype=object, count=len(cells))


def _pairs(mapping: Mapping[str, str]) -> tuple[list[str], list[str]]:
    return list(mapping), list(mapping.values())


def _none() -> Any:
    return np.empty(0, dtype=object)


def _column(name: str) -> str:
    """A column as it is asked for: a number that is missing is nan."""
    return name if name in TEXT_NAMES else f"coalesce({name}::DOUBLE, 'nan'::DOUBLE) AS {name}"


def _texts_of(found: Any) -> list[str | None]:
    """A column of texts as the database gives it."""
    texts = np.ma.getdata(found).astype(object)
    texts[np.ma.getmaskarray(found)] = None
    listed: list[str | None] = texts.tolist()
    return listed


def _many(texts: list[str | None]) -> Coded:
    """Texts with many names, in the order of their first use: to sort them would take longer than to read them."""
    if len(set(texts)) == len(texts) and None not in texts:
        return Coded(np.arange(len(texts)), (text for text in texts if text is not None))
    return Coded.of(texts)


def _coded(database: duckdb.DuckDBPyConnection, name: str) -> Coded:
    """One text column, numbered by the database where it has few names."""
    if int(_one(database, f"SELECT approx_count_distinct({name}) FROM runs")) > FEW_NAMES:
        return _many(_texts_of(database.execute(f"SELECT {name} FROM runs").fetchnumpy()[name]))
    rows = database.execute(f"SELECT DISTINCT {name} FROM runs WHERE {name} IS NOT NULL").fetchall()
    names = sorted(row[0] for row in rows)
    if not names:
        return Coded(np.full(int(_one(database, "SELECT count(*) FROM runs")), -1), ())
    database.execute(f"CREATE TYPE names_of_{name} AS ENUM ({', '.join(map(quoted, names))})")
    found = database.execute(f"SELECT coalesce(enum_code({name}::names_of_{name})::INTEGER, -1) AS x FROM runs")
    return Coded(np.asarray(found.fetchnumpy()["x"]), names)


def _one(database: duckdb.DuckDBPyConnection, sql: str) -> Any:
    row = database.execute(sql).fetchone()
    assert row is not None
    return row[0]
