"""Retention acts: a run has one, whoever comes in between."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import pytest

from proctor.base.errors import UsageFault
from proctor.record.retain import retain
from proctor.record.seal import load_seal
from proctor.record.signing.operator_identity import Identity
from proctor.record.verify import verify
from tests.record.vaults import person


class Slow(Identity):
    """Signs after something else has happened."""

    meanwhile: Callable[[], None]

    def sign(self, purpose: str, value: Mapping[str, Any]) -> str:
        self.meanwhile()
        return super().sign(purpose, value)


def test_an_act_that_comes_in_between_stands_alone(make_run: Any) -> None:
    run = make_run.sealed()
    seal, jo = load_seal(run), person("jo")
    slow = Slow(jo.person, jo.age, jo.seed)
    slow.__dict__["meanwhile"] = lambda: retain(run, seal, "long-term", "kim", "first", 1)
    with pytest.raises(UsageFault, match="another process has just moved the run"):
        retain(run, seal, "long-term", "jo", "second", 2, slow)
    found = verify(run)
    assert found.status == "partial" and found.retained is not None and found.retained.approved_by == "kim"
    assert retain(run, seal, "long-term", "jo", "third", 3).why == "first"
