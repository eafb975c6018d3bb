"""Behind each number stands a query, and it selects the runs that the number counts."""

from __future__ import annotations

import re
from html import unescape
from typing import Any

import duckdb
import pytest

from proctor.present.html import page
from proctor.present.html.evidence_links import MOST_ENTRIES, Evidence, quoted
from tests.present.sample import findings

QUOTED = "o'brien's \u00b7 \"best\""


@pytest.fixture
def given() -> dict[str, Any]:
    """Findings on few runs that are all listed; the name of one agent has quotes, its query an order and an end."""
    found = findings(3, runs=60)
    text = {row["agent"] for row in found["runs"]}
    assert len(text) == 3
    old = found["agents"][0]["agent"]
    rename(found, old, QUOTED)
    found["agents"][0]["query"] = f"select * from runs where method = {quoted(QUOTED)} order by task, trial;"
    return found


def rename(value: Any, old: str, new: str) -> None:
    """Another name for an agent, in place."""
    for key, inner in value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ():
        if inner == old:
            value[key] = new
        else:
            rename(inner, old, new)


def stored(found: dict[str, Any]) -> duckdb.DuckDBPyConnection:
    """The runs as a table with the columns that queries name."""
    base = duckdb.connect()
    base.execute(
        "create table runs (run text, method text, task text, trial int, status text, tags text, stratum text)"
    )
    extra = "comparability text, scorable int, success int, censored int, seconds double, cost_usd double"
    for column in (*extra.split(", "), *(f"gate{number} int" for number in range(1, 5))):
        base.execute(f"alter table runs add column {column}")
    for row in found["runs"]:
        values = [
            row["run"],
            row["agent"],
            row["task"],
            row["trial"],
            row["status"],
            row["tags"],
            "python / small",
            "c",
            int(row["status"] != "invalid"),
            {"success": 1, "invalid": None, "unknown": None}.get(row["status"], 0),
        ]
        names = "run, method, task, trial, status, tags, stratum, comparability, scorable, success"
        base.execute(f"insert into runs ({names}) values (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)", values)
    return base


def entries(html: str) -> dict[str, tuple[str, str]]:
    """What each entry is about, and its query."""
    pattern = (
        r'<div id="(e\d+)" class="entry"><h3><span class="kicker">E\d+</span> (.*?)</h3><pre[^>]*><code>(.*?)</code>'
    )
    return {unescape(what): (key, unescape(query)) for key, what, query in re.findall(pattern, html, re.DOTALL)}


def test_every_query_runs(given: dict[str, Any]) -> None:
    base = stored(given)
    found = entries(page(given).decode())
    assert len(found) > 20
    for _, query in found.values():
        base.execute(query).fetchall()


def test_a_query_selects_the_runs_it_is_about(given: dict[str, Any]) -> None:
    base = stored(given)
    found = entries(page(given).decode())
    rows = given["runs"]
    other = given["agents"][1]["agent"]
    some = next(name for name, times in given["modes"]["rows"][1]["counts"].items() if times)

    def selected(what: str) -> set[str]:
        described = base.execute(found[what][1])
        column = [name for name, *_ in described.description or ()].index("run")
        return {row[column] for row in described.fetchall()}

    mine = {row["run"] for row in rows if row["agent"] == QUOTED}
    assert selected(f"runs of {QUOTED}") == mine
    known = [row for row in rows if row["status"] in ("success", "failure", "acceptance-error")]
    tasks = [{row["task"] for row in known if row["agent"] == name} for name in (QUOTED, other)]
    both = {row["run"] for row in known if row["agent"] in (QUOTED, other) and row["task"] in tasks[0] & tasks[1]}
    assert both
    assert selected(f"runs of {QUOTED} and of {other}, with an outcome, on tasks that both have") == both
    failed = {row["run"] for row in rows if row["agent"] == QUOTED and row["status"] == "failure"}
    assert selected(f"runs of {QUOTED} with status failure") == failed
    failed = {row["run"] for row in rows if row["agent"] == other and row["status"] != "success"}
    tagged = {row["run"] for row in rows if row["run"] in failed and some in row["tags"].split(";")}
    assert tagged
    assert selected(f"runs of {other} with tag {some} and no success") == tagged
    assert selected("runs with task task-001") == {row["run"] for row in rows if row["task"] == "task-001"}
    assert selected("all runs but those of baselines") == {row["run"] for row in rows}


def test_a_number_links_to_its_query_and_from_there_to_its_runs(given: dict[str, Any]) -> None:
    html = page(given).decode()
    key, _ = entries(html)[f"runs of {QUOTED}"]
    assert f'<a href="#{key}" class="n">' in html
    entry = html[html.index(f'<div id="{key}"') :]
    run = given["agents"][0]["runs"][0]
    place = re.search(rf'<a href="#(r\d+)">{run}</a>', entry)
    assert place
    assert re.search(rf'<tr id="{place[1]}"><th scope="row">{run}</th>', html)


def test_an_agent_without_a_query_gets_one() -> None:
    evidence = Evidence({"agents": [{"agent": "a'b"}]})
    assert evidence.agent("a'b") == "#e1"
    assert "SELECT * FROM runs WHERE method = &#x27;a&#x27;&#x27;b&#x27;" in evidence.listing().replace("'", "&#x27;")


def test_entries_are_bounded_and_links_still_lead_on() -> None:
    evidence = Evidence({"agents": [{"agent": "a"}]})
    evidence.everything()
    links = {evidence.where("a", task=f"task {number}") for number in range(MOST_ENTRIES + 50)}
    assert evidence.where("a", task="one more") == evidence.agent("a")
    assert evidence.where(None, task="one more") == evidence.everything()
    assert len(links) <= MOST_ENTRIES + 1
