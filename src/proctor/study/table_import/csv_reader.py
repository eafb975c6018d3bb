"""Read results from any source, a CSV file or files of other tools: one row for each attempt of the table of studies.

Columns are those that the caller names, else those with usual names. Everything that cannot be read is reported with
file and line, all at once. A repeated attempt (same agent, task and trial) is refused. No row is dropped. The report
lists what the options changed about the meaning of the table.
"""

from __future__ import annotations

import codecs
import csv
import io
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import islice
from pathlib import Path

from proctor.base.canonical import sha256
from proctor.base.errors import UsageFault
from proctor.study.run_table import Table
from proctor.study.statements import Statement, statement
from proctor.study.table_import.column_mapping import (
    MISSING,
    OUTCOMES,
    SUCCESS,
    THRESHOLD,
    UNKNOWN,
    Columns,
    Words,
    choose,
)
from proctor.study.table_import.csv_rows import Rows
from proctor.study.table_import.result_files import digest_of, is_result_file, read_sheet
from proctor.study.table_import.result_sheet import Sheet

MAX_ROWS = 5_000_000
MAX_FIELD = 1_000_000
"""The longest cell in characters; model answers in a table can be long."""
JSON = re.compile(r"""\s*[\[{]\s*["\[{}\]]""")
"""How JSON begins, but no header of a table does."""
CHUNK_ROWS = 50_000
"""How many rows are turned into columns at once."""


@dataclass(frozen=True)
class Reading:
    """How to read a file: columns by role, and values with a meaning of their own."""

    columns: Mapping[str, str] = field(default_factory=dict)
    success: tuple[str, ...] = ()
    """Outcomes that are successes; once given, every other known outcome is a failure. ``>=0.9`` is a threshold."""
    unknown: tuple[str, ...] = ()
    timeout: tuple[str, ...] = ()
    cap_seconds: float | None = None
    number_trials: bool = False
    """Rows of the same agent and task are trials in the order of the file."""


@dataclass(frozen=True)
class Results:
    """A table of results, and how its columns were used."""

    table: Table
    name: str
    digest: str
    shape: str
    taken: Mapping[str, str]
    unused: tuple[str, ...]
    """The columns that were not used."""
    notes: tuple[Statement, ...]
    """How the file was read, its columns first."""
    cannot: tuple[Statement, ...]


def read_results(path: Path | Sequence[Path], reading: Reading, tell: Callable[[int], None] | None = None) -> Results:
    """The results in the CSV file at ``path``, or in result files of another tool.

    :class:`UsageFault` names every row that cannot be read. ``tell`` is called with the number of rows read from time
    to time.
    """
    paths = [path] if isinstance(path, Path) else list(path)
    if len(paths) > 1 or paths[0].is_dir():
        return _of_sheet(read_sheet(paths), paths, reading, tell)
    (path,) = paths
    data = _bytes(path)
    if is_result_file(data[:100]):
        return _of_sheet(read_sheet(paths, data), paths, reading, tell)
    header, records = _records(path.name, _text(path.name, data))
    columns = choose(f"{path.name}:1", header, reading.columns)
    words = Words(reading.success, reading.unknown, reading.timeout)
    rows = Rows(path.name, columns, words, reading.cap_seconds)
    return _of_rows(path.name, sha256(data), columns, rows, records, reading, tell)


def _of_sheet(sheet: Sheet, paths: Sequence[Path], reading: Reading, tell: Callable[[int], None] | None) -> Results:
    """The results in a sheet."""
    name = paths[0].name if len(paths) == 1 else f"{paths[0].name} and {len(paths) - 1} more"
    header = sheet.header()
    columns = choose(name, header, reading.columns)
    words = Words(reading.success, reading.unknown, reading.timeout)
    rows = Rows(name, columns, words, reading.cap_seconds, lambda number: sheet.attempts[number].place)
    records = iter(sheet.records(header))
    return _of_rows(name, digest_of(sheet), columns, rows, records, reading, tell, sheet.notes)


