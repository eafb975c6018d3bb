"""Every run of the example corpus gives the recorded outcome when its patch is judged again."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.examples.test_examples import each, proctor, validated


@pytest.mark.soak
@pytest.mark.corpus
@each
def test_acceptance_is_the_same_again(example: Path) -> None:
    runs = validated(example, 1)
    assert len(runs) == 2
    for run in runs:
        told = proctor("replay", run, "--acceptance")
        assert told["same"] is True and len(told["checks"]) >= 2
