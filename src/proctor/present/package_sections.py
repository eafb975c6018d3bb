"""Sections of reports that installed packages provide. A report has those that are asked for by name, and no others.

A section is data: paragraphs and tables. Proctor writes it as HTML and as Markdown, escaped and bounded like every
other text, and names the package and its version above it.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from copy import deepcopy
from dataclasses import dataclass
from typing import Any, Protocol, TypeAlias

from proctor.base.entry_points import REPORT_SECTIONS, Package, PlugIns, lacks_methods
from proctor.base.errors import UsageFault

MOST_BLOCKS = 100
MOST_COLUMNS = 20
MOST_ROWS = 10_000
TEXT_CHARACTERS = 4000

Value: TypeAlias = str | int | float | None


@dataclass(frozen=True)
class SectionTable:
    """A table: its title, the titles of its columns, and its rows. ``None`` is a missing value."""

    title: str
    columns: tuple[str, ...]
    rows: tuple[tuple[Value, ...], ...]


Block: TypeAlias = str | SectionTable
"""A paragraph or a table."""


class ReportSection(Protocol):
    """Makes one section of a report from findings, the content of ``findings.json``."""

    title: str

    def blocks(self, findings: Mapping[str, Any]) -> Sequence[Block]:
        """What the section shows; the same for the same findings."""
        ...


@dataclass(frozen=True)
class MadeSection:
    """What a package put into a report."""

    name: str
    title: str
    package: Package
    blocks: tuple[Block, ...]

    @property
    def origin(self) -> str:
        """The sentence above the section."""
        return f"This section is made by the package {self.package}, which is not part of Proctor."


def section_problems(section: Any, name: str) -> Iterator[str]:
    """What keeps ``section`` from being used."""
    if isinstance(section, type):
        yield "it is a class, not an object: create an instance"
    title = getattr(section, "title", None)
    if not isinstance(title, str) or not title.strip() or not title.isprintable():
        yield "its title is not one line of text"
    yield from lacks_methods(section, "blocks")


PLUG_INS: PlugIns[ReportSection] = PlugIns(REPORT_SECTIONS, "report section", (), section_problems)


def require_sections(names: Sequence[str]) -> None:
    """Refuse names of sections that no installed package provides, before any work is done."""
    for place, name in enumerate(names):
        if name in names[:place]:
            raise UsageFault(f"the report section {name!r} is given twice")
        PLUG_INS.require(name)


def make_sections(names: Sequence[str], findings: Mapping[str, Any]) -> tuple[MadeSection, ...]:
    """The sections ``names`` of a report on ``findings``."""
    return tuple(_made(name, findings) for name in names)


def _made(name: str, findings: Mapping[str, Any]) -> MadeSection:
    section, package = PLUG_INS.require(name), PLUG_INS.package(name)
    assert package is not None
    with PLUG_INS.blamed(name, "blocks() raises "):
        blocks = section.blocks(deepcopy(dict(findings)))
    problem = next(blocks_problems(blocks), "")
    if problem:
        raise PLUG_INS.at_fault(name, f"blocks() returns {problem}")
    return MadeSection(name, section.title, package, tuple(blocks))


def blocks_problems(blocks: Any) -> Iterator[str]:
    """What keeps the blocks of a section from being shown."""
    if not isinstance(blocks, list | tuple) or not 0 < len(blocks) <= MOST_BLOCKS:
        yield f"no list of 1 to {MOST_BLOCKS} blocks"
        return
    for block in blocks:
        if isinstance(block, SectionTable):
            yield from _table_problems(block)
        elif not isinstance(block, str) or not block.strip() or len(block) > TEXT_CHARACTERS:
            yield f"a block that is neither a SectionTable nor text of at most {TEXT_CHARACTERS} characters"


def _table_problems(table: SectionTable) -> Iterator[str]:
    titles: Any = (table.title, *table.columns) if isinstance(table.columns, tuple) else (None,)
    if not all(isinstance(title, str) and title.strip() for title in titles):
        yield "a table whose titles are not text"
        return
    if not 0 < len(table.columns) <= MOST_COLUMNS or not isinstance(table.rows, tuple) or len(table.rows) > MOST_ROWS:
        yield f"a table without columns, or with more than {MOST_COLUMNS} columns or {MOST_ROWS} rows"
        return
    for row in table.rows:
        if not isinstance(row, tuple) or len(row) != len(table.columns):
            yield f"a row of the table {table.title!r} that has not one value for each column"
            return
        if not all(value is None or isinstance(value, str | int | float) for value in row):
            yield f"a value in the table {table.title!r} that is neither text nor a number"
            return
