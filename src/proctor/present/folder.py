"""A report as a folder: the page, the same as Markdown, JSON and CSV, and the runs as Parquet."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from proctor.base.errors import UsageFault
from proctor.present.data import findings_json, write_csv
from proctor.present.html import page
from proctor.present.markdown import report
from proctor.study.index.store import write_table
from proctor.study.table import Table

FINDINGS, PAGE, RUNS = "findings.json", "report.html", "runs.parquet"


def check_folder(folder: Path) -> None:
    """Refuse a folder that holds something else or cannot be written, before any work is done."""
    if folder.exists() and not folder.is_dir():
        raise UsageFault("this is a file", where=str(folder), hint="give a folder for the report")
    if folder.is_dir() and any(folder.iterdir()) and not (folder / FINDINGS).is_file():
        raise UsageFault("this folder holds something other than a report", where=str(folder), hint="give a new folder")
    there = next(place for place in (folder, *folder.absolute().parents) if os.path.lexists(place))
    try:
        with TemporaryDirectory(prefix=".proctor-", dir=there):
            pass
    except OSError as error:
        what = f"nothing can be written here: {error.strerror} ({there})"
        raise UsageFault(what, where=str(folder), hint="give a folder that may be written") from None


def write_report(found: Mapping[str, Any], table: Table, folder: Path) -> list[str]:
    """Write all of it; the names of what was written. What tells a report from other folders comes last."""
    folder.mkdir(parents=True, exist_ok=True)
    (folder / PAGE).write_bytes(page(found))
    (folder / "report.md").write_bytes(report(found))
    write_csv(found, folder / "csv")
    write_table(table, folder / RUNS)
    (folder / FINDINGS).write_bytes(findings_json(found))
    return [PAGE, "report.md", FINDINGS, "csv/", RUNS]
