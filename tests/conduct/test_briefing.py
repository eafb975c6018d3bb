"""The briefing tells the task and the rules, and nothing of how it is judged."""

from __future__ import annotations

from typing import Any

from proctor.conduct.briefing import brief
from proctor.contract.load import load_contract


def test_task_and_obligations_are_apart(make_contract: Any) -> None:
    briefing = brief(load_contract(make_contract(policy={"forbidden": ["secret/**"], "max_changed_files": 3})))
    assert "add() subtracts." in briefing.task
    assert "subtracts" not in briefing.obligations
    assert "`secret/**`" in briefing.obligations
    assert "at most 3 files" in briefing.obligations
    assert "60 seconds" in briefing.obligations
    assert briefing.text.startswith(briefing.task)


def test_neither_tests_nor_commands_nor_the_reference_are_told(make_contract: Any) -> None:
    text = brief(load_contract(make_contract())).text
    assert "assert" not in text
    assert "fix.patch" not in text
    assert "a + b" not in text


def test_what_may_be_brought_in_is_told(make_contract: Any) -> None:
    words = brief(load_contract(make_contract("one", policy={"dependencies": {"new": "forbid"}}))).obligations
    assert "no new dependencies" in words
    declared = {"new": "declare", "registries": ["example.org"]}
    words = brief(load_contract(make_contract("two", policy={"dependencies": declared}))).obligations
    assert "must be declared" in words and "`example.org` only" in words
    assert "dependenc" not in brief(load_contract(make_contract("three"))).obligations
