"""``proctor validate``: the no-op must fail, the reference must pass, and no check may be flaky.

Trying the base and the reference several times finds flaky checks and derives the lists of tests. The coverage of
altered tests is printed here, too.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import click

from proctor.author.contract_edit import set_ids
from proctor.author.flaky_tests import Derived, Screened, derive, screen, survey
from proctor.author.patch_trial import ready
from proctor.author.suite_versions import drop_flagged, suite_id, trail_problem
from proctor.author.task_complexity import complexity
from proctor.author.validation import PassingOnBase, Rehearsal, all_pass_on_base, validate_contracts
from proctor.base.dataclass_fields import field_items
from proctor.base.errors import UsageFault
from proctor.base.json_records import to_json
from proctor.cli.exit_codes import UNDECIDED, print_undecided
from proctor.cli.options import judge_slots_option
from proctor.cli.output import as_json, counted, print_json, print_table, printable, shortened
from proctor.cli.progress import Attempts, progress_of
from proctor.cli.run import why
from proctor.cli.terminal import echo, painted
from proctor.cli.wiring import machine
from proctor.conduct.machine_setup import Machine
from proctor.conduct.reference_patch import reference_patch
from proctor.contract.load import load_contract
from proctor.contract.model import Contract
from proctor.judge.checks.inverted_tests.variant_pool import ENOUGH, ENOUGH_KINDS, WHOLE_CHECK, Coverage
from proctor.present.protected_file_changes import changes_to_the_runner, lost_changes
from proctor.record.report_model import Report

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


MOST_TESTS = 5


@dataclass(frozen=True)
class Surveyed:
    """What was learnt about one contract. ``flagged`` are flaky checks of the primary suite that are still in it."""

    contract: Contract
    screened: tuple[Screened, ...]
    derived: tuple[Derived, ...]
    written: tuple[str, ...]
    flagged: tuple[Screened, ...]
    suite: Mapping[str, Any]

    def record(self) -> dict[str, Any]:
        """All of it as data."""
        flakes = [
            {**dict(field_items(one)), "bound": f"{one.bound:.6f}", "words": one.words()} for one in self.screened
        ]
        for row in flakes:
            row["tests"], row["unlisted"] = list(row["tests"]), list(row["unlisted"])
        lists = [{name: list(v) if isinstance(v, tuple) else v for name, v in field_items(one)} for one in self.derived]
        fields = {"contract": self.contract.name, "flakes": flakes, "derived": lists, "written": list(self.written)}
        return {**fields, "suite": dict(self.suite)}


def survey_contract(
    machine: Machine,
    path: Path,
    times: int,
    jobs: int,
    *,
    flakes: bool,
    lists: bool,
    write: bool,
    drop: str,
    quiet: bool,
) -> Surveyed:
    """Try the two trees of a contract and return the results; write the requested changes."""
    contract = load_contract(path)
    attempts = Attempts(f"{contract.name}: attempts at base and reference", quiet=quiet)
    with ready(machine, contract) as prepared:
        with machine.scratch("reference") as scratch:
            reference = reference_patch(prepared, scratch)
        observed = survey(machine, prepared, reference, times, jobs, lambda: attempts.one_more(2 * times))
    derived = derive(contract, observed) if lists else ()
    screened = screen(contract, observed) if flakes else ()
    flagged = tuple(one for one in screened if one.flagged and one.primary)
    written = _write_back(contract, derived) if write else ()
    now = load_contract(path) if written else contract
    suite: Mapping[str, Any] = {"id": suite_id(now), "problem": trail_problem(now)}
    if drop and flagged:
        suite, flagged = {**drop_flagged(contract, flagged, drop), "problem": ""}, ()
    return Surveyed(contract, screened, derived, written, flagged, suite)


def _write_back(contract: Contract, derived: tuple[Derived, ...]) -> tuple[str, ...]:
    """Write the lists that differ from the declared ones; returns the files.

    The contract is read again for each list: a list may be a key that the file did not have. Nothing is written if
    the attempts show nothing about the tests of one check.
    """
    for one in derived:
        if one.problem:
            hint = "fix the check or the reference first; the lists are unchanged"
            raise UsageFault(f"nothing is derived for {one.check}: {one.problem}", where=contract.name, hint=hint)
    written = []
    for one in derived:
        for field in ("must_pass", "keep_passing"):
            contract = load_contract(contract.directory)
            check = next(check for check in contract.checks if check.id == one.check)
            ids = getattr(one, field)
            if set(ids) != set(getattr(check, field)):
                written.append(set_ids(contract, check, field, ids).name)
    return tuple(written)


def print_survey(seen: Surveyed) -> None:
    """The survey for people."""
    name = printable(seen.contract.name)
    _print_lists(name, seen)
    if any(_differs(seen, one) for one in seen.derived) and not seen.written:
        click.echo(f"{name}: --derive --write puts the derived lists into the contract")
    for file in seen.written:
        click.echo(f"{name}: wrote {file}")
    if seen.screened:
        rows = [
            [
                *(name, one.check, "FLAKY" if one.flagged else "stable"),
                *(one.words(), "yes" if one.order_varied else "seeds only"),
            ]
            for one in seen.screened
        ]
        print_table(["CONTRACT", "CHECK", "SCREEN", "WHY", "ORDER VARIED"], rows)
    for one in seen.screened:
        if one.tests:
            click.echo(printable(f"{name}: {one.check}: flaky tests: {_some(one.tests)}"))
        if one.unlisted:
            click.echo(printable(f"{name}: {one.check}: flaky, but not listed: {_some(one.unlisted)}"))
    for one in seen.flagged:
        message = f"{name}: {one.check} is flaky and cannot be in the primary suite: fix it, or use --drop-flaky REASON"
        click.echo(printable(message))
    if seen.suite.get("parent"):
        click.echo(f"{name}: suite {seen.suite['id']} follows {seen.suite['parent']}")
    if seen.suite["problem"]:
        click.echo(f"{name}: {seen.suite['problem']}")


def _differs(seen: Surveyed, one: Derived) -> bool:
    """Whether something was derived that is not what the contract declares."""
    check = next(check for check in seen.contract.checks if check.id == one.check)
    lists = ("must_pass", "keep_passing")
    return not one.problem and any(set(getattr(one, name)) != set(getattr(check, name)) for name in lists)


def _print_lists(name: str, seen: Surveyed) -> None:
    for one in seen.derived:
        if one.problem:
            click.echo(printable(f"{name}: {one.check}: nothing is derived: {one.problem}"))
            continue
        check = next(check for check in seen.contract.checks if check.id == one.check)
        for field in ("must_pass", "keep_passing"):
            ids, declared = set(getattr(one, field)), set(getattr(check, field))
            more, less = len(ids - declared), len(declared - ids)
            differs = f"{more} not declared, {less} declared and not derived" if more or less else "as declared"
            click.echo(f"{name}: {one.check}: {field}: {len(ids)} derived, {differs}")
        if one.unsteady:
            click.echo(printable(f"{name}: {one.check}: left out as flaky: {_some(one.unsteady)}"))
        if one.omitted:
            click.echo(f"{name}: {one.check}: {one.omitted} more tests are not listed")


def _some(tests: tuple[str, ...]) -> str:
    more = len(tests) - MOST_TESTS
    return ", ".join(tests[:MOST_TESTS]) + (f" and {more} more" if more > 0 else "")


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

    Actions of the checks themselves that a policy would report (such as looking up a host name, or writing outside the
    tree) are recorded, and do not count against agents that do the same.
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
        fields = {
            "surveys": [seen.record() for seen in surveys],
            "complexity": _sizes(here, found.contracts, found.seconds),
        }
        fields["inverted"] = [
            {"contract": found.contracts[path].name, **one.record()}
            for path, several in found.inverted.items()
            for one in several
        ]
        fields["must_pass_on_base"] = [
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
        print_json({"runs": rows, "valid": valid, "undecided": len(undecided) + len(found.errors), **fields})
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
        for message, run in {_wrong(row): row["run"] for row in wrong}.items():
            click.echo(printable(f"{message}; proctor show {run}"))
        answer, colon, reasons = _verdict(len(wrong), flaky, vacuous, len(undecided), len(found.errors)).partition(":")
        echo(f"{painted(answer)}{colon}{reasons}")
    for message, row in {row["why"]: row for row in undecided}.items():
        print_undecided(row["run"], row["contract"], message)
    return code or (1 if wrong or flaky or vacuous else 0)


def _row(run: Rehearsal) -> dict[str, Any]:
    report = run.report
    return {
        "run": run.run,
        "contract": report.contract.name,
        "agent": run.agent,
        "status": run.status,
        "attribution": report.attribution,
        "wanted": run.wanted,
        "why": why(report),
        "restored": [to_json(one) for one in report.restored],
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
    """The results of the two trees of every contract; printed at once, or as JSON at the end."""
    found = []
    for path in contracts:
        options = {"flakes": flakes is not None, "lists": lists, "write": write}
        seen = survey_contract(here, path, flakes or times, jobs, **options, drop=drop, quiet=json_)
        if not json_:
            print_survey(seen)
        found.append(seen)
    return found


def _wrong(row: Mapping[str, Any]) -> str:
    """A wrong outcome with the full reason, which the table cuts."""
    return f"{row['contract']}: {row['agent']} must be a {row['wanted']} but is a {row['status']}: {row['why']}"


def _warnings(agent: str, report: Report) -> Iterator[str]:
    """What an author should know about a run of the reference, whatever its status."""
    if agent == "reference":
        yield from lost_changes(report.restored)
        yield from changes_to_the_runner(report.checks)


def _print_on_base(contract: str, several: Sequence[PassingOnBase]) -> None:
    """Print the must_pass tests that pass on the base, and what to do about them."""
    head = contract if all_pass_on_base(several) else f"warning: {contract}"
    for one in several:
        if one.passing:
            count = f"{len(one.passing)} of {one.tests} must_pass tests pass on the base and do not test the fix"
            advice = "move them to keep_passing, or list tests that fail on the base"
            click.echo(printable(f"{head}: check {one.check}: {count}: {named(one.passing)}; {advice}"))


def _verdict(wrong: int, flaky: int, vacuous: int, undecided: int, unready: int) -> str:
    """The answer in one line: not valid if something is wrong, undecided if something has no verdict."""
    reasons = [f"{counted(wrong, 'run')} with a wrong outcome"] if wrong else []
    reasons += [f"{counted(flaky, 'check')} cannot be in the primary suite"] if flaky else []
    reasons += [f"{counted(vacuous, 'contract')} without a must_pass test that fails on the base"] if vacuous else []
    unknown = [f"{counted(undecided, 'run')} got no verdict on this machine"] if undecided else []
    unknown += [f"{counted(unready, 'contract')} could not be run"] if unready else []
    answer = "not valid" if reasons else "undecided" if unknown else "valid"
    return f"{answer}: {', '.join([*reasons, *unknown])}" if reasons or unknown else answer
