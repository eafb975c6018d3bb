"""Whoever says what a word of a table means is told to have said so, wherever the answer is read."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from proctor.cli.main import run_command
from proctor.study.table_import.csv_reader import Reading, choices
from tests.english import english


def told(**said: object) -> list[str]:
    return english(list(choices(Reading(**said))))  # type: ignore[arg-type, no-any-return]


def test_nothing_is_told_where_nothing_was_chosen() -> None:
    assert told(columns={"agent": "who"}, number_trials=True) == []


@pytest.mark.parametrize("word", ["fail", "Failed", "false", "0", "no", " error "])
def test_a_usual_word_for_a_failure_is_no_success_without_a_warning(word: str) -> None:
    warning, choice = told(success=(word,))
    assert warning.startswith(f"Warning: {word.strip()!r} counts as a success by --success; usually it means a")
    assert choice == f"By --success, {word.strip()!r} is a success, and no other outcome is."


def test_usual_words_keep_their_meaning_without_a_warning() -> None:
    assert told(success=("pass", "perfect")) == [
        "By --success, 'pass' or 'perfect' is a success, and no other outcome is."
    ]
    assert told(success=(">=0.9", ">= 0.8")) == [
        "By --success, an outcome of at least 0.8 is a success, and no other outcome is."
    ]
    assert len(told(unknown=("skipped",))) == 1


def test_a_limit_that_nothing_can_miss_is_warned_about() -> None:
    assert told(success=(">=0",))[0].startswith("Warning: 0 counts as a success by --success '>=0'")


def test_failures_that_are_called_unknown_are_warned_about() -> None:
    warning, choice = told(unknown=("fail",))
    assert warning == "Warning: 'fail' counts as unknown by --unknown; usually it means a failure."
    assert choice == "By --unknown, 'fail' is an unknown outcome: such rows are left out of the success rate."


def test_ends_and_caps_are_told() -> None:
    assert told(timeout=("gone",), cap_seconds=300.0) == [
        "By --timeout, the status 'gone' means that a cap cut the attempt short.",
        "By --cap-seconds, attempts of 300 seconds or more count as cut short.",
    ]


def test_a_choice_stands_first_wherever_the_answer_does(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    rows = [
        f"{who},t{task:02},{'fail' if who == 'fav' else 'pass'}\n" for who in ("fav", "rival") for task in range(30)
    ]
    path, out = tmp_path / "results.csv", tmp_path / "report"
    path.write_text("agent,task,outcome\n" + "".join(rows))
    asked = ["analyse", str(path), "--against", "rival", "--candidate", "fav", "--success", "fail", "--out", str(out)]
    assert run_command(asked) == 0
    warning, choice = told(success=("fail",))
    shown = capsys.readouterr().out
    assert shown[shown.index("caveats:") :].splitlines()[1:3] == [f"  {warning}", f"  {choice}"]
    assert json.loads((out / "findings.json").read_text())["headline"]["caveats"][:2] == [
        {"code": "unusual-success", "value": "fail", "usual": "failure"},
        {"code": "option-success", "values": ["fail"], "threshold": None},
    ]
    for name in ("report.md", "report.html"):
        text = (out / name).read_text().replace("&#39;", "'").replace("&#x27;", "'")
        assert warning in text and choice in text
