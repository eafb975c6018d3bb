"""What several runs say together: asked in SQL, or analysed as a table of results. These need the extra `study`."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from proctor.api.arguments import AnyHome, home_of
from proctor.api.recorded_runs import Run
from proctor.base.errors import missing_extra
from proctor.present.figures.svg_shapes import standalone
from proctor.present.html.success_rates import success_forest
from proctor.present.package_sections import require_sections
from proctor.present.report_files import check_folder, write_report
from proctor.study.analysis.findings import findings
from proctor.study.analysis.question import Extras, Question
from proctor.study.index.index_update import refresh
from proctor.study.index.run_row import row_of
from proctor.study.index.sql_query import RunsDatabase as Sql
from proctor.study.run_table import Table
from proctor.study.table_import.csv_reader import Reading, choices, read_results


@contextmanager
def _named_extras() -> Iterator[None]:
    """Name the extra whose package is missing."""
    try:
        yield
    except ModuleNotFoundError as error:
        raise missing_extra(error) or error from None


@_named_extras()
def query(sql: str, home: AnyHome = None) -> list[dict[str, Any]]:
    """The answer of SQL over the table ``runs`` of a home; the columns are those of ``proctor query --columns``."""
    with Sql.over(refresh(home_of(home)).path) as database:
        answer = database.ask(sql)
        return [dict(zip(answer.names, row, strict=True)) for row in answer.rows]


@_named_extras()
def analyse(
    results: str | Path | Sequence[Run],
    question: Question | None = None,
    reading: Reading | None = None,
    out: str | Path | None = None,
    sections: Sequence[str] = (),
) -> Mapping[str, Any]:
    """The findings from runs, from a CSV file with one row for each attempt, or from result files of
    another tool; ``out`` is a folder for the report.

    ``sections`` are names of report sections that installed packages provide.

    ``reading`` says which column of a CSV file means what, where that does not follow from the usual names. A run that
    has not ended, or whose evidence was changed, is refused.
    """
    require_sections(sections)
    folder = Path(out) if out is not None else None
    if folder is not None:
        check_folder(folder)
    if isinstance(results, str | Path):
        table, extras = _read(Path(results), reading or Reading())
    else:
        table = Table.from_rows(row_of(run.directory) for run in results)
        extras = Extras(kind="runs", name="runs")
    found = findings(table, question or Question(), extras)
    if folder is not None:
        write_report(found, table, folder, sections)
    return found


@dataclass(frozen=True)
class Figure:
    """A figure as an SVG document; a notebook shows it as a picture."""

    svg: str

    def _repr_svg_(self) -> str:
        return self.svg

    def save(self, path: str | Path) -> None:
        """Write the SVG document to a file."""
        Path(path).write_text(self.svg, "utf-8")


def plot(findings: Mapping[str, Any]) -> Figure:
    """The success rate of each agent in ``findings``, with its interval."""
    return Figure(standalone(success_forest("agents", findings["agents"])).decode())


def _read(path: Path, reading: Reading) -> tuple[Table, Extras]:
    """A CSV file, and information about it in addition to its rows."""
    read = read_results(path, reading)
    caveats = tuple(choices(reading))
    known = Extras(kind="results", name=read.name, digest=read.digest, caveats=caveats, notes=read.notes)
    return read.table, replace(known, cannot=read.cannot)
