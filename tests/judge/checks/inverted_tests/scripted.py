"""Rounds of inverted tests without a sandbox: the outcomes of each round follow from a rule that a test gives."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from types import SimpleNamespace
from typing import Any

from proctor.contract.model import Check
from proctor.execute.sandbox.interface import CommandResult, Output
from proctor.judge.check_execution import Attempt
from proctor.judge.checks.check_decision import PASS, TESTS, Judgement
from proctor.judge.checks.inverted_tests.sandbox_rounds import INVERTED, RoundResult
from proctor.judge.checks.inverted_tests.variant_pool import Variant
from proctor.judge.checks.results_readers.interface import TestResults
from proctor.record.run_directory import RunDirectory

Rule = Callable[[tuple[Variant, ...]], Mapping[str, str]]

SCENE: Any = SimpleNamespace()
"""The tree that rounds start from."""

STDOUT = Output(b"seen", 4, "a" * 64)
STDERR = Output(b"", 0, "b" * 64)


def attempt(number: int, outcomes: Mapping[str, str], **fields: Any) -> Attempt:
    """An attempt that came to its end with ``outcomes``."""
    code = fields.pop("exit_code", 0)
    finished = CommandResult(code, True, False, "", STDOUT, STDERR, 1, 1_500_000_000, 500_000_000, 250_000_000)
    whole: dict[str, Any] = {
        "tree": INVERTED,
        "number": number,
        "command": ("pytest", "tests"),
        "finished": finished,
        "start_ns": 10,
        "end_ns": 20,
        "results": TestResults(outcomes, complete=True),
        "sentinels": "passed",
        "judgement": Judgement(PASS, TESTS),
        "overridden": (),
        "waited_ns": 2_000_000_000,
    }
    return Attempt(**{**whole, **fields})


class Rounds:
    """Takes the place of ``run_round``: asks the rule, and keeps what was asked for."""

    def __init__(self, rule: Rule, check: Check, files: Mapping[bytes, bytes], **fields: Any) -> None:
        self.rule = rule
        self.check = check
        self.files = files
        self.fields = fields
        self.asked: list[tuple[Variant, ...]] = []
        self.only: set[tuple[str, ...]] = set()
        self.numbers: list[int] = []

    def __call__(
        self, bench: Any, check: Any, scene: Any, variants: tuple[Variant, ...], files: Any, only: Any, number: int
    ) -> RoundResult:
        assert bench.trace is not None and check is self.check and scene is SCENE
        assert files.items() <= self.files.items()
        assert all(one.path in files for one in variants)
        self.asked.append(variants)
        self.only.add(only)
        self.numbers.append(number)
        outcomes = self.rule(variants)
        return RoundResult(attempt(number, outcomes, **self.fields), outcomes)


class Trace(list[tuple[str, Any]]):
    """The events of a bench."""

    def append(self, name: str, payload: Any) -> None:  # type: ignore[override]
        super().append((name, payload))


def bench(top: Path, **fields: Any) -> Any:
    """What confirming and screening need of a bench."""
    run = RunDirectory(top / f"run-{len(list(top.iterdir()))}").create()
    return SimpleNamespace(
        trace=Trace(), run=run, entropy=lambda count: bytes(count), side_by_side=1, scratch=top, **fields
    )
