"""How commands print: JSON for programs, plain aligned tables for people."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from typing import Any

import click

from proctor.base.canonical import canonical

as_json = click.option("--json", "json_", is_flag=True, help="Print JSON for programs.")


class Group(click.Group):
    """A group of commands whose help lists the first paragraph of each one whole, where click would cut it."""

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        commands = {name: self.get_command(ctx, name) for name in self.list_commands(ctx)}
        shown = {name: one.help or "" for name, one in commands.items() if one is not None and not one.hidden}
        with formatter.section("Commands"):
            formatter.write_dl([(name, " ".join(text.split("\n\n")[0].split())) for name, text in shown.items()])


def print_json(value: Any) -> None:
    """One line of canonical JSON."""
    sys.stdout.buffer.write(canonical(value) + b"\n")
    sys.stdout.buffer.flush()


def print_table(head: Sequence[str], rows: Sequence[Sequence[str]]) -> None:
    """A table with aligned columns; whatever a cell holds, it stays in its line."""
    rows = [[one_line(cell) for cell in row] for row in rows]
    widths = [max(_width(row[column]) for row in [head, *rows]) for column in range(len(head))]
    for row in [head, ["-" * width for width in widths], *rows]:
        cells = [cell + " " * (width - _width(cell)) for cell, width in zip(row, widths, strict=True)]
        click.echo("  ".join(cells).rstrip())


def _width(text: str) -> int:
    """How many columns of a terminal ``text`` takes: signs of East Asian scripts take two, marks on letters none."""
    if text.isascii():
        return len(text)
    from unicodedata import combining, east_asian_width

    return sum(0 if combining(sign) else 2 if east_asian_width(sign) in "WF" else 1 for sign in text)


def counted(number: int, noun: str) -> str:
    """``1 run``, ``2 runs``."""
    return f"{number} {noun}" if number == 1 else f"{number} {noun}s"


def shortened(text: str, most: int) -> str:
    """``text`` in at most that many characters, cut after a word and marked where it was."""
    if len(text) <= most:
        return text
    kept = text[: most - 3]
    return f"{kept.rpartition(' ')[0] or kept}..."


def printable(text: str) -> str:
    """``text`` without control characters, which could steer a terminal."""
    return "".join(character if character.isprintable() or character == "\n" else "?" for character in text)


def one_line(text: str) -> str:
    """``text`` on one line, for names that come from anyone: a second line could pass for a verdict."""
    return printable(text).replace("\n", "?")
