"""Ids of instances and of tests in SWE-bench, and the two lists of tests that a contract becomes.

The parser of SWE-bench cuts a test id at the first blank. So an id with a blank, or with a character that is not
printable, is written with percent escapes, and the two lists have the same form. A check without listed tests is one
test with an id of its own. If several checks have lists, the id of the check comes first.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from urllib.parse import quote

from proctor.base.errors import UsageFault
from proctor.contract.model import Check, Contract

OWNER = "proctor"
CHECK = "check::"
"""The beginning of the id of a check that is judged as a whole."""

FAIL_TO_PASS, PASS_TO_PASS = "FAIL_TO_PASS", "PASS_TO_PASS"
_SAFE = "/:[]-_.,;=+*<>(){}!?&#@'\"|\\^`$~"


@dataclass(frozen=True)
class ListedTest:
    """A test of one of the two lists: its check, its id there (empty for the whole check), and its id in the list."""

    check: str
    test: str
    id: str
    kind: str


def instance_id(contract: str) -> str:
    """The id of the instance of a contract."""
    return f"{OWNER}__{contract}"


def needs_escapes(test: str) -> bool:
    """Whether the parser of SWE-bench would not read ``test`` as one word."""
    return not test or any(sign.isspace() or not sign.isprintable() for sign in test)


def escaped(test: str) -> str:
    """``test`` as one printable word; unchanged if it is one."""
    return quote(test, safe=_SAFE, errors="surrogatepass") if needs_escapes(test) else test


def judged_checks(contract: Contract) -> tuple[Check, ...]:
    """The checks that decide in an exported task: those that are mandatory and not empty."""
    return tuple(check for check in contract.checks if check.mandatory and not check.no_op)


def listed_tests(contract: Contract) -> tuple[ListedTest, ...]:
    """The tests that decide on an instance, in the order of the contract."""
    checks = judged_checks(contract)
    several = sum(bool(check.must_pass or check.keep_passing) for check in checks) > 1
    found: list[ListedTest] = []
    for check in checks:
        prefix = f"{check.id}::" if several else ""
        for tests, kind in ((check.must_pass, FAIL_TO_PASS), (check.keep_passing, PASS_TO_PASS)):
            found += [ListedTest(check.id, test, escaped(f"{prefix}{test}"), kind) for test in dict.fromkeys(tests)]
        whole = not (check.must_pass or check.keep_passing)
        if whole or (check.gate == "acceptance" and not check.must_pass):
            kind = FAIL_TO_PASS if check.gate == "acceptance" else PASS_TO_PASS
            found.append(ListedTest(check.id, "", f"{CHECK}{check.id}", kind))
    twice = [name for name, count in Counter(test.id for test in found).items() if count > 1]
    if twice:
        raise UsageFault(
            f"two tests have the same id in SWE-bench: {twice[0]}",
            where=contract.name,
            hint="rename one of the tests, or leave it out of the lists",
        )
    return tuple(found)
