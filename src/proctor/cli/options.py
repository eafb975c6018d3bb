"""Options and arguments that several commands share, and options that were renamed."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import click
from click.shell_completion import CompletionItem

from proctor.cli.wiring import run_store

MOST_RUNS = 50
"""How many runs a shell offers."""


class Renamed(click.Option):
    """An option with former names, which still work and are not part of the help or the completion."""

    def __init__(self, *arguments: Any, former: Sequence[str], **settings: Any) -> None:
        super().__init__(*arguments, **settings)
        self._former = list(former)

    def add_to_parser(self, parser: Any, ctx: click.Context) -> None:
        names = self.opts
        self.opts = [*names, *self._former]
        try:
            super().add_to_parser(parser, ctx)
        finally:
            self.opts = names


judge_slots_option = click.option(
    "--judge-slots",
    type=click.IntRange(1, 4096),
    default=None,
    help="Checks that may run at the same time, over all commands that use this home.  [default: one per processor]",
)


def complete_runs(context: click.Context, parameter: click.Parameter, incomplete: str) -> list[CompletionItem]:
    """The ids of runs that begin so, newest first; if there are none, the shell completes files."""
    given = context.params.get(parameter.name or "") or ()
    found = [name for name in ("last", *run_store().newest()) if name.startswith(incomplete) and name not in given]
    return [CompletionItem(incomplete, type="file"), *map(CompletionItem, found[:MOST_RUNS])]


pilot_argument = click.argument("pilot", type=click.Path(path_type=Path))
plan_option = click.option(
    "--plan",
    "plan_",
    cls=Renamed,
    former=["--out"],
    type=click.Path(path_type=Path),
    metavar="FOLDER",
    help="The folder of the plan.  [default: PILOT with the suffix .plan]",
)

section_option = click.option(
    "--section",
    "sections",
    multiple=True,
    metavar="NAME",
    help="Add a section of an installed package to the report; can be given several times.",
)
