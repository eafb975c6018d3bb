"""What ``validate`` learns by trying the base and the reference again and again: flaky checks and derived lists."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import click

from proctor.author.edit import set_ids
from proctor.author.flakes import Derived, Screened, derive, screen, survey
from proctor.author.suite import drop_flagged, suite_id, untold
from proctor.author.trial import ready
from proctor.base.errors import UsageFault
from proctor.base.fields import items
from proctor.cli.output import print_table, printable
from proctor.cli.progress import Attempts
from proctor.conduct.machine import Machine
from proctor.conduct.reference import reference_patch
from proctor.contract.load import load_contract
from proctor.contract.model import Contract

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
        flakes = [{**dict(items(one)), "bound": f"{one.bound:.6f}", "words": one.words()} for one in self.screened]
        for row in flakes:
            row["tests"], row["unlisted"] = list(row["tests"]), list(row["unlisted"])
        lists = [{name: list(v) if isinstance(v, tuple) else v for name, v in items(one)} for one in self.derived]
        told = {"contract": self.contract.name, "flakes": flakes, "derived": lists, "written": list(self.written)}
        return {**told, "suite": dict(self.suite)}


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
    """Try the two trees of a contract and say what comes of it; write back what was asked for."""
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
    suite: Mapping[str, Any] = {"id": suite_id(now), "problem": untold(now)}
    if drop and flagged:
        suite, flagged = {**drop_flagged(contract, flagged, drop), "problem": ""}, ()
    return Surveyed(contract, screened, derived, written, flagged, suite)


def _write_back(contract: Contract, derived: tuple[Derived, ...]) -> tuple[str, ...]:
    """Write the lists that differ from the declared ones; where they were written.

    The contract is read again for each list: a list may be a key that the file did not have. Nothing is written where
    the attempts tell nothing of the tests of one check.
    """
    for one in derived:
        if one.problem:
            hint = "mend the check or the reference first; the lists stay as they are"
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
                *(name, one.check, "FLAKY" if one.flagged else "steady"),
                *(one.words(), "yes" if one.order_varied else "seeds only"),
            ]
            for one in seen.screened
        ]
        print_table(["CONTRACT", "CHECK", "SCREEN", "WHY", "ORDER VARIED"], rows)
    for one in seen.screened:
        if one.tests:
            click.echo(printable(f"{name}: {one.check}: unsteady tests: {_some(one.tests)}"))
        if one.unlisted:
            click.echo(printable(f"{name}: {one.check}: unsteady, but not listed: {_some(one.unlisted)}"))
    for one in seen.flagged:
        words = f"{name}: {one.check} is flaky and cannot be in the primary suite: mend it, or --drop-flaky REASON"
        click.echo(printable(words))
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
            click.echo(printable(f"{name}: {one.check}: left out as unsteady: {_some(one.unsteady)}"))
        if one.omitted:
            click.echo(f"{name}: {one.check}: {one.omitted} tests were too many to be told")


def _some(tests: tuple[str, ...]) -> str:
    more = len(tests) - MOST_TESTS
    return ", ".join(tests[:MOST_TESTS]) + (f" and {more} more" if more > 0 else "")
