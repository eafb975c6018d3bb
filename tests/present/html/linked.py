"""What a page links its numbers of runs to, and how many runs the queries there select."""

from __future__ import annotations

from html.parser import HTMLParser
from pathlib import Path

from proctor.study.index.sql_query import RunsDatabase

OTHER = ("Modes found", "Tokens read", "Tokens written", "Cost", "Cost in all", "US dollars", "Units")
"""Columns whose whole numbers count something else than runs."""


class Page(HTMLParser):
    """The cells of a page that are links, each with its table, row and column, and the queries by their anchors."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.cells: list[tuple[str, str, str]] = []
        """Where a number stands, what it says and where it leads."""
        self.queries: dict[str, str] = {}
        self.anchors: set[str] = set()
        self._table = self._row = self._link = self._entry = ""
        self._columns: list[str] = []
        self._column = 0
        self._inside: list[str] = []
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        given = dict(attrs)
        key = given.get("id") or ""
        self.anchors.add(key)
        if given.get("class") == "entry":
            self._entry = key
            self.queries[key] = ""
        if tag == "table":
            self._table, self._columns = "", []
        if tag == "tr":
            self._column, self._row = -1, ""
        if tag in ("th", "td"):
            self._column += 1
            if given.get("scope") == "col":
                self._columns.append("")
        if tag == "a":
            self._link = (given.get("href") or "").removeprefix("#")
        if tag not in ("meta", "link", "br", "hr", "input", "img", "col"):
            self._inside.append(tag)

    def handle_endtag(self, tag: str) -> None:
        while self._inside and self._inside.pop() != tag:
            pass
        if tag == "a":
            self._link = ""
        if tag == "table":
            self._table = ""

    def handle_data(self, data: str) -> None:
        inside = self._inside
        if "caption" in inside:
            self._table += data
        elif "thead" in inside and "th" in inside:
            self._columns[-1] += data
        elif "code" in inside and "pre" in inside and self._entry:
            self.queries[self._entry] += data
        elif "tbody" in inside:
            if "th" in inside:
                self._row += data
            if self._link:
                self.cells.append((f"{self._table} / {self._row} / {self._columns[self._column]}", data, self._link))
        elif "header" in inside and self._link:
            self.cells.append(("the head of the page", data.removesuffix(" runs"), self._link))


def check_numbers(folder: Path) -> dict[str, int]:
    """Fail unless every query of a report runs and selects as many runs as the numbers say that lead to it.

    Returns what was compared: where each number stands, and the number.
    """
    page = Page((folder / "report.html").read_text())
    assert {link for _, _, link in page.cells} <= page.anchors
    with RunsDatabase.over(folder / "runs.parquet") as table:
        selected = {key: len(list(table.ask(query).rows)) for key, query in page.queries.items()}
    found = {}
    for where, text, link in page.cells:
        number = text.replace(",", "")
        if number.isdecimal() and where.rpartition(" / ")[2] not in OTHER:
            assert selected[link] == int(number), f"{where}: {text}, but {selected[link]} by {page.queries[link]}"
            found[where] = int(number)
    return found
