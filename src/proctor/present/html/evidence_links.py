"""From a number to the runs behind it: each number links to an entry with the query that selects them.

Entries are made while a page is built, in the order of its numbers, and are listed at its end. A run in the page's own
table of runs is linked there; the query finds all of them.

The sections on reproducibility, evidence and runs.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from proctor.present.html.html_table import Cell, Column, Section, empty_note, folded, note, table
from proctor.present.html_markup import Markup, Piece, clean, join, tag, trusted
from proctor.present.readable_numbers import Form, count, counted, currency, duration, finite_number
from proctor.study.analysis.outcome_counts import NAMELESS
from proctor.study.analysis.question import INTENTION_TO_TREAT
from proctor.study.analysis.strata_rates import SEVERAL

MOST_ENTRIES = 1500
"""Beyond so many entries a number links to the entry of its agent, or of all runs."""

MOST_RUNS = 40
"""Runs that an entry names; its query finds the others."""

MOST_SHOWN = 5000
MOST_BYTES = 2_500_000
"""How many rows of runs a page has, and what they may add to it, whatever their names are."""

MOST_LETTERS = 2000
"""Characters of a query that a page holds."""

SCORABLE = "scorable IS DISTINCT FROM 0"
KNOWN = f"{SCORABLE} AND success IS NOT NULL"
LOST = "(scorable = 0 OR success IS DISTINCT FROM 1)"
"""Which runs the analysis counts as scorable, as those with an outcome, and as no successes."""


@dataclass(frozen=True)
class Entry:
    """What a number counts, the query that selects its runs, and some of them."""

    key: str
    what: str
    query: str
    runs: tuple[str, ...] = ()


class Evidence:
    """The entries of one page. The table has the runs of baselines too, which no number but their own counts."""

    def __init__(self, findings: Mapping[str, Any]) -> None:
        self._agents = {str(row.get("agent")): row for row in findings.get("agents") or ()}
        self._beside = [str(row.get("method")) for row in findings.get("baselines") or ()]
        for row in findings.get("baselines") or ():
            name = str(row.get("method"))
            runs = [one.get("run") for one in findings.get("baseline_runs") or () if one.get("agent") == name]
            self._agents[name] = {"attempted": row.get("runs"), "success": row.get("success"), "runs": runs}
        self._every = (findings.get("question") or {}).get("endpoint") == INTENTION_TO_TREAT
        self._several = any(row.get("stratum") == SEVERAL for row in findings.get("strata") or ())
        self._rows = {str(row.get("run")): f"r{place}" for place, row in enumerate(shown_runs(findings), 1)}
        self._entries: dict[tuple[str, ...], Entry] = {}

    def everything(self) -> str:
        """The link to all runs that are compared."""
        what = "all runs but those of baselines" if self._beside else "all runs"
        return self._entry(("",), what, f"SELECT * FROM runs{self._compared()}")

    def agent(self, name: str) -> str:
        """The link to the runs of one agent, or of one baseline."""
        row = self._agents.get(name, {})
        runs = tuple(str(run) for run in row.get("runs") or ())
        return self._entry((name,), f"runs of {name}", self._query(name), runs)

    def pair(self, first: str, second: str) -> str:
        """The link to the runs of the difference of two agents: those on tasks that both have."""
        which = "" if self._every else f" AND {KNOWN}"
        both = f"SELECT * FROM runs WHERE method IN ({quoted(first)}, {quoted(second)}){which}"
        tasks = "SELECT task FROM both_of GROUP BY task HAVING count(DISTINCT method) = 2"
        query = f"WITH both_of AS ({both}) SELECT * FROM both_of WHERE task IN ({tasks})"
        with_outcome = "" if self._every else ", with an outcome,"
        what = f"runs of {first} and of {second}{with_outcome} on tasks that both have"
        return self._entry((first, second, ""), what, query)

    def where(self, agent: str | None, condition: str = "", name: str = "", **columns: str) -> str:
        """The link to runs whose columns have these values, of one agent or of all; and a condition with its name."""
        wanted = [self._of_stratum(value) if of == "stratum" else has(of, value) for of, value in columns.items()]
        what = [f"{of} {value}" for of, value in columns.items()]
        if condition:
            wanted, what = [*wanted, condition], [*what, name]
        return self._some(agent, " AND ".join(wanted), ", ".join(what))

    def tagged(self, agent: str, label: str | None = None) -> str:
        """The link to the runs of an agent that did not succeed and have a failure tag, this one or any."""
        has_it = "tags <> ''" if label is None else f"list_contains(string_split(tags, ';'), {quoted(label)})"
        what = "any tag" if label is None else f"tag {label}"
        return self._some(agent, f"{has_it} AND {LOST}", f"{what} and no success")

    def part(self, agent: str, condition: str, what: str, runs: float | None) -> str:
        """The link to the ``runs`` of an agent for which a condition holds; to all of its runs if it has no others."""
        if runs is None or runs == finite_number(self._agents.get(agent, {}).get("attempted")):
            return self.agent(agent)
        return self._some(agent, condition, what)

    def scorable(self, agent: str) -> str:
        """The link to the scorable runs of an agent."""
        return self.part(agent, SCORABLE, "a verdict", finite_number(self._agents.get(agent, {}).get("scorable")))

    def outcomes(self, agent: str) -> float | None:
        """How many runs of an agent have an outcome."""
        return finite_number((self._agents.get(agent, {}).get("success") or {}).get("n"))

    def scored(self, agent: str) -> str:
        """The link to the runs of an agent that its success rate counts."""
        return self.part(agent, KNOWN, "an outcome", self.outcomes(agent))

    def unknown(self, agent: str) -> str:
        """The link to the scorable runs of an agent without a known outcome."""
        return self._some(agent, f"{SCORABLE} AND success IS NULL", "an unknown outcome")

    def metered(self, agent: str) -> str:
        """The link to the runs of an agent whose cost is known."""
        cost = self._agents.get(agent, {}).get("cost") or {}
        return self.part(agent, "cost_usd IS NOT NULL", "a known cost", finite_number(cost.get("metered")))

    def rate(self, agent: str, name: str) -> str:
        """The link to the runs of an agent that a rate counts; the rate has its name in the findings."""
        over = {"success": self.scored, "error": self.scorable}
        return over.get(name, self.agent)(agent)

    def run(self, name: str) -> Markup:
        """A run by its name, linked where the page has its row."""
        place = self._rows.get(name)
        return tag("a", name, href=f"#{place}") if place else tag("span", name)

    def number(self, text: Piece, place: str) -> Markup:
        """A number as a link to what is behind it."""
        return tag("a", text, href=place, class_="n")

    def listing(self) -> Markup:
        """All entries, for the end of the page."""
        return folded(f"{len(self._entries)} queries", join(self._shown(entry) for entry in self._entries.values()))

    def _some(self, agent: str | None, condition: str, what: str) -> str:
        if agent is None:
            query = f"SELECT * FROM runs{self._compared(condition)}"
            return self._entry(("", condition), f"runs with {what}", query)
        query = f"SELECT * FROM runs WHERE {has('method', agent)} AND {condition}"
        return self._entry((agent, condition), f"runs of {agent} with {what}", query)

    def _compared(self, condition: str = "") -> str:
        """What leaves out the runs of baselines, where there are any, and those for which a condition does not hold."""
        beside = [f"method NOT IN ({', '.join(map(quoted, self._beside))})"] if self._beside else []
        wanted = [*beside, *([condition] if condition else [])]
        return f" WHERE {' AND '.join(wanted)}" if wanted else ""

    def _of_stratum(self, value: str) -> str:
        """The condition for runs of a stratum. It belongs to the task, which has one that its runs agree on."""
        if not self._several:
            return has("stratum", value)
        name, wanted = f"coalesce(stratum, {quoted(NAMELESS)})", quoted(value)
        which = f"min({name}) = {wanted} AND max({name}) = {wanted}"
        if value == SEVERAL:
            which = f"min({name}) < max({name})"
        return f"task IN (SELECT task FROM runs{self._compared()} GROUP BY task HAVING {which})"

    def _query(self, agent: str) -> str:
        stated = str(self._agents.get(agent, {}).get("query") or "").strip().rstrip(";")
        return stated or f"SELECT * FROM runs WHERE {has('method', agent)}"

    def _entry(self, name: tuple[str, ...], what: str, query: str, runs: Sequence[str] = ()) -> str:
        if name not in self._entries:
            if len(self._entries) >= MOST_ENTRIES and len(name) > 1:
                return self.agent(name[0]) if name[0] else self.everything()
            self._entries[name] = Entry(f"e{len(self._entries) + 1}", what, query, tuple(runs))
        return f"#{self._entries[name].key}"

    def _shown(self, entry: Entry) -> Markup:
        parts: list[Piece] = [
            tag("h3", tag("span", entry.key.upper(), class_="kicker"), " ", entry.what),
            tag("pre", tag("code", whole(entry.query)), tabindex=0),
        ]
        if some := entry.runs[:MOST_RUNS]:
            listed = tag("p", join((self.run(run) for run in some), ", "), class_="runlist")
            parts.append(folded(f"{len(some)} of these runs", listed))
        return tag("div", parts, id=entry.key, class_="entry")


def shown_runs(findings: Mapping[str, Any]) -> list[Mapping[str, Any]]:
    """The runs that a page has rows for, those of baselines last: as many of the first as it may hold."""
    rows = [*(findings.get("runs") or ()), *(findings.get("baseline_runs") or ())][:MOST_SHOWN]
    size = 0
    for place, row in enumerate(rows):
        size += 350 + sum(
            len(clean(str(row.get(part))).encode()) for part in ("run", "agent", "task", "tags", "source")
        )
        if size > MOST_BYTES:
            return rows[:place]
    return rows


def quoted(value: str) -> str:
    """A text in SQL."""
    return "'" + value.replace("'", "''") + "'"


def has(column: str, value: str) -> str:
    """The condition that a column has a value; the name for missing values also selects nulls."""
    return (
        f"coalesce({column}, {quoted(value)}) = {quoted(value)}" if value == NAMELESS else f"{column} = {quoted(value)}"
    )


def whole(text: str) -> Markup:
    """A longer text than a cell may hold, escaped piece by piece."""
    fit = clean(text, MOST_LETTERS)
    return join(fit[start : start + 300] for start in range(0, len(fit), 300)) if fit else trusted("")


MOST_FACTS = 300
LONG = 6000
"""Letters from which on a part of the appendix is folded away."""
KNOWN_STATUS = ("success", "failure", "acceptance-error", "invalid", "unknown")


def appendix(findings: Mapping[str, Any], evidence: Evidence) -> Section:
    """Digests, lock files, agents' configuration, seeds, amendments and stages."""
    given = findings.get("appendix") or {}
    source = findings.get("source") or {}
    parts: list[Piece] = [
        tag("h3", "Source"),
        _facts((name, source[name]) for name in ("kind", "name", "digest", "rows") if name in source),
    ]
    titles = (
        ("digests", "Digests"),
        ("locks", "Lock files"),
        ("agents", "Configuration of agents"),
        ("seeds", "Seeds"),
        ("amendments", "Amendments"),
        ("stages", "Stages"),
    )
    for key, title in titles:
        made = _value(given[key]) if given.get(key) else empty_note("none is recorded")
        parts += [tag("h3", title), folded(f"All {title.lower()}", made) if len(made) > LONG else made]
    text = "The same findings give this page byte for byte; it contains no date of its own and no data of the machine."
    return Section("appendix", "Reproducibility", tag("div", parts, note(text)))


