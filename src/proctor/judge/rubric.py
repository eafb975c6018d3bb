"""The published rubric, as data: gates and what shows them, and the weights of the three scores. Read once.

data/rubric.json   the rubric; the weights of the graded score are what holds where a contract sets none
data/rubric.csv    the head of a table with one row a run, which reviewers fill in further
"""

from __future__ import annotations

import csv
import io
from collections.abc import Iterable, Mapping
from decimal import Decimal
from functools import cache
from pathlib import Path
from typing import Any

from proctor.base.canonical import parse, sha256
from proctor.base.sheets import guarded
from proctor.judge.gates import word

_DATA = Path(__file__).parent / "data"
RUBRIC, TEMPLATE = _DATA / "rubric.json", _DATA / "rubric.csv"


@cache
def rubric() -> Mapping[str, Any]:
    """The rubric."""
    found: dict[str, Any] = parse(RUBRIC.read_bytes())
    return found


@cache
def rubric_digest() -> str:
    """The digest of the file, by which a score names the rubric that it follows."""
    return sha256(RUBRIC.read_bytes())


def weights_of(score: str) -> dict[str, Decimal]:
    """The weights of one of the scores ``graded``, ``contract`` and ``pilot``."""
    return {name: Decimal(value) for name, value in rubric()[score]["weights"].items()}


def columns() -> list[str]:
    """The columns of the template."""
    return TEMPLATE.read_text("utf-8").strip().split(",")


def table(reports: Iterable[Mapping[str, Any]]) -> str:
    """The template with a row for each report; what a reviewer is to say stays empty."""
    written = io.StringIO()
    writer = csv.DictWriter(written, columns(), restval="", lineterminator="\n")
    writer.writeheader()
    for report in reports:
        scores = report.get("scores") or {}
        pilot = scores.get("pilot") or {"parts": {}}
        row = {
            "run": report["run"],
            "contract": report["contract"].get("name", ""),
            "agent": report["agent"]["name"],
            "status": report["status"],
            **{gate["id"]: word(gate) for gate in report["gates"]},
            "graded": (report["score"] or {}).get("value", ""),
            "contract_score": (scores.get("contract") or {}).get("value", ""),
            **pilot["parts"],
            "pilot": pilot.get("value", ""),
        }
        writer.writerow({name: guarded(str(value)) for name, value in row.items()})
    return written.getvalue()
