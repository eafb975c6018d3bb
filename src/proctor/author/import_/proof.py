"""Prove an imported contract at once: the base must be refused and the reference accepted, in the judge's sandbox.

The trial of the reference also shows which tests an id means that was cut off: all that begin so. Those that pass with
the reference are listed, under must_pass if they do not pass on the base.
"""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

from proctor.author.contract_edit import set_ids
from proctor.author.import_.import_record import Refused, shown
from proctor.author.patch_trial import ACCEPTED, REFUSED, Trial, ready, try_patch
from proctor.conduct.machine_setup import Machine
from proctor.conduct.reference_patch import reference_patch
from proctor.contract.load import load_contract
from proctor.contract.model import Check, Contract

PASSED = "passed"


def prove(machine: Machine, directory: Path, cut: tuple[str, ...] = ()) -> tuple[str, ...]:
    """Judge the base and the reference of a locked contract; return the cut ids that fit no test.

    Raises :class:`Refused` if the oracle does not hold, and an infrastructure fault if the machine kept it from
    a verdict.
    """
    contract = load_contract(directory)
    with ready(machine, contract) as prepared, machine.scratch("prove") as place:
        base = try_patch(machine, prepared, b"")
        gold = try_patch(machine, prepared, reference_patch(prepared, place))
    for trial, wanted, name in ((base, REFUSED, "the base"), (gold, ACCEPTED, "the reference")):
        verdict, check, why = trial.verdict(contract)
        if verdict != wanted:
            raise Refused("unproven", shown(f"{name} is {verdict}{f', by check {check}: {why}' if why else ''}"))
    return _mend(contract, base, gold, cut)


def _mend(contract: Contract, base: Trial, gold: Trial, cut: tuple[str, ...]) -> tuple[str, ...]:
    """List the tests whose ids begin with cut ids."""
    check = next(one for one in contract.checks if one.must_pass)
    before, after = base.checks[check.id].tests, gold.checks[check.id].tests
    if gold.checks[check.id].omitted or base.checks[check.id].omitted:
        return cut
    found = {one: [test for test in after if test.startswith(one) and after[test] == PASSED] for one in cut}
    tests = sorted({test for several in found.values() for test in several})
    _add(contract, check, "must_pass", (test for test in tests if before.get(test) != PASSED))
    contract = load_contract(contract.directory)
    again = next(one for one in contract.checks if one.id == check.id)
    _add(contract, again, "keep_passing", (test for test in tests if before.get(test) == PASSED))
    return tuple(one for one in cut if not found[one])


def _add(contract: Contract, check: Check, field: str, tests: Iterable[str]) -> None:
    listed: tuple[str, ...] = getattr(check, field)
    known = {*check.must_pass, *check.keep_passing}
    more = tuple(test for test in tests if test not in known)
    if more:
        set_ids(contract, check, field, (*listed, *more))
