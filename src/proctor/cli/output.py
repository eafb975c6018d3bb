"""How commands print: JSON for programs, plain aligned tables for people."""

from __future__ import annotations

import sys
from collections.abc import Mapping, Sequence
from itertools import zip_longest
from typing import Any
from unicodedata import combining, east_asian_width

import click

from proctor.base.canonical import canonical
from proctor.cli.terminal import echo, painted, terminal_width
from proctor.cli.terminal import printable as printable

GAP = 2
"""Blanks between two columns of a table."""

ANSWER_SCHEMA = 1
"""The version of the JSON answers."""

as_json = click.option("--json", "json_", is_flag=True, help="Print JSON for programs.")


class Group(click.Group):
    """A group of commands whose help lists the first paragraph of each one whole, where click would cut it."""

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        commands = {name: self.get_command(ctx, name) for name in self.list_commands(ctx)}
        shown = {name: one.help or "" for name, one in commands.items() if one is not None and not one.hidden}
        with formatter.section("Commands"):
            formatter.write_dl([(name, " ".join(text.split("\n\n")[0].split())) for name, text in shown.items()])


def examples(*commands: str) -> str:
    """The end of a help text: the commands, each on a line of its own."""
    title = "Example:" if len(commands) == 1 else "Examples:"
    return "\n".join(("\b", title, *(f"  proctor {command}" for command in commands)))


def print_json(value: Mapping[str, Any]) -> None:
    """One line of canonical JSON with kind and schema. A record that has its own is printed as it is.

    The kind is the name of the command, such as ``pilot-plan``; docs/json.md lists the answers.
    """
    if not {"kind", "schema"} <= value.keys():
        value = {**value, "kind": answer_kind(), "schema": ANSWER_SCHEMA}
    print_record(value)


def answer_kind() -> str:
    """The kind of the answers of the current command."""
    return "-".join(click.get_current_context().command_path.split()[1:])


def print_record(value: Any) -> None:
    """One line of canonical JSON, with nothing added."""
    sys.stdout.buffer.write(canonical(value) + b"\n")
    sys.stdout.buffer.flush()


def print_table(head: Sequence[str], rows: Sequence[Sequence[str]]) -> None:
    """A table with aligned columns; a cell stays in its line, whatever it contains.

    On a terminal that is too narrow, cells are wrapped between words; if that does not help, each row becomes a block
    with one line for each column. Elsewhere a row is always one line.
    """
    rows = [[one_line(cell) for cell in row] for row in rows]
    columns = [[head[number], *(row[number] for row in rows)] for number in range(len(head))]
    widths = [max(map(_width, column)) for column in columns]
    most = terminal_width(sys.stdout)
    if most and sum(widths) + GAP * (len(head) - 1) > most:
        least = [max(_width(word) for cell in column for word in (cell.split() or [""])) for column in columns]
        if sum(least) + GAP * (len(head) - 1) > most:
            _print_blocks(head, rows, most)
            return
        while sum(widths) + GAP * (len(head) - 1) > most:
            widest = max(range(len(head)), key=lambda number: widths[number] - least[number])
            widths[widest] -= 1
    for row in [head, ["-" * width for width in widths], *rows]:
        wrapped = [_wrapped(cell, width) for cell, width in zip(row, widths, strict=True)]
        for line in zip_longest(*wrapped, fillvalue=""):
            cells = [painted(cell) + " " * (width - _width(cell)) for cell, width in zip(line, widths, strict=True)]
            echo((" " * GAP).join(cells).rstrip())


def _print_blocks(head: Sequence[str], rows: Sequence[Sequence[str]], most: int) -> None:
    """The rows one below the other, each with one line for each column that has something to say."""
    width = max(map(_width, head)) + GAP
    for number, row in enumerate(rows):
        if number:
            echo()
        for name, cell in zip(head, row, strict=True):
            first, *more = _wrapped(cell, max(most - width, 1))
            echo((name + " " * (width - _width(name)) + painted(first)).rstrip())
            for line in more:
                echo(" " * width + line)


def _wrapped(text: str, width: int) -> list[str]:
    """``text`` in lines of at most ``width`` columns, broken between words; a longer word is split."""
    if _width(text) <= width:
        return [text]
    lines = [""]
    for word in text.split(" "):
        if lines[-1] and _width(lines[-1]) + 1 + _width(word) <= width:
            lines[-1] += f" {word}"
            continue
        if lines[-1]:
            lines.append("")
        for sign in word:
            if lines[-1] and _width(lines[-1] + sign) > width:
                lines.append("")
            lines[-1] += sign
    return lines


def _width(text: str) -> int:
    """How many columns of a terminal ``text`` takes: signs of East Asian scripts take two, marks on letters none."""
    if text.isascii():
        return len(text)
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


def one_line(text: str) -> str:
    """``text`` on one line, for names that come from anyone: a second line could pass for a verdict."""
    return printable(text).replace("\n", "?")
