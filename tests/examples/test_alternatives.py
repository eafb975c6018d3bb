"""Other ways to solve the examples: listed, different from each other, and accepted by the checks."""

from __future__ import annotations

from pathlib import Path

import pytest

from proctor.contract.load import load_contract
from proctor.judge.risk_indicators import HARNESS, line_indicators
from tests.examples.test_examples import EXAMPLES, proctor

ALTERNATIVES = [path for example in EXAMPLES for path in sorted(example.glob("alternatives/*.patch"))]


def added(patch: Path) -> frozenset[str]:
    """The lines that a patch adds."""
    lines = patch.read_text("utf-8").splitlines()
    return frozenset(line[1:].strip() for line in lines if line.startswith("+") and not line.startswith("+++")) - {""}


def test_several_examples_have_some_and_every_file_is_listed() -> None:
    listed = {
        example / file.path
        for example in EXAMPLES
        for reference in [load_contract(example).reference]
        if reference is not None
        for file in reference.alternatives
    }
    assert listed == set(ALTERNATIVES) and len({path.parent for path in listed}) >= 5


def test_they_are_different_code() -> None:
    for path in ALTERNATIVES:
        others = [other for other in path.parent.parent.rglob("*.patch") if other != path]
        for other in others:
            assert not added(path) <= added(other), f"{path.name} adds nothing that {other.name} does not add"


def test_j1_no_right_patch_looks_like_a_forgery() -> None:
    patches = [*ALTERNATIVES, *(path for example in EXAMPLES for path in example.glob("reference.patch"))]
    for path in patches:
        assert [one for one in line_indicators(path.read_bytes()) if one[0] == HARNESS] == [], path


@pytest.mark.soak
@pytest.mark.corpus
@pytest.mark.parametrize("patch", ALTERNATIVES, ids=lambda path: path.stem)
def test_an_alternative_is_accepted(patch: Path) -> None:
    (run,) = proctor("run", patch.parent.parent, "--agent", f"patch:{patch}")["runs"]
    assert run["status"] == "success"
