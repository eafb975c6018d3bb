"""``proctor compare``: why runs cannot be compared, and their outcomes."""

from __future__ import annotations

from collections import Counter

import click

from proctor.base.errors import UsageFault
from proctor.cli.options import complete_runs
from proctor.cli.output import as_json, print_json, print_table, printable
from proctor.cli.wiring import run_store
from proctor.conduct.run_comparison import Side, compare

VARIED = (
    "contract",
    "repository",
    "environment",
    "toolchain",
    "budget",
    "policy",
    "prices",
    "harness",
    "seeds",
    "model",
)
SHOWN = 44
"""How much of a value a table shows; ``--json`` has all of it."""


@click.command(epilog="Example: proctor compare 20260307T120000 20260307T130000 --vary model")
@click.argument("runs", shell_complete=complete_runs, nargs=-1, required=True)
@click.option(
    "--vary",
    multiple=True,
    type=click.Choice(VARIED),
    help="What may differ in addition to the agent; can be given several times.",
)
@as_json
def command(runs: tuple[str, ...], vary: tuple[str, ...], json_: bool) -> int:
    """List the differences between runs, and their results.

    Each of RUNS is compared with the first, field by field. Runs are comparable when contract, repository, environment,
    toolchain, budget, policy, prices, harness, seeds and model agree; the agent may differ. If the runs are not
    comparable, the exit code is 1 and their results are not summed. A run that is given twice, or a copy of it, is
    reported and counts once.
    """
    if len(runs) < 2:
        raise UsageFault("one run cannot be compared", hint="give two or more")
    sides, comparable = compare([run_store().find(name) for name in runs], vary)
    counts = dict(sorted(Counter(side.status for side in sides if not side.repeats).items()))
    repeated = sorted({side.run for side in sides if side.repeats})
    if json_:
        print_json(
            {
                "comparable": comparable,
                "varied": list(vary),
                "repeated": repeated,
                "runs": [_record(side, vary) for side in sides],
                "counts": counts if comparable else None,
            }
        )
        return 0 if comparable else 1
    rows = [
        [_group(item.group, item.decides, vary), side.run, item.path, _cut(item.one), _cut(item.other)]
        for side in sides
        for item in side.differences
    ]
    if rows:
        print_table(["GROUP", "RUN", "FIELD", "FIRST", "THIS"], [[printable(cell) for cell in row] for row in rows])
        click.echo()
    checks = list(dict.fromkeys(check for side in sides for check in side.checks))
    outcomes = [
        [side.run, side.agent, side.model, side.status, *(side.checks.get(check, "-") for check in checks)]
        for side in sides
    ]
    head = ["RUN", "AGENT", "MODEL", "STATUS", *checks]
    print_table(head, [[printable(cell) for cell in row] for row in outcomes])
    for run in repeated:
        click.echo(printable(f"the same run: {run} is given more than once, and counts once"))
    if comparable:
        click.echo("comparable: " + ", ".join(f"{count} {status}" for status, count in counts.items()))
    else:
        click.echo("NOT comparable, because of the differences without brackets: the results are not summed")
    return 0 if comparable else 1


def _cut(value: str) -> str:
    """The beginning of a value, marked if it is cut; ``--json`` has all of it."""
    return value if len(value) <= SHOWN else f"{value[: SHOWN - 3]}..."


def _group(group: str, decides: bool, vary: tuple[str, ...]) -> str:
    return group if decides and group not in vary else f"({group})"


def _record(side: Side, vary: tuple[str, ...]) -> dict[str, object]:
    return {
        "run": side.run,
        "agent": side.agent,
        "model": side.model,
        "status": side.status,
        "gates": dict(side.gates),
        "checks": dict(side.checks),
        "differences": [
            {
                "group": item.group,
                "path": item.path,
                "first": item.one,
                "this": item.other,
                "decides": item.decides and item.group not in vary,
            }
            for item in side.differences
        ],
    }