def _of_rows(
    name: str,
    digest: str,
    columns: Columns,
    rows: Rows,
    records: Iterator[tuple[int, list[str]]],
    reading: Reading,
    tell: Callable[[int], None] | None,
    first: tuple[Statement, ...] = (),
) -> Results:
    while piece := list(islice(records, CHUNK_ROWS)):
        rows.add([line for line, _ in piece], [cells for _, cells in piece])
        if tell is not None and len(piece) == CHUNK_ROWS:
            tell(rows.count)
        if rows.count > MAX_ROWS:
            raise UsageFault(f"more than {MAX_ROWS:,} rows", where=name, hint="analyse parts of it")
    if not rows.count:
        raise UsageFault("there are no rows below the header", where=name, hint="one row for each attempt")
    table, notes = rows.table(reading.number_trials)
    used = [statement("columns-read", columns=dict(columns.taken), shape=columns.shape)]
    if columns.unused:
        used.append(statement("columns-unused", columns=list(columns.unused)))
    return Results(
        table,
        name,
        digest,
        columns.shape,
        dict(columns.taken),
        columns.unused,
        (*first, *used, *columns.notes, *notes),
        rows.cannot(table),
    )


def _bytes(path: Path) -> bytes:
    try:
        return path.read_bytes()
    except IsADirectoryError:
        raise UsageFault("this is a folder, not a table", where=str(path), hint="give a CSV file") from None
    except FileNotFoundError:
        raise UsageFault("there is no such file", where=str(path), hint="give a CSV file of results") from None


def _text(name: str, data: bytes) -> str:
    """The text of a file in UTF-8, or in UTF-16 as spreadsheets save it, with a mark at its beginning."""
    wide = data.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE))
    try:
        return data.decode("utf-16" if wide else "utf-8-sig")
    except UnicodeDecodeError as error:
        line = data[: error.start].count(b"\n") + 1
        what = "UTF-16" if wide else "UTF-8"
        raise UsageFault(
            f"this is not {what} text", where=f"{name}:{line}", hint="save the table as CSV in UTF-8"
        ) from None


def _records(name: str, text: str) -> tuple[list[str], Iterator[tuple[int, list[str]]]]:
    """The header, and each later record with the line on which it begins."""
    lines = io.StringIO(text, newline="")
    first = lines.readline()
    if not text.strip():
        hint = "the first line names the columns, and each below it is an attempt"
        raise UsageFault("the file is empty", where=name, hint=hint)
    if not first.strip():
        raise UsageFault("the first line is empty", where=f"{name}:1", hint="it must name the columns")
    if JSON.match(text):
        hint = "write a line for each attempt; docs/analyse.md lists the result files of other tools that are read"
        raise UsageFault("this is JSON, and a table of results is CSV", where=f"{name}:1", hint=hint)
    lines.seek(0)
    delimiter = max(",\t;", key=first.count)
    csv.field_size_limit(MAX_FIELD)
    reader = csv.reader(lines, delimiter=delimiter, strict=True)

    def records() -> Iterator[tuple[int, list[str]]]:
        while True:
            line = reader.line_num + 1
            try:
                cells = next(reader)
            except StopIteration:
                return
            except csv.Error as error:
                raise UsageFault(
                    f"this is not CSV: {error}", where=f"{name}:{line}", hint="is a quote left open?"
                ) from None
            if cells:
                yield line, cells

    found = records()
    _, header = next(found)
    return header, found


def choices(reading: Reading) -> Iterator[Statement]:
    """Each choice about outcomes, ends and caps that options made, those that contradict usual values first."""
    yield from _unusual(reading)
    if reading.success:
        exact = [value.strip() for value in reading.success if not THRESHOLD.match(value.strip())]
        limits = [float(match[1]) for value in reading.success if (match := THRESHOLD.match(value.strip()))]
        yield statement("option-success", values=exact, threshold=min(limits, default=None))
    if reading.unknown:
        yield statement("option-unknown", values=[value.strip() for value in reading.unknown])
    if reading.timeout:
        yield statement("option-timeout", values=[value.strip() for value in reading.timeout])
    if reading.cap_seconds is not None:
        yield statement("option-cap-seconds", seconds=reading.cap_seconds)


def _unusual(reading: Reading) -> Iterator[Statement]:
    """Values whose usual meaning differs from the one that the caller gives them."""
    for value in reading.success:
        if match := THRESHOLD.match(value.strip()):
            if float(match[1]) <= 0:
                yield statement("unusual-success", value=value.strip(), usual="zero-is-failure")
        elif (usual := _usual(value)) != SUCCESS and usual:
            yield statement("unusual-success", value=value.strip(), usual=usual)
    for value in reading.unknown:
        if (usual := _usual(value)) != UNKNOWN and usual:
            yield statement("unusual-unknown", value=value.strip(), usual=usual)


def _usual(value: str) -> str:
    """What a value of an outcome means unless an option says otherwise; empty where it means nothing."""
    plain = value.strip().lower()
    return UNKNOWN if plain in MISSING else OUTCOMES.get(plain, "")
