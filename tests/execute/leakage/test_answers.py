"""Files that contain hidden tests or the solution are recognised, and the repository's own files are not."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from proctor.contract.load import load_contract
from proctor.execute.inputs.input_cache import InputCache
from proctor.execute.leakage.image_search import Answer, AnswerIndex, read_answers
from proctor.execute.leakage.source_similarity import SourceIndex, read_source

OLD = "def total(values):\n    result = 0\n    for value in values:\n        result -= value\n    return result\n"
NEW = "    amount = sum(abs(value) for value in values)\n    logger.debug('%s', amount)\n    return amount * SIGN\n"
FIX = (
    "diff --git a/total.py b/total.py\n--- a/total.py\n+++ b/total.py\n@@ -1,5 +1,4 @@\n def total(values):\n"
    + "".join([*(f"-{line}\n" for line in OLD.splitlines()[1:]), *(f"+{line}\n" for line in NEW.splitlines())])
)
TEST = "from total import total\nassert total([1, 2]) == 3\nassert total([-1, -2]) == 3\nassert total([]) == 0\n"


@pytest.fixture
def answers(make_contract: Any, tmp_path: Path) -> AnswerIndex:
    check = {**make_contract.CHECK, "hidden": [{"from": "hidden"}]}
    place: Path = make_contract(files={"total.py": OLD}, checks=[check])
    (place / "hidden/tests").mkdir(parents=True)
    (place / "hidden/tests/test_total.py").write_text(TEST)
    (place / "fix.patch").write_text(FIX)
    files = {b"total.py": OLD.encode()}
    text = read_source(files[b"total.py"])
    assert text is not None
    return read_answers(load_contract(place), InputCache(tmp_path / "in"), SourceIndex([("total.py", text)]), files.get)


@pytest.mark.parametrize(
    ("path", "text", "found"),
    [
        ("opt/total.py", "def total(values):\n" + NEW, ("solution", "total.py", 3)),
        ("opt/other.py", NEW.replace("    ", "\t\t"), ("solution", "total.py", 3)),
        ("opt/fix.diff", FIX, ("solution", "total.py", 3)),
        ("opt/notes.txt", "Apply this:\n" + NEW, ("solution", "total.py", 3)),
        ("opt/any.py", TEST, ("test", "tests/test_total.py", 3)),
        ("opt/tasks.jsonl", json.dumps({"patch": FIX}), ("solution", "total.py", 3)),
        ("opt/total.py", OLD, None),
        ("opt/half.py", NEW.splitlines()[0], None),
        ("opt/total.py", "\0" + NEW, None),
        ("opt/empty.py", "", None),
    ],
    ids=("copy", "indented", "patch", "notes", "test", "json", "old", "one-line", "binary", "empty"),
)
def test_what_contains_an_answer(
    answers: AnswerIndex, path: str, text: str, found: tuple[str, str, int] | None
) -> None:
    seen = answers.find(path, text.encode())
    assert (seen and (seen.answer.kind, seen.answer.path, seen.lines)) == found


def test_a_short_answer_counts_under_its_own_name_alone() -> None:
    text = read_source(b"    return a + b\n")
    assert text is not None
    index = AnswerIndex([Answer("solution", "src/calc.py", text.lines)])
    data = b"def add(a, b):\n    return a + b\n"
    assert index.find("opt/calc.py", data) and not index.find("opt/other.py", data)


def test_without_answers_nothing_is_found() -> None:
    assert AnswerIndex([]).find("a.py", TEST.encode()) is None
