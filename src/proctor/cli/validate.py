"""``proctor validate``: the no-op must fail, the reference must pass, and no check may be flaky."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from proctor.cli.output import as_json, counted, print_json, print_table, printable, shortened

if TYPE_CHECKING:
    from proctor.cli.surveys import Surveyed
    from proctor.conduct.machine import Machine
    from proctor.contract.model import Contract


@click.command(epilog="Example: proctor validate examples/parse-time-zone --times 3")
@click.argument("contracts", nargs=-1, required=True, type=click.Path(path_type=Path))
@click.option(
    "--times", type=click.IntRange(1, 1000), default=2, show_default=True, help="How often each of the two is run."
)
@click.option("--jobs", type=click.IntRange(1, 64), default=1, help="Runs side by side.")
@click.option(
    "--flakes",
    type=click.IntRange(2, 10_000),
    help="Try base and reference so often, with other seeds and orders; flaky checks are refused.",
)
@click.option(
    "--drop-flaky", "drop", metavar="REASON", default=None, help="Take what is flaky out of the suite, with a trail."
)
@click.option("--derive", "lists", is_flag=True, help="Derive must_pass and keep_passing from attempts on both trees.")
@click.option("--write", is_flag=True, help="Write the derived lists back.")
@as_json
def command(
    contracts: tuple[Path, ...],
    times: int,
    jobs: int,
    flakes: int | None,
    drop: str | None,
    lists: bool,
    write: bool,
    json_: bool,
) -> int:
    """Run the no-op and the reference on CONTRACTS: every no-op a failure, every reference a success.

    What the checks try meanwhile (a name that is looked up, a write outside the tree) is remembered, and does not count
    against agents that try the same.
    """
    if write and not lists:
        raise click.UsageError("--write needs --derive")
    if drop is not None and flakes is None:
        raise click.UsageError("--drop-flaky needs --flakes")
    if drop is not None and not drop.strip():
        raise click.UsageError("--drop-flaky needs a reason")
    if drop is not None and write:
        raise click.UsageError("--write and --drop-flaky change the same lists; use one after the other")
    from proctor.cli.batches import begin, fill
    from proctor.cli.run import why
    from proctor.cli.wiring import machine

    here = machine()
    surveys: list[Surveyed] = []
    if lists or flakes is not None:
        surveys = _surveyed(here, contracts, flakes, times, jobs, lists, write, drop or "", json_)
    rows: list[dict[str, Any]] = []
    code = 0
    unready: dict[str, str] = {}
    seconds: dict[str, float] = {}
    for agent, wanted in (("noop", "failure"), ("reference", "success")):
        plan = begin(here, contracts, [agent], repeats=times, settings={"rehearse": "yes", "command": "validate"})
        result = fill(here, plan, jobs, quiet=json_)
        for place, error in (*result.errors, *result.refused):
            code = max(code, error.exit_code)
            unready[place.contract] = str(error)
        for place, outcome in result.outcomes:
            report = outcome.report
            seconds[place.contract] = _seconds(report)
            rows.append(
                {
                    "run": outcome.run_id,
                    "contract": report["contract"]["name"],
                    "agent": agent,
                    "status": outcome.status,
                    "wanted": wanted,
                    "why": why(report),
                }
            )
        if result.stopped:
            return 3
    for contract, message in unready.items():
        click.echo(f"proctor: {contract}: {message}", err=True)
    wrong = [row for row in rows if row["status"] != row["wanted"]]
    flaky = sum(len(seen.flagged) + bool(seen.suite["problem"]) for seen in surveys)
    if json_:
        told = {"surveys": [seen.record() for seen in surveys], "complexity": _sizes(here, plan.contracts, seconds)}
        print_json({"runs": rows, "valid": not wrong and not code and not flaky, **told})
    else:
        head = ["CONTRACT", "AGENT", "STATUS", "WANTED", "WHY"]
        print_table(
            head,
            [
                [
                    printable(row["contract"]),
                    row["agent"],
                    row["status"],
                    row["wanted"],
                    shortened(printable(row["why"]), 80),
                ]
                for row in rows
            ],
        )
        for words, run in {_wrong(row): row["run"] for row in wrong}.items():
            click.echo(printable(f"{words}; proctor show {run}"))
        click.echo(_verdict(len(wrong), len(unready), flaky))
    return code or (1 if wrong or flaky else 0)


def _seconds(report: Mapping[str, Any]) -> float:
    """How long the checks of a run took on the patched tree, one attempt each."""
    attempts = (one for check in report["checks"] for one in check["attempts"])
    return sum(float(one["observed_seconds"]) for one in attempts if one["tree"] == "patched" and one["attempt"] == 1)


def _sizes(here: Machine, contracts: Mapping[str, Contract], seconds: Mapping[str, float]) -> list[dict[str, Any]]:
    """How large the tasks are, with the time that their checks took in the last run."""
    from proctor.author.complexity import complexity

    return [
        {"contract": contract.name, **complexity(contract, here.store, here.inputs, seconds.get(path)).record()}
        for path, contract in contracts.items()
    ]


def _surveyed(
    here: Machine,
    contracts: tuple[Path, ...],
    flakes: int | None,
    times: int,
    jobs: int,
    lists: bool,
    write: bool,
    drop: str,
    json_: bool,
) -> list[Surveyed]:
    """What trying the two trees of every contract shows; told at once, unless as JSON at the end."""
    from proctor.cli.surveys import print_survey, survey_contract

    found = []
    for path in contracts:
        options = {"flakes": flakes is not None, "lists": lists, "write": write}
        seen = survey_contract(here, path, flakes or times, jobs, **options, drop=drop, quiet=json_)
        if not json_:
            print_survey(seen)
        found.append(seen)
    return found


def _wrong(row: Mapping[str, Any]) -> str:
    """What came out wrong, with the whole reason, which the table cuts."""
    return f"{row['contract']}: {row['agent']} must be a {row['wanted']} and came out as {row['status']}: {row['why']}"


def _verdict(wrong: int, unready: int, flaky: int) -> str:
    reasons = [f"{counted(wrong, 'run')} came out wrong"] if wrong else []
    reasons += [f"{unready} contracts could not be run"] if unready else []
    reasons += [f"{flaky} checks cannot be in the primary suite"] if flaky else []
    return f"not valid: {', '.join(reasons)}" if reasons else "valid"
