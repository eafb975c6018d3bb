"""Forged results never become a success, and right patches always do, in every language with a results reader.

The fast forgeries run each time; the others, and the contracts with many packages, are for `make soak`.
"""

from __future__ import annotations

from pathlib import Path

import pytest

from proctor.author.lint_hidden_tests import remarks_on_unprotected
from proctor.contract.load import load_contract
from tests.forgeries.bare import Bare
from tests.forgeries.loader import (
    CAUGHT,
    CONTRACTS,
    FORGED,
    HERE,
    MODULES,
    Forgery,
    Honest,
    build,
    forgeries,
    forging_patch,
    honest_patches,
    judge,
)

FORGERIES = forgeries()
SLOW = ("javascript-jest", "javascript-mocha", "javascript-tap")
FETCHING = tuple(name for name in CONTRACTS if (HERE / "contracts" / name / "contract.lock").exists())


def marks(contract: str, fast: bool) -> list[pytest.MarkDecorator]:
    """The markers of a test that judges ``contract``."""
    found = [pytest.mark.corpus] if contract in FETCHING else []
    return found if fast and contract not in SLOW else [*found, pytest.mark.soak]


def identified(forgery: Forgery) -> str:
    """The id of a test."""
    return f"{forgery.contract}-{forgery.name}"


EACH = [pytest.param(one, id=identified(one), marks=marks(one.contract, one.fast)) for one in FORGERIES]
RIGHT = [
    pytest.param(one, id=one.name, marks=marks(one.contract, one.patch == "reference.patch"))
    for one in honest_patches()
]


@pytest.fixture(scope="session")
def top(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Where contracts and patches of this session are made."""
    return tmp_path_factory.mktemp("forgeries")


@pytest.mark.parametrize("forgery", EACH)
def test_j1_a_forgery_is_no_success(forgery: Forgery, top: Path) -> None:
    verdict = judge(build(forgery.contract, top), f"patch:{forging_patch(forgery, top / 'patches')}")
    assert verdict.status != "success", f"{forgery.what}: {verdict}"
    assert verdict.attribution == "agent", verdict
    if forgery.expect == FORGED:
        assert verdict.status == "failure" and verdict.forged, verdict
        assert verdict.tags["forged-results"], verdict


@pytest.mark.parametrize("honest", RIGHT)
def test_j1_a_right_patch_is_a_success(honest: Honest, top: Path) -> None:
    contract = build(honest.contract, top)
    verdict = judge(contract, f"patch:{contract / honest.patch}")
    assert verdict.status == "success" and not verdict.forged, verdict


@pytest.mark.parametrize("forgery", EACH)
def test_the_forgery_works_when_run_bare(forgery: Forgery, top: Path, tmp_path: Path) -> None:
    bare = Bare(build(forgery.contract, top), top / "packages" / forgery.contract)
    assert bare.passes(forgery, tmp_path), forgery.what


@pytest.mark.parametrize("contract", [pytest.param(one, id=one, marks=marks(one, True)) for one in CONTRACTS])
def test_without_a_forgery_the_bug_shows_when_run_bare(contract: str, top: Path, tmp_path: Path) -> None:
    assert not Bare(build(contract, top), top / "packages" / contract).passes(None, tmp_path)


@pytest.mark.parametrize("contract", CONTRACTS)
def test_a_contract_has_a_module_and_alternatives(contract: str, tmp_path: Path) -> None:
    loaded = load_contract(build(contract, tmp_path))
    assert loaded.reference is not None and len(loaded.reference.alternatives) >= 2
    assert loaded.checks[-1].must_pass and loaded.checks[-1].keep_passing
    assert remarks_on_unprotected(loaded) == ()
    assert (HERE / "contracts" / contract / "repository" / MODULES[contract]).exists()


def test_the_index_and_the_files_agree() -> None:
    listed = {(one.contract, one.name + Path(one.target).suffix) for one in FORGERIES}
    assert listed == {(path.parent.name, path.name) for path in (HERE / "code").glob("*/*") if path.is_file()}
    assert len(listed) == len(FORGERIES) and all(one.expect in (FORGED, CAUGHT) for one in FORGERIES)


def test_all_languages_classes_and_modes_are_there() -> None:
    assert {one.contract for one in FORGERIES} == set(CONTRACTS) == set(MODULES)
    assert {one.language for one in FORGERIES} == {"python", "javascript", "c"}
    assert len({one.kind for one in FORGERIES}) >= 15
    assert len({one.mode for one in FORGERIES if one.mode != "always"}) >= 6