def _value(value: Any) -> Markup:
    """Any recorded value: mappings as facts, lists as items, text as it is; what is empty is none."""
    if isinstance(value, Mapping | list | tuple) and not value:
        return tag("code", _word(None))
    if isinstance(value, Mapping):
        return _facts(value.items())
    if isinstance(value, list | tuple):
        kept = value[:MOST_FACTS]
        if not any(isinstance(item, Mapping | list | tuple) for item in kept):
            return tag("code", whole(", ".join(_word(item) for item in kept)))
        return tag("ul", (tag("li", _value(item)) for item in kept), class_="records")
    return tag("code", whole(_word(value)))


def _word(value: Any) -> str:
    """A single value for readers."""
    if isinstance(value, bool):
        return "yes" if value else "no"
    return "none" if value is None or value == "" else str(value)


def _facts(pairs: Iterable[tuple[Any, Any]]) -> Markup:
    kept = list(pairs)[:MOST_FACTS]
    return tag("dl", ((tag("dt", str(name)), tag("dd", _value(value))) for name, value in kept), class_="facts")


def evidence_list(findings: Mapping[str, Any], evidence: Evidence) -> Section:
    """The targets of the links of numbers."""
    intro = tag(
        "p",
        "Each number of this page links to an entry here. Its query selects the runs behind it from the table that ",
        "was written beside this page: ",
        tag("code", 'proctor query --results runs.parquet --sql "\u2026"'),
        ".",
    )
    return Section("evidence", "Evidence", tag("div", intro, evidence.listing()))


