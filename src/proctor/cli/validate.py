"""``proctor validate``: the no-op must fail, the reference must pass, and no check may be flaky."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from proctor.author.on_base import OnBase, none_fails, passing_on_base
from proctor.author.trial import ready
from proctor.base.errors import InfrastructureFault
from proctor.cli.inverted import named, print_coverage
from proctor.cli.options import judge_slots_option
from proctor.cli.output import as_json, counted, print_json, print_table, printable, shortened
from proctor.cli.undecided import UNDECIDED, tell_undecided
from proctor.conduct.machine import Machine
from proctor.conduct.variants import remake_pool
from proctor.contract.model import Contract
from proctor.judge.inverted.pool import Coverage, coverage
from proctor.judge.status import is_machine_fault
from proctor.present.restored import changes_to_the_runner, lost_changes
from proctor.record.rundir import RunDirectory

if TYPE_CHECKING:
    from proctor.cli.surveys import Surveyed


@click.command(epilog="Example: proctor validate examples/parse-time-zone --times 3")
@click.argument("contracts", nargs=-1, required=True, type=click.Path(path_type=Path))
@click.option(
    "--times", type=click.IntRange(1, 1000), default=2, show_default=True, help="How often each of the two is run."
)
@click.option("--jobs", type=click.IntRange(1, 64), default=1, help="Runs side by side.")
@judge_slots_option
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
    judge_slots: int | None,
    flakes: int | None,
    drop: str | None,
    lists: bool,
    write: bool,
    json_: bool,
) -> int:
    """Run the no-op and the reference on CONTRACTS: every no-op a failure, every reference a success.

    A must_pass test that passes on the base does not test the fix. Such tests are listed; if no must_pass test fails on
    the base, the contract is not valid.

    Exits with 0 when CONTRACTS are valid, 1 when they are not, and 3 when this machine could not judge some of the
    runs, whatever the result of the others.

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

    here = machine(judge_slots)
    surveys: list[Surveyed] = []
    if lists or flakes is not None:
        surveys = _surveyed(here, contracts, flakes, times, jobs, lists, write, drop or "", json_)
    rows: list[dict[str, Any]] = []
    code = 0
    covered: dict[str, tuple[Coverage, ...]] = {}
    unready: dict[str, str] = {}
    seconds: dict[str, float] = {}
    bases: dict[str, list[Mapping[str, Any]]] = {}
    for agent, wanted in (("noop", "failure"), ("reference", "success")):
        plan = begin(here, contracts, [agent], repeats=times, settings={"rehearse": "yes", "command": "validate"})
        if agent == "reference":
            covered = _inverted(here, plan.contracts, unready)
        result = fill(here, plan, jobs, quiet=json_)
        for place, error in (*result.errors, *result.refused):
            code = max(code, error.exit_code)
            unready[place.contract] = str(error)
        for place, outcome in result.outcomes:
            report = outcome.report
            seconds[place.contract] = _seconds(report)
            run = RunDirectory(outcome.directory)
            if agent == "noop" and outcome.status in ("success", "failure") and run.results.is_file():
                bases.setdefault(place.contract, []).append(run.read_json(run.results))
            rows.append(
                {
                    "run": outcome.run_id,
                    "contract": report["contract"]["name"],
                    "agent": agent,
                    "status": outcome.status,
                    "attribution": report["attribution"],
                    "wanted": wanted,
                    "why": why(report),
                    "restored": report["restored"],
                    "warnings": list(_warnings(agent, report)),
                }
            )
        if result.stopped:
            return 3
    for contract, message in unready.items():
        click.echo(f"proctor: {contract}: {message}", err=True)
    undecided = [row for row in rows if is_machine_fault(row)]
    wrong = [row for row in rows if row["status"] != row["wanted"] and row not in undecided]
    code = max(code, UNDECIDED) if undecided else code
    on_base = {one.name: passing_on_base(one, bases.get(path, ())) for path, one in plan.contracts.items()}
    vacuous = sum(map(none_fails, on_base.values()))
    flaky = sum(len(seen.flagged) + bool(seen.suite["problem"]) for seen in surveys)
    if json_:
        told = {"surveys": [seen.record() for seen in surveys], "complexity": _sizes(here, plan.contracts, seconds)}
        told["inverted"] = [{"contract": name, **one.record()} for name, found in covered.items() for one in found]
        told["must_pass_on_base"] = [
            {"contract": name, "check": one.check, "passing": list(one.passing), "tests": one.tests}
            for name, found in on_base.items()
            for one in found
        ]
        valid = False if wrong or flaky or vacuous else None if code else True
        print_json({"runs": rows, "valid": valid, "undecided": len(undecided) + len(unready), **told})
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
        for name, found in covered.items():
            print_coverage(name, found)
        for name, seen in on_base.items():
            _print_on_base(name, seen)
        for warning in dict.fromkeys(f"{row['contract']}: {text}" for row in rows for text in row["warnings"]):
            click.echo(printable(f"warning: {warning}"))
        for words, run in {_wrong(row): row["run"] for row in wrong}.items():
            click.echo(printable(f"{words}; proctor show {run}"))
        click.echo(_verdict(len(wrong), flaky, vacuous, len(undecided), len(unready)))
    for words, row in {row["why"]: row for row in undecided}.items():
        tell_undecided(row["run"], row["contract"], words)
    return code or (1 if wrong or flaky or vacuous else 0)


def _inverted(
    here: Machine, contracts: Mapping[str, Contract], unready: Mapping[str, str]
) -> dict[str, tuple[Coverage, ...]]:
    """Make the inverted tests of every contract that could be run, and return their coverage."""
    found = {}
    for path, contract in contracts.items():
        if path not in unready and contract.reference is not None:
            # The runs of the reference try again, and report the fault if it stays.
            with suppress(InfrastructureFault), ready(here, contract) as prepared:
                found[contract.name] = coverage(contract, remake_pool(here, prepared))
    return found


def _seconds(report: Mapping[str, Any]) -> float:
    """How long the checks of a run took on the patched tree, one attempt each."""
    patched = ([one for one in check["attempts"] if one["tree"] == "patched"] for check in report["checks"])
    return sum(float(attempts[0]["observed_seconds"]) for attempts in patched if attempts)


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
