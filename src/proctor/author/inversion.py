"""Remarks of ``lint`` on must_pass tests that inverted tests cannot confirm. They need a pool of variants."""

from __future__ import annotations

from proctor.conduct.variants import known_pool
from proctor.contract.digest import content_id
from proctor.contract.lint import Remark, remarks
from proctor.contract.model import Contract
from proctor.execute.home import Home
from proctor.judge.inverted.pool import WHOLE_CHECK, coverage

MOST_NAMED = 3


def remarks_on_variants(contract: Contract, home: Home) -> tuple[Remark, ...]:
    """One remark for each check with tests that have no variant; none if ``validate`` has not made a pool yet."""
    pool = known_pool(home, content_id(contract))
    if pool is None:
        return ()
    places = {check.id: number for number, check in enumerate(contract.checks)}
    found = []
    for one in coverage(contract, pool):
        if not one.without:
            continue
        if one.problem or one.without == (WHOLE_CHECK,):
            why = one.problem or "none of its tests could be altered"
            message = f"check {one.check!r}: no inverted tests: {why}"
        else:
            named = ", ".join(one.without[:MOST_NAMED]) + (", ..." if len(one.without) > MOST_NAMED else "")
            tests = f"{len(one.without)} of {one.tests} must_pass tests"
            message = f"check {one.check!r}: {tests} have no variant that depends on the code: {named}"
        found.append(("warning", ("checks", places[one.check], "must_pass"), message))
    return remarks(contract, found)