def runs(findings: Mapping[str, Any], evidence: Evidence) -> Section:
    """The runs on the page, as rows to link to."""
    rows = shown_runs(findings)
    if not rows:
        return Section("runs", "Runs", empty_note("the findings name no single runs; the queries above select them"))
    columns = [
        Column("Run"),
        Column("Agent"),
        Column("Task"),
        Column("Trial", True),
        Column("Status"),
        Column("Cost", True),
        Column("Time", True),
        Column("Tags"),
        Column("Source"),
    ]
    form = currency(findings).form
    lines = [_run(row, form) for row in rows]
    keys = [f"r{place}" for place in range(1, len(lines) + 1)]
    compared = min(len(lines), len(findings.get("runs") or ()))
    beside = sum(finite_number(row.get("runs")) or 0 for row in findings.get("baselines") or ())
    listed = len(findings.get("runs") or ()) + (finite_number(findings.get("runs_left_out")) or 0)
    hidden = listed + (beside if findings.get("baseline_runs") else 0) - len(lines)
    more = f"{counted(hidden, 'more run')} {'is' if hidden == 1 else 'are'}"
    rest = note(f"{more} not on this page; the queries above select them.") if hidden else None
    made = table("Runs", columns, lines, most=MOST_SHOWN, keys=keys, look="runs")
    others = f", and {count(len(lines) - compared)} of baselines" if len(lines) > compared else ""
    summary = f"{counted(compared, 'run')}{others}"
    return Section("runs", "Runs", tag("div", rest, folded(summary, made, key="all-runs")))


def _run(row: Mapping[str, Any], form: Form) -> list[Cell | Piece]:
    status = str(row.get("status"))
    usd, seconds = finite_number(row.get("cost_usd")), finite_number(row.get("seconds"))
    look = f"status {status}" if status in KNOWN_STATUS else "status"
    return [
        str(row.get("run")),
        str(row.get("agent")),
        str(row.get("task")),
        count(row.get("trial")),
        tag("span", status, class_=look),
        Cell(form(usd), usd),
        Cell(duration(seconds), seconds),
        str(row.get("tags") or "").replace(";", ", "),
        str(row.get("source") or ""),
    ]
