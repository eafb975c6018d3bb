"""The help of every command: sections, one line for each command, options, examples, and plain words."""

from __future__ import annotations

import re
from collections.abc import Iterator
from importlib import import_module

import click
import pytest

from proctor.cli.main import COMMANDS, SECTIONS, command_module, group, run_command

ALWAYS_JSON = [["vault", "token"]]
"""Commands that print JSON and nothing else."""

WITHOUT_JSON = [["completion"]]
"""Commands that print a program for a shell."""

WIDTH = 80
"""The columns of a terminal in which an example and a line of the list of commands must fit."""

IDIOMS = re.compile(
    r"\b(is|are|be) told\b|\btells?\b|\b(lies|lie|stands?) (in|below|beside)\b|\bheld (against|to)\b"
    r"|\b(comes?|came) out\b|\banew\b|\bonce more\b|\b(no|some|any|every)body\b|\bside by side\b|\bis no\b"
    r"|\bcome of\b|\bso often\b|\bput(s)? on record\b|\bgoes by\b|\bfor short\b",
    re.IGNORECASE,
)
"""What the plain words of the documentation replace."""


def commands() -> Iterator[tuple[list[str], click.Command]]:
    """Every command with its words, groups and the commands in them."""
    for name in COMMANDS:
        command = import_module(command_module(name)).command
        yield [name], command
        if isinstance(command, click.Group):
            yield from (([name, inner], one) for inner, one in command.commands.items())


EVERY = [pytest.param(words, command, id=" ".join(words)) for words, command in commands()]


def help_of(words: list[str], capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> str:
    monkeypatch.setenv("COLUMNS", str(WIDTH))
    assert run_command([*words, "--help"]) == 0
    return capsys.readouterr().out


def first_paragraph(command: click.Command) -> str:
    return " ".join((command.help or "").split("\n\n")[0].split())


@pytest.mark.parametrize(("words", "command"), EVERY)
def test_help_has_an_example_and_json(
    words: list[str], command: click.Command, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    text = help_of(words, capsys, monkeypatch)
    example = re.search(rf"^  Examples?:\s+(proctor {' '.join(words)}.*)", text, re.MULTILINE)
    assert example, "no example"
    assert max(map(len, text[example.start() :].splitlines())) <= WIDTH
    if not isinstance(command, click.Group):
        assert ("--json" in text) == (words not in [*ALWAYS_JSON, *WITHOUT_JSON])


@pytest.mark.parametrize(("words", "command"), EVERY)
def test_help_is_in_plain_words(
    words: list[str], command: click.Command, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    text = " ".join(help_of(words, capsys, monkeypatch).split())
    assert [found[0] for found in IDIOMS.finditer(text)] == []


def test_help_lists_every_command_in_its_section(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    text = help_of([], capsys, monkeypatch)
    assert "Example: proctor demo" in text
    width = max(map(len, COMMANDS))
    for title, section in SECTIONS.items():
        listed = re.search(rf"^{title}:\n((?:  .*\n)+)", text, re.MULTILINE)
        assert listed, title
        assert listed[1].splitlines() == [f"  {name.ljust(width)}  {about}" for name, about in section.items()]
    assert max(map(len, text.splitlines())) <= WIDTH


def test_the_list_has_the_first_paragraph_of_each_command() -> None:
    found = {words[0]: first_paragraph(command) for words, command in commands() if len(words) == 1}
    assert found == COMMANDS
    assert group.list_commands(click.Context(group)) == list(COMMANDS)


@pytest.mark.parametrize("name", [words[0] for words, command in commands() if isinstance(command, click.Group)])
def test_a_group_lists_each_command_in_one_line(
    name: str, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    text = help_of([name], capsys, monkeypatch)
    inner = {words[1]: first_paragraph(one) for words, one in commands() if len(words) == 2 and words[0] == name}
    width = max(map(len, inner))
    lines = text.splitlines()
    assert [about for one, about in inner.items() if f"  {one.ljust(width)}  {about}" not in lines] == []
