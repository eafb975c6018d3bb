"""What is said of commands that ran again: one sentence that says each thing once."""

from __future__ import annotations

import pytest

from proctor.cli.replay import _retraced
from proctor.conduct.replay.command_divergence import CommandReplay

PLACED = ("events.jsonl#4",)


@pytest.mark.parametrize(
    ("result", "on_another_base", "said"),
    [
        (CommandReplay(1, ()), False, "1 command ran as recorded"),
        (CommandReplay(2, PLACED), False, "2 commands ran as recorded, with 1 change written between them"),
        (CommandReplay(2, ()), True, "2 commands ran as recorded, on another base: DIFFERENT"),
        (CommandReplay(2, (), "here", "why"), False, "DIFFERENT after 2 commands that ran as recorded"),
        (CommandReplay(0, (), "here", "why"), True, "DIFFERENT before any command ran as recorded"),
    ],
)
def test_the_sentence(result: CommandReplay, on_another_base: bool, said: str) -> None:
    assert _retraced(result, on_another_base) == said
