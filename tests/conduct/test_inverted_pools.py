"""Pools of inverted tests are there whenever a run could need one."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from proctor.conduct import inverted_pools
from proctor.conduct.inverted_pools import ensure_pool, known_pool, remake_pool
from proctor.contract.model import Check
from proctor.execute.proctor_home import Home
from proctor.judge.checks.inverted_tests.variant_pool import CheckPool, Pool

Proctor = Callable[..., subprocess.CompletedProcess[str]]

ID = "sha256:" + "1" * 64
CHECK = Check(id="tests", gate="acceptance", run=("pytest",), results="pytest", must_pass=("t.py::test",))


def pool(problem: str) -> Pool:
    """A pool that can be told from others."""
    return Pool(ID, (CheckPool("tests", problem=problem),))


@pytest.fixture
def here(tmp_path: Path) -> Any:
    """A machine and a prepared contract, as far as pools need them."""
    contract = SimpleNamespace(name="small", reference=object(), checks=(CHECK,))
    return SimpleNamespace(home=Home(tmp_path)), SimpleNamespace(contract=contract, content_id=ID)


def test_a_pool_stays_in_use_while_it_is_made_again(here: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    machine, prepared = here
    monkeypatch.setattr(inverted_pools, "make_pool", lambda *_: pool("first"))
    notes: list[str] = []
    assert ensure_pool(machine, prepared, notes.append) == pool("first")
    assert notes == ["making inverted tests for small"]
    during: list[Pool | None] = []

    def make(*_: Any) -> Pool:
        during.append(known_pool(machine.home, ID))
        return pool("second")

    monkeypatch.setattr(inverted_pools, "make_pool", make)
    assert ensure_pool(machine, prepared, notes.append) == pool("first")
    assert remake_pool(machine, prepared) == pool("second")
    assert during == [pool("first")]
    assert known_pool(machine.home, ID) == pool("second")


def test_a_pool_that_cannot_be_made_again_is_kept(here: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    machine, prepared = here
    monkeypatch.setattr(inverted_pools, "make_pool", lambda *_: pool("first"))
    ensure_pool(machine, prepared)

    def fail(*_: Any) -> Pool:
        raise KeyboardInterrupt

    monkeypatch.setattr(inverted_pools, "make_pool", fail)
    with pytest.raises(KeyboardInterrupt):
        remake_pool(machine, prepared)
    assert known_pool(machine.home, ID) == pool("first")


def test_a_contract_without_a_reference_needs_no_pool(here: Any) -> None:
    machine, prepared = here
    prepared.contract.reference = None
    assert ensure_pool(machine, prepared) is None and remake_pool(machine, prepared) is None


def test_agents_after_a_no_op_are_confirmed(proctor: Proctor, make_contract: Any) -> None:
    done = proctor("run", make_contract(), "--agent", "noop", "--agent", "reference", "--json")
    evidence = {row["agent"]: Path(row["evidence"]) for row in json.loads(done.stdout)["runs"]}
    (check,) = json.loads((evidence["reference"] / "acceptance" / "results.json").read_bytes())["checks"]
    assert check["inverted"]["problem"] == "no listed test has a variant", "there is a pool, if an empty one"
