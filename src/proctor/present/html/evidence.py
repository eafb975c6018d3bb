"""The way from a number to the runs behind it: each number links to an entry with the query that selects them.

Entries are made while a page is built, in the order in which its numbers ask for them, and are listed at its end. A run
that stands in the page's own table of runs is linked there; the query finds them all, however many there are.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from proctor.base.frozen import frozen
from proctor.present.html.table import folded
from proctor.present.markup import Markup, Piece, clean, join, tag, trusted

MOST_ENTRIES = 1500
"""Beyond so many entries a number links to the entry of its agent, or of all runs."""

MOST_RUNS = 40
"""Runs that an entry names; its query finds the others."""

MOST_LETTERS = 2000
"""Characters of a query that a page holds."""


@frozen
class Entry:
    """What a number counts, the query that selects its runs, and some of them."""

    key: str
    what: str
    query: str
    runs: tuple[str, ...] = ()


class Evidence:
    """The entries of one page."""

    def __init__(self, findings: Mapping[str, Any]) -> None:
        self._agents = {str(row.get("agent")): row for row in findings.get("agents") or ()}
        self._rows = {str(row.get("run")): f"r{place}" for place, row in enumerate(findings.get("runs") or (), 1)}
        self._entries: dict[tuple[str, ...], Entry] = {}

    def everything(self) -> str:
        """Where the query for all runs stands."""
        return self._entry(("",), "all runs", "SELECT * FROM runs")

    def agent(self, name: str) -> str:
        """Where the runs of one agent stand."""
        row = self._agents.get(name, {})
        runs = tuple(str(run) for run in row.get("runs") or ())
        return self._entry((name,), f"runs of {name}", self._query(name), runs)

    def pair(self, first: str, second: str) -> str:
        """Where the runs of two agents stand."""
        query = f"SELECT * FROM ({self._query(first)}) UNION ALL SELECT * FROM ({self._query(second)})"
        return self._entry((first, second, ""), f"runs of {first} and of {second}", query)

    def where(self, agent: str | None, **columns: str) -> str:
        """Where the runs stand whose columns have these values, of one agent or of all."""
        wanted = [f"{name} = {quoted(value)}" for name, value in columns.items()]
        what = ", ".join(f"{name} {value}" for name, value in columns.items())
        return self._some(agent, " AND ".join(wanted), what)

    def tagged(self, agent: str, label: str) -> str:
        """Where the runs of an agent stand that carry a failure tag."""
        return self._some(agent, f"list_contains(string_split(tags, ';'), {quoted(label)})", f"tag {label}")

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
            return self._entry(("", condition), f"runs with {what}", f"SELECT * FROM runs WHERE {condition}")
        within = f"SELECT * FROM runs WHERE run IN (SELECT run FROM ({self._query(agent)})) AND {condition}"
        return self._entry((agent, condition), f"runs of {agent} with {what}", within)

    def _query(self, agent: str) -> str:
        stated = str(self._agents.get(agent, {}).get("query") or "").strip().rstrip(";")
        return stated or f"SELECT * FROM runs WHERE method = {quoted(agent)}"

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


def quoted(value: str) -> str:
    """A text in SQL."""
    return "'" + value.replace("'", "''") + "'"


def whole(text: str) -> Markup:
    """A longer text than a cell may hold, escaped piece by piece."""
    fit = clean(text, MOST_LETTERS)
    return join(fit[start : start + 300] for start in range(0, len(fit), 300)) if fit else trusted("")
