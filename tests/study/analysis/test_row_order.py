"""A table of results says the same whatever the order of its rows."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from proctor.present.html import page
from proctor.present.markdown_report import report
from proctor.study.analysis.findings import findings
from proctor.study.analysis.question import Extras, Question
from proctor.study.table_import.csv_reader import Reading, read_results

HEAD = "agent,model,task,trial,outcome,failure_mode,cost_usd,input_tokens,seconds,difficulty,tags,started\n"
AGENTS = ("zeta", "alpha", "Ünï")
OUTCOMES = ("pass", "fail", "", "error", "invalid", "pass", "fail")
MODES = ("unset", "agent_timeout", "crash")


def rows_of(labels: str) -> list[str]:
    """Three agents with odd sums of costs, gaps, ties and trials that are numbered or named by ``labels``."""
    return [
        f"{agent},{'m1' if task % 2 else 'm2'},t{task},{labels}{trial},{OUTCOMES[mixed % 7]},{MODES[mixed % 3]},"
        f"{'' if mixed % 5 == 0 else (0.1 * mixed) ** 3},{mixed * 7},{mixed / 3},"
        f"{('easy', 'hard', '')[task % 3]},{('b;a', '', 'c')[mixed % 3]},2026-03-0{1 + mixed % 9}\n"
        for place, agent in enumerate(AGENTS)
        for task in range(5)
        for trial in (1, 2, 10)
        for mixed in [1 + 31 * place + 7 * task + 3 * trial]
    ]


def told(path: Path, rows: list[str], against: str | None) -> dict[str, Any]:
    """The findings of the table, without the digest of the file and the lines of its rows."""
    path.write_text(HEAD + "".join(rows))
    read = read_results(path, Reading())
    extras = Extras("results", read.name, "", notes=read.notes, cannot=read.cannot)
    found = findings(read.table, Question(against=against), extras)
    return found | {"runs": [run | {"source": ""} for run in found["runs"]]}


@pytest.mark.parametrize(("labels", "against"), [("", None), ("run-", "alpha · m1")])
def test_the_order_of_rows_means_nothing(labels: str, against: str | None, tmp_path: Path) -> None:
    rows = rows_of(labels)
    wanted = told(tmp_path / "rows.csv", rows, against)
    written = page(wanted), report(wanted)

    @settings(max_examples=12)
    @given(st.permutations(rows))
    def shuffled(other: list[str]) -> None:
        found = told(tmp_path / "rows.csv", other, against)
        assert found == wanted
        assert (page(found), report(found)) == written

    shuffled()
