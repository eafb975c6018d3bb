"""Errors say what, where and what next, and each kind has its exit code."""

from __future__ import annotations

import pytest

from proctor.base.errors import (
    BrokenSeal,
    BudgetExceeded,
    ContractError,
    InfrastructureFault,
    MissingIsolation,
    Mistake,
    ProctorError,
    UsageFault,
)


@pytest.mark.parametrize(
    ("kind", "code"),
    [(UsageFault, 2), (InfrastructureFault, 3), (MissingIsolation, 3), (BudgetExceeded, 3), (BrokenSeal, 4)],
)
def test_exit_codes(kind: type[ProctorError], code: int) -> None:
    assert kind("words").exit_code == code
    assert issubclass(kind, ProctorError)


def test_no_error_has_the_exit_code_of_a_verdict() -> None:
    def kinds(kind: type[ProctorError]) -> list[type[ProctorError]]:
        return [kind, *(inner for one in kind.__subclasses__() for inner in kinds(one))]

    ours = [kind for kind in kinds(ProctorError) if kind.__module__.startswith("proctor.")]
    assert {kind.__name__: kind.exit_code for kind in ours if kind.exit_code not in (2, 3, 4)} == {}


def test_what_where_and_what_next() -> None:
    assert str(UsageFault("no such run")) == "no such run"
    assert str(UsageFault("no such run", where="abc")) == "abc: no such run"
    assert str(UsageFault("no such run", where="abc", hint="proctor runs")) == "abc: no such run\n  proctor runs"


def test_a_contract_error_holds_every_mistake() -> None:
    mistakes = [Mistake("c.yaml", 3, 7, "unknown key", "did you mean x?"), Mistake("c.lock", 0, 0, "is empty")]
    error = ContractError(iter(mistakes))
    assert error.exit_code == 2
    assert error.mistakes == tuple(mistakes)
    assert str(error) == "c.yaml:3:7: unknown key (did you mean x?)\nc.lock: is empty"
