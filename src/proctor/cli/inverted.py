"""Print which tests of a contract have variants."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import click

from proctor.cli.output import printable
from proctor.judge.inverted.pool import ENOUGH, ENOUGH_KINDS, WHOLE_CHECK, Coverage

MOST_NAMED = 5


def print_coverage(name: str, several: Iterable[Coverage]) -> None:
    """One line for each check, and one for each sort of tests that are not well covered."""
    for one in several:
        place = f"{name}: inverted tests: {one.check}"
        if one.problem:
            click.echo(printable(f"{place}: none: {one.problem}"))
            continue
        enough = f"{one.covered} of {one.tests} must_pass tests have at least {ENOUGH} variants of {ENOUGH_KINDS} kinds"
        whole = f"{one.variants} variants make the check fail as a whole"
        click.echo(printable(f"{place}: {whole if one.whole else f'{enough} ({one.variants} in all)'}"))
        without = [test for test in one.without if test != WHOLE_CHECK]
        if without:
            click.echo(printable(f"{place}: tests without a variant that depends on the code: {named(without)}"))
        rare = [test for test in one.rare if test not in (*without, WHOLE_CHECK)]
        if rare:
            click.echo(printable(f"{place}: tests whose variants code could recognise by their form: {named(rare)}"))


def named(tests: Sequence[str]) -> str:
    """The first of ``tests``, on one line."""
    return ", ".join(tests[:MOST_NAMED]) + (", ..." if len(tests) > MOST_NAMED else "")
