"""``proctor rubric``: the published rubric, its table for runs, and how much a ranking owes to the weights."""

from __future__ import annotations

from decimal import Decimal

import click

from proctor.base.dataclass_fields import field_items
from proctor.base.errors import UsageFault
from proctor.cli.exit_codes import require_evidence
from proctor.cli.options import complete_runs
from proctor.cli.output import as_json, examples, print_json, print_table, printable
from proctor.cli.wiring import run_store
from proctor.judge.scoring_rubric import RUBRIC, decimal_text, figure, mean_parts, ranking, rubric, sensitivity, table
from proctor.record.report_model import Report, read_report


@click.command(epilog=examples("rubric", "rubric --csv last > table.csv", "rubric --sensitivity RUN RUN"))
@click.argument("runs", shell_complete=complete_runs, nargs=-1)
@click.option("--csv", "csv_", is_flag=True, help="Print the table for reviewers, with a row for each of RUNS.")
@click.option("--figure", "figure_", is_flag=True, help="Print gates and weights as an SVG.")
@click.option("--sensitivity", is_flag=True, help="Move each weight and compare the rankings of the agents of RUNS.")
@as_json
def command(runs: tuple[str, ...], csv_: bool, figure_: bool, sensitivity: bool, json_: bool) -> None:
    """Print the gates, weights and scores.

    The rubric has the gates, and the weights of the graded, the contract and the pilot score.
    """
    if csv_ + figure_ + sensitivity > 1:
        raise UsageFault("--csv, --figure and --sensitivity exclude each other", hint="give one of them")
    if runs and not (csv_ or sensitivity):
        raise UsageFault("runs were named without --csv or --sensitivity", hint="add one of these options")
    if figure_:
        click.echo(figure(rubric()), nl=False)
    elif csv_:
        click.echo(table(_reports(runs)), nl=False)
    elif sensitivity:
        _sensitivity(_reports(runs), json_)
    elif json_:
        print_json(rubric())
    else:
        click.echo(RUBRIC.read_text("utf-8"), nl=False)


def _reports(runs: tuple[str, ...]) -> list[Report]:
    found = []
    for name in runs:
        run = run_store().find(name)
        require_evidence(run)
        found.append(read_report(run))
    return found


def _sensitivity(reports: list[Report], json_: bool) -> None:
    means = mean_parts(reports)
    used = {report.score.rubric.weights for report in reports if report.score}
    if len(means) < 2:
        raise UsageFault(
            f"{len(means)} agents have runs that passed every gate, and a ranking needs two", hint="name more runs"
        )
    if len(used) > 1:
        raise UsageFault(
            "the contracts of these runs have different weights", hint="name runs of contracts with one rubric"
        )
    weights = {name: Decimal(value) for name, value in field_items(next(iter(used)))}
    parts = {agent: one for agent, (one, _) in means.items()}
    scores = ranking(parts, weights)
    rows = sensitivity(parts, weights)
    if json_:
        print_json(
            {
                "agents": {
                    agent: {"score": decimal_text(scores[agent]), "runs": count} for agent, (_, count) in means.items()
                },
                "moved": [
                    {
                        "weight": row.weight,
                        "by": row.by,
                        "weights": dict(row.weights),
                        "tau_b": None if row.tau is None else decimal_text(row.tau),
                        "same_first": row.same_first,
                    }
                    for row in rows
                ],
            }
        )
        return
    listed = [[printable(agent), decimal_text(scores[agent]), str(count)] for agent, (_, count) in means.items()]
    print_table(["AGENT", "GRADED SCORE", "RUNS THAT PASSED"], listed)
    table = [
        [
            row.weight,
            row.by,
            "undefined: a ranking without order" if row.tau is None else decimal_text(row.tau),
            "same" if row.same_first else "another",
        ]
        for row in rows
    ]
    print_table(["WEIGHT", "MOVED BY", "TAU-B", "FIRST"], table)
