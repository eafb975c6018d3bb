"""A section of an installed package as a part of the page."""

from __future__ import annotations

from collections.abc import Iterator

from proctor.present.html.html_table import Cell, Column, Section, note, table
from proctor.present.html_markup import LONGEST, Piece, tag
from proctor.present.package_sections import MadeSection, SectionTable, Value


def package_section(made: MadeSection) -> Section:
    """The section, with the package that made it named first."""
    return Section(f"package-{made.name}", made.title, tag("div", note(made.origin), _pieces(made)))


def _pieces(made: MadeSection) -> Iterator[Piece]:
    for block in made.blocks:
        if isinstance(block, SectionTable):
            numbers = [all(_is_number(row[place]) for row in block.rows) for place in range(len(block.columns))]
            columns = [Column(title, number) for title, number in zip(block.columns, numbers, strict=True)]
            yield table(block.title, columns, [[_cell(value) for value in row] for row in block.rows])
        else:
            yield tag("p", [block[start : start + LONGEST] for start in range(0, len(block), LONGEST)])


def _is_number(value: Value) -> bool:
    return value is None or (isinstance(value, int | float) and not isinstance(value, bool))


def _cell(value: Value) -> Cell:
    if value is None:
        return Cell("-")
    if isinstance(value, bool | str):
        return Cell(str(value))
    return Cell(f"{value:,}" if isinstance(value, int) else f"{value:.6g}", float(value))
