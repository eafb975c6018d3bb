"""``proctor strength``: how many faults in the known solution a contract's checks notice."""

from __future__ import annotations

from pathlib import Path

import click

from proctor.author.oracle_strength import Strength, Verdict, measure, read_equivalent
from proctor.author.patch_trial import ready
from proctor.cli.options import judge_slots_option
from proctor.cli.output import as_json, print_json, print_table, printable
from proctor.cli.progress import Attempts
from proctor.cli.validate import print_coverage
from proctor.cli.wiring import machine
from proctor.conduct.inverted_pools import ensure_pool
from proctor.conduct.reference_patch import reference_patch
from proctor.contract.load import load_contract
from proctor.judge.checks.inverted_tests.variant_pool import coverage

EQUIVALENT_NAME = "equivalent.txt"


@click.command(epilog="Example: proctor strength examples/jsonpointer-missing-key --limit 40 --jobs 2")
@click.argument("contract", type=click.Path(path_type=Path))
@click.option(
    "--limit", type=click.IntRange(1, 100_000), default=100, show_default=True, help="Maximum number of mutants to try."
)
@click.option(
    "--seed", type=click.IntRange(0), default=20260307, show_default=True, help="Seed of the random choice of mutants."
)
@click.option(
    "--jobs", type=click.IntRange(1, 64), default=1, show_default=True, help="Mutants that are judged in parallel."
)
@judge_slots_option
@click.option(
    "--results",
    type=click.Path(path_type=Path),
    help="A file for the results so far, so that a later call can continue.",
)
@click.option(
    "--equivalent",
    type=click.Path(path_type=Path, exists=True, dir_okay=False),
    help=f"A list of mutants that are not faults.  [default: {EQUIVALENT_NAME} next to the contract]",
)
@as_json
def command(
    contract: Path,
    limit: int,
    seed: int,
    jobs: int,
    judge_slots: int | None,
    results: Path | None,
    equivalent: Path | None,
    json_: bool,
) -> int:
    """Measure how many faults the checks of a contract notice.

    Mutants of the reference of CONTRACT each contain one fault. Adversaries that solve nothing (they delete tests, skip
    them, special-case inputs or hard-code outputs) must all be rejected; alternative solutions must all be accepted.
    Exits with 1 if one of these is judged wrongly. Surviving mutants do not change the exit code.
    """
    loaded = load_contract(contract)
    beside = loaded.directory / EQUIVALENT_NAME
    file = equivalent or (beside if beside.is_file() else None)
    same = read_equivalent(file) if file else {}
    here = machine(judge_slots)
    with ready(here, loaded) as prepared:
        with here.scratch("reference") as scratch:
            reference = reference_patch(prepared, scratch)
        pool = ensure_pool(here, prepared)
        found = measure(
            *(here, prepared, reference, pool),
            limit=limit,
            seed=seed,
            jobs=jobs,
            results=results,
            equivalent=same,
            tell=Attempts(f"{loaded.name}: attempts at the checks", quiet=json_).tell,
        )
    covered = coverage(loaded, pool)
    if json_:
        inverted = [one.record() for one in covered]
        print_json({"contract": loaded.name, "seed": seed, "limit": limit, **found.record(), "inverted": inverted})
    else:
        _print(loaded.name, found)
        print_coverage(loaded.name, covered)
    not_accepted = [one for one in found.tried("alternative") if not one.accepted]
    return 1 if found.passed_adversaries or not_accepted else 0


def _print(name: str, found: Strength) -> None:
    click.echo(printable(f"{name}: {found.planned} mutants, {len(found.tried('mutant'))} tried"))
    rows = [
        [category, str(missed.of), str(missed.of - missed.count), missed.words()]
        for category, missed in found.false_negatives().items()
    ]
    print_table(["FAULT", "TRIED", "CAUGHT", "ACCEPTED, WITH 95 % INTERVAL"], rows)
    for one in found.survivors:
        click.echo(printable(f"survivor {_place(one)}"))
        click.echo(printable(one.diff))
    for one in found.undecided("mutant"):
        click.echo(printable(f"no verdict {_place(one)}: {one.by}: {one.why}"))
    for one in found.equivalent:
        click.echo(printable(f"left out {_place(one)}: {one.why}"))
    for name in found.unknown:
        click.echo(printable(f"listed as equivalent, but not a mutant: {name}"))
    _print_others(found)
    click.echo(f"caught {found.caught().words()}; patch {found.caught(scope='patch').words()}", nl=False)
    click.echo(f"; alternatives refused {found.false_positives().words()}" if found.tried("alternative") else "")
    click.echo(
        f"without a verdict, and not counted in these shares: {len(found.undecided('mutant'))} mutants", nl=False
    )
    click.echo(f"; left out because the author listed them as equivalent: {len(found.equivalent)}")


def _print_others(found: Strength) -> None:
    """What became of the adversaries and the alternatives."""
    for one in found.tried("adversary"):
        click.echo(printable(f"adversary {one.category}: {_said(one)} ({one.diff})"))
    for foe in found.not_made:
        click.echo(printable(f"adversary {foe.name}: not made: {foe.why_not}"))
    for one in found.tried("alternative"):
        click.echo(printable(f"alternative {one.path}: {_said(one)}{'' if one.accepted else f': {one.why}'}"))


def _place(one: Verdict) -> str:
    return f"{one.id} ({one.category}, in a {one.scope}) {one.path}:{one.line}"


def _said(one: Verdict) -> str:
    """The verdict, in capitals where it is the wrong one."""
    word = one.verdict.upper() if one.accepted == (one.kind == "adversary") else one.verdict
    return f"{word} by {one.by}" if one.by else word
