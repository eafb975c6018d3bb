"""Every statement of a study has one sentence, and findings contain no English."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

import pytest

from proctor.present.sentences import MODULES, SENTENCES, sentence
from proctor.study.analysis.findings import findings
from proctor.study.analysis.question import Question
from proctor.study.run_table import Table
from proctor.study.statements import CATALOGUE, Statement, statement
from tests.study.analysis.made import Outcomes, runs

FREE_TEXT = {"why", "text", "by", "problem", "before", "after", "shape"}
"""The values that a user or another program wrote."""
NAMED = {"agent", "best", "against", "task", "method", "run", "runs", "source", "query", "a", "b", "candidate", "first"}
"""Fields with names from the input, and queries."""
CODE = re.compile(r"[a-z0-9]+([-_.][a-z0-9]+)*|USD|sha256:[0-9a-f]{64}|")


def texts(value: Any, field: str = "") -> Iterator[tuple[str, str]]:
    """Every text of findings with the field that contains it."""
    if isinstance(value, dict):
        for name, inner in value.items():
            yield from texts(inner, name)
    elif isinstance(value, list):
        for inner in value:
            yield from texts(inner, field)
    elif isinstance(value, str):
        yield field, value


def made() -> Table:
    outcomes: Outcomes = {"x": {f"t{n}": [1, n % 2] for n in range(12)}, "y": {f"t{n}": [0, None] for n in range(9)}}
    rows = runs(outcomes, stratum="s", seconds=5.0)
    return Table.from_rows([{**row, "cost_usd": place / 10, "tags": "slow"} for place, row in enumerate(rows)])


@pytest.mark.parametrize("question", [Question(), Question(against="y", minimum_effect=0.1)])
def test_findings_contain_codes_and_no_sentences(question: Question) -> None:
    prose = [(field, text) for field, text in texts(findings(made(), question)) if not CODE.fullmatch(text)]
    assert {field for field, _ in prose} <= NAMED | FREE_TEXT | {"kind"}


def test_every_code_has_one_sentence() -> None:
    assert SENTENCES.keys() == CATALOGUE.keys()
    assert len(SENTENCES) == sum(len(module.SENTENCES) for module in MODULES)


def test_a_statement_outside_the_catalogue_cannot_be_made() -> None:
    for code, values in (("luck", {}), ("no-run", {"runs": 1}), ("few-tasks", {})):
        with pytest.raises(ValueError, match="the catalogue has no statement"):
            Statement(code, values)
    assert statement("few-tasks", tasks=3).record() == {"code": "few-tasks", "tasks": 3}


def test_a_statement_of_a_newer_version_is_its_code() -> None:
    assert sentence({"code": "from-the-future", "tasks": 3}) == "from-the-future"
