"""``proctor validate``: the no-op must fail, the reference must pass, and no check may be flaky."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import click

from proctor.author.complexity import complexity
from proctor.author.on_base import OnBase, none_fails
from proctor.author.validation import Rehearsal, validate_contracts
from proctor.cli.inverted import named, print_coverage
from proctor.cli.options import judge_slots_option
from proctor.cli.output import as_json, counted, print_json, print_table, printable, shortened
from proctor.cli.progress import progress_of
from proctor.cli.run import why
from proctor.cli.surveys import Surveyed, print_survey, survey_contract
from proctor.cli.terminal import echo, painted
from proctor.cli.undecided import UNDECIDED, tell_undecided
from proctor.cli.wiring import machine
from proctor.conduct.machine import Machine
from proctor.contract.model import Contract
from proctor.present.restored import changes_to_the_runner, lost_changes


@click.command(epilog="Example: proctor validate examples/parse-time-zone --times 3")
@click.argument("contracts", nargs=-1, required=True, type=click.Path(path_type=Path))
@click.option("--times", type=click.IntRange(1, 1000), default=2, show_default=True, help="Runs of each of the two.")
@click.option("--jobs", type=click.IntRange(1, 64), default=1, show_default=True, help="Parallel runs.")
@judge_slots_option
@click.option(
    "--flakes",
    type=click.IntRange(2, 10_000),
    metavar="N",
    help="Run the checks N times on base and reference, in varied order and with varied seeds; refuse flaky checks.",
)
@click.option(
    "--drop-flaky",
    "drop",
    metavar="REASON",
    default=None,
    help="Remove flaky checks from the suite, for this recorded reason.",
)
@click.option(
    "--derive", "lists", is_flag=True, help="Derive must_pass and keep_passing from runs on base and reference."
)
@click.option("--write", is_flag=True, help="Write the derived lists into the contract.")
@as_json
def command(
    contracts: tuple[Path, ...],
    times: int,
    jobs: int,
    judge_slots: int | None,
    flakes: int | None,
    drop: str | None,
    lists: bool,
    write: bool,
    json_: bool,
) -> int:
    """Check that the no-op fails and the reference passes.

    Runs both on each of CONTRACTS. Every run of the no-op must be a failure, every run of the reference a success.

    A must_pass test that passes on the base does not test the fix. Such tests are listed; if no must_pass test fails on
    the base, the contract is not valid.

    Exits with 0 when CONTRACTS are valid, 1 when they are not, and 3 when this machine could not judge some of the
    runs, whatever the result of the others.

    What the checks themselves try (such as looking up a host name, or writing outside the tree) is recorded, and does
    not count against agents that try the same.
    """
    if write and not lists:
        raise click.UsageError("--write needs --derive")
    if drop is not None and flakes is None:
        raise click.UsageError("--drop-flaky needs --flakes")
    if drop is not None and not drop.strip():
        raise click.UsageError("--drop-flaky needs a reason")
    if drop is not None and write:
        raise click.UsageError("--write and --drop-flaky change the same lists; use one after the other")
    here = machine(judge_slots)
    surveys: list[Surveyed] = []
    if lists or flakes is not None:
        surveys = _surveyed(here, contracts, flakes, times, jobs, lists, write, drop or "", json_)
    found = validate_contracts(here, contracts, times, jobs, lambda plan: progress_of(plan, quiet=json_))
    if found.stopped:
        return 3
    rows = [_row(run) for run in found.runs]
    wrong = [row for row, run in zip(rows, found.runs, strict=True) if run.wrong]
    undecided = [row for row, run in zip(rows, found.runs, strict=True) if run.undecided]
    for contract, error in found.errors.items():
        click.echo(printable(f"proctor: {contract}: {error}"), err=True)
    code = max((error.exit_code for error in found.errors.values()), default=0)
    code = max(code, UNDECIDED) if undecided else code
    vacuous = len(found.vacuous)
    flaky = sum(len(seen.flagged) + bool(seen.suite["problem"]) for seen in surveys)
    if json_:
        told = {
            "surveys": [seen.record() for seen in surveys],
            "complexity": _sizes(here, found.contracts, found.seconds),
        }
        told["inverted"] = [
            {"contract": found.contracts[path].name, **one.record()}
            for path, several in found.inverted.items()
            for one in several
        ]
        told["must_pass_on_base"] = [
            {
                "contract": found.contracts[path].name,
                "check": one.check,
                "passing": list(one.passing),
                "tests": one.tests,
            }
            for path, several in found.on_base.items()
            for one in several
        ]
        valid = False if wrong or flaky or vacuous else None if code else True
        print_json({"runs": rows, "valid": valid, "undecided": len(undecided) + len(found.errors), **told})
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
        for path, covered in found.inverted.items():
            print_coverage(found.contracts[path].name, covered)
        for path, passing in found.on_base.items():
            _print_on_base(found.contracts[path].name, passing)
        for warning in dict.fromkeys(f"{row['contract']}: {text}" for row in rows for text in row["warnings"]):
            click.echo(printable(f"warning: {warning}"))
        for words, run in {_wrong(row): row["run"] for row in wrong}.items():
            click.echo(printable(f"{words}; proctor show {run}"))
        answer, colon, reasons = _verdict(len(wrong), flaky, vacuous, len(undecided), len(found.errors)).partition(":")
        echo(f"{painted(answer)}{colon}{reasons}")
    for words, row in {row["why"]: row for row in undecided}.items():
        tell_undecided(row["run"], row["contract"], words)
    return code or (1 if wrong or flaky or vacuous else 0)


def _row(run: Rehearsal) -> dict[str, Any]:
    report = run.report
    return {
        "run": run.run,
        "contract": report["contract"]["name"],
        "agent": run.agent,
        "status": run.status,
        "attribution": report["attribution"],
        "wanted": run.wanted,
        "why": why(report),
        "restored": report["restored"],
        "warnings": list(_warnings(run.agent, report)),
    }


def _sizes(here: Machine, contracts: Mapping[str, Contract], seconds: Mapping[str, float]) -> list[dict[str, Any]]:
    """How large the tasks are, with the time that their checks took in the last run."""
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


def _warnings(agent: str, report: Mapping[str, Any]) -> Iterator[str]:
    """What an author should know about a run of the reference, whatever its status."""
    if agent == "reference":
        yield from lost_changes(report["restored"])
        yield from changes_to_the_runner(report["checks"])


def _print_on_base(contract: str, several: Sequence[OnBase]) -> None:
    """Print the must_pass tests that pass on the base, and what to do about them."""
    head = contract if none_fails(several) else f"warning: {contract}"
    for one in several:
        if one.passing:
            count = f"{len(one.passing)} of {one.tests} must_pass tests pass on the base and do not test the fix"
            advice = "move them to keep_passing, or list tests that fail on the base"
            click.echo(printable(f"{head}: check {one.check}: {count}: {named(one.passing)}; {advice}"))


def _verdict(wrong: int, flaky: int, vacuous: int, undecided: int, unready: int) -> str:
    """The answer in one line: not valid if something is wrong, undecided if something has no verdict."""
    reasons = [f"{counted(wrong, 'run')} came out wrong"] if wrong else []
    reasons += [f"{counted(flaky, 'check')} cannot be in the primary suite"] if flaky else []
    reasons += [f"{counted(vacuous, 'contract')} without a must_pass test that fails on the base"] if vacuous else []
    unknown = [f"{counted(undecided, 'run')} got no verdict on this machine"] if undecided else []
    unknown += [f"{counted(unready, 'contract')} could not be run"] if unready else []
    answer = "not valid" if reasons else "undecided" if unknown else "valid"
    return f"{answer}: {', '.join([*reasons, *unknown])}" if reasons or unknown else answer
