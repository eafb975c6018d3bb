"""Anyone's results: a CSV file with one row for each attempt becomes the table that studies read.

Columns are those that the caller names, else those with usual names; what was taken is told. Everything that cannot
be read is named with file and line, all at once. A repeated attempt (same agent, task and trial) is refused: nobody can
tell which of the two counts. Nothing is dropped: a row without an outcome is an attempt whose outcome is unknown. The
order of the rows means nothing, unless the caller says that it numbers the trials.
"""

from __future__ import annotations

import codecs
import csv
import io
import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from itertools import islice
from pathlib import Path

from proctor.base.canonical import sha256
from proctor.base.errors import UsageFault
from proctor.study.results_columns import choose
from proctor.study.results_rows import Rows
from proctor.study.results_words import Words
from proctor.study.table import Table

MAX_ROWS = 5_000_000
MAX_FIELD = 1_000_000
JSON = re.compile(r"""\s*[\[{]\s*["\[{}\]]""")
"""How JSON begins, and no header of a table."""
"""The longest cell in characters; model answers in a table can be long."""
CHUNK_ROWS = 50_000
"""How many rows are turned into columns at once."""


@dataclass(frozen=True)
class Reading:
    """How a file is to be read: columns by role, and words that mean more than the usual ones."""

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
    """A table of results, and what was taken for what."""

    table: Table
    name: str
    digest: str
    shape: str
    taken: Mapping[str, str]
    unused: tuple[str, ...]
    """The columns that were taken for nothing."""
    notes: tuple[str, ...]
    cannot: tuple[str, ...]


def read_results(path: Path, reading: Reading, tell: Callable[[int], None] | None = None) -> Results:
    """The results in the CSV file at ``path``; :class:`UsageFault` names every row that cannot be read.

    ``tell`` hears the number of rows read from time to time.
    """
    data = _bytes(path)
    header, records = _records(path.name, _text(path.name, data))
    columns = choose(path.name, header, reading.columns)
    words = Words(reading.success, reading.unknown, reading.timeout)
    rows = Rows(path.name, columns, words, reading.cap_seconds)
    while piece := list(islice(records, CHUNK_ROWS)):
        rows.add([line for line, _ in piece], [cells for _, cells in piece])
        if tell is not None and len(piece) == CHUNK_ROWS:
            tell(rows.count)
        if rows.count > MAX_ROWS:
            raise UsageFault(f"more than {MAX_ROWS:,} rows", where=path.name, hint="analyse parts of it")
    if not rows.count:
        raise UsageFault("there are no rows below the header", where=path.name, hint="one row for each attempt")
    table, notes = rows.table(reading.number_trials)
    return Results(
        table,
        path.name,
        sha256(data),
        columns.shape,
        dict(columns.taken),
        columns.unused,
        (*columns.notes, *notes),
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
        hint = "write a line for each attempt; docs/analyse.md has a program that does so for reports of SWE-bench"
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
