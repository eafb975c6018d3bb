"""Drafted texts state what the changelog says, and nothing that gives the solution away."""

from __future__ import annotations

import json
import time
from pathlib import Path
from typing import Any

import pytest

from proctor.author.mine.issue_export import read_issues
from proctor.author.mine.known_fix import ChangedFile, KnownFix
from proctor.author.mine.path_kinds import kind_of
from proctor.author.mine.quality import measure
from proctor.author.mine.task_text import TaskText, added_lines, draft, new_names
from proctor.base.errors import UsageFault
from tests.author.mine.histories import CHANGES, FIXED, MORE_TESTS, SLUG, TESTS

BEFORE = {"src/slugs/__init__.py": SLUG, "tests/test_slugs.py": TESTS, "CHANGES.rst": "Changes\n=======\n\n1.0\n---\n"}
AFTER = {"src/slugs/__init__.py": FIXED, "tests/test_slugs.py": MORE_TESTS}


def fix(message: str, after: dict[str, str] | None = None, *merged: str) -> KnownFix:
    """A fix of the files ``after``, without a repository."""
    files = AFTER if after is None else {**AFTER, **after}
    changes = []
    for path, text in files.items():
        old = BEFORE.get(path)
        before = (0o100644, old.encode()) if old is not None else None
        changes.append(ChangedFile(path, kind_of(path), before, (0o100644, text.encode())))
    none: frozenset[str] = frozenset()
    more: Any = {"read_base": lambda _: None, "read_fix": lambda _: None, "read_many": lambda _: {}}
    return KnownFix(
        "fix",
        "a",
        "b",
        {},
        None,
        0,
        "",
        tuple(changes),
        (message, *merged),
        none,
        none,
        **more,
    )


def text(message: str, after: dict[str, str] | None = None, *merged: str) -> TaskText:
    return draft(fix(message, after, *merged))


def test_the_changelog_is_the_main_source() -> None:
    found = text("Fix it (#12)", {"CHANGES.rst": CHANGES})
    assert found.sources == ("changelog",)
    assert found.title == "Titles with several spaces in a row get one dash between two words"
    assert found.body.startswith(f"{found.title}. Before, each space became a dash.") and "Fix it" not in found.whole
    assert "#12" not in found.whole and "unreleased" not in found.whole and "First release" in found.whole
    assert found.sufficient and "a number of an issue" in found.removed


@pytest.mark.parametrize(
    ("message", "wanted"),
    [
        ("fix(slugs): collapse spaces, closes #12", "collapse spaces"),
        ("Fix spaces (GH-12, #13)", "Fix spaces"),
        ("[bugfix] Fix spaces (issue785)", "Fix spaces"),
        ("Merge pull request #7 from ada/fix\n\nFix several spaces", "Fix several spaces"),
        ("Fix :func:`slug` of spaces :issue:`12`", "Fix `slug` of spaces"),
        ("Fix {meth}`slug` of spaces {pr}`12`", "Fix `slug` of spaces"),
        ("Fix spaces, see https://example.org/issues/12", "Fix spaces"),
        ("Fix spaces broken in 1a2b3c4d5e", "Fix spaces broken"),
        ("Fix spaces\n\nCo-authored-by: Ada <ada@example.org>\nFixes: #12", "Fix spaces"),
    ],
)
def test_references_are_removed(message: str, wanted: str) -> None:
    assert text(message).title == wanted


def test_sentences_that_quote_the_solution_or_its_places_are_removed() -> None:
    message = (
        'Fix several spaces\n\nEach space became a dash. Use `return "-".join(title.lower().split())` instead. '
        "The change is in src/slugs/__init__.py now. Words are what counts."
    )
    found = text(message)
    assert found.body == "Each space became a dash. Words are what counts."
    assert set(found.removed) >= {"a quoted line of the solution", "a changed file"}


def test_private_names_of_the_solution_are_removed_and_public_ones_counted() -> None:
    source = (
        FIXED + "\n\ndef _words(title):\n    return title.split()\n\n\ndef collapse(title):\n    return _words(title)\n"
    )
    found = text("Add `collapse`\n\nIt calls _words on the title. It returns words.", {"src/slugs/__init__.py": source})
    assert found.leaked == ("collapse",) and set(found.new_names) == {"_words", "collapse", "join", "split"}
    assert "_words" not in found.whole and "It returns words." in found.body


def test_words_of_comments_and_texts_are_no_names() -> None:
    source = SLUG + '# an unusual remark\nMARK = "extraordinary"\n'
    before, after = (0o100644, SLUG.encode()), (0o100644, source.encode())
    assert new_names([ChangedFile("src/slugs/__init__.py", "source", before, after)]) == ("MARK",)


def test_an_exported_issue_comes_first(tmp_path: Path) -> None:
    export = tmp_path / "issues.json"
    body = "Slugs are odd:\n\n    slug('a  b')\n\nSee #3. <!-- internal --> The place is src/slugs/__init__.py."
    entries = [
        {"number": 12, "title": "Two dashes for two spaces (#3)", "body": body},
        {"number": 3, "title": "A pull request", "body": "The solution.", "pull_request": {"url": "x"}},
        {"number": 4, "title": "Another", "body": None},
        {"number": "5", "title": "No number"},
    ]
    export.write_text(json.dumps(entries))
    issues = read_issues(export)
    assert set(issues) == {12, 4}
    found = draft(fix("Fix it, closes #12"), issues)
    assert found.sources == ("issue",) and found.title == "Two dashes for two spaces"
    assert "    slug('a  b')" in found.body and "#3" not in found.whole and "__init__" not in found.whole
    assert draft(fix("Fix it, see #4"), issues).title == "Another"
    assert draft(fix("Fix it"), issues).sources == ("commit message",)
    export.write_text("\n".join(json.dumps(one) for one in entries))
    assert read_issues(export) == issues
    export.write_text("{")
    with pytest.raises(UsageFault, match="not an export"):
        read_issues(export)


def test_short_messages_get_those_of_merged_commits() -> None:
    found = text("Merge pull request #3 from a/b", None, "Collapse runs of spaces\n\nThey gave one dash each before.")
    assert found.title == "Collapse runs of spaces" and found.sources == ("messages of merged commits",)
    assert not text("Fix it").sufficient


def test_what_tests_demand_beyond_the_text_is_measured() -> None:
    tests = MORE_TESTS + (
        "import pytest\nimport socket\nimport time\n\n\ndef test_more(snapshot):\n"
        "    with pytest.raises(ValueError, match='no'):\n"
        "        slug(socket.socket())\n    assert time.time() and slug('x').join == snapshot\n"
    )
    one = fix("Fix it", {"tests/test_slugs.py": tests})
    found = measure(one, draft(one))
    assert (found.exact_messages, found.network, found.clock, found.source_files) == (1, 1, 1, 1)
    assert found.snapshots == 2 and found.hidden_names == ("join",)
    assert found.leak_score == 0.0


def test_long_changes_are_compared_as_sets() -> None:
    """To align 100000 equal lines with each other would take hours."""
    before, after = b"same\n" * 50_000, b"new\n" + b"same\n" * 50_000 + b"last\n"
    shuffled = b"other\n" + b"{\n}\n" * 50_000
    assert added_lines(before, after)[1:] == ["new", "last"]
    assert set(added_lines(before, shuffled)) == {"", "other", "{", "}"}
    assert added_lines(b"a\nb\n", b"a\nx\nb\n") == ["", "x"]
    assert added_lines(b"a\n", b"a\na\n") == ["", "a"]


def test_issues_without_a_usual_number_are_left_out(tmp_path: Path) -> None:
    export = tmp_path / "issues.json"
    export.write_text(json.dumps([{"number": number, "title": "A"} for number in (2**60, -1, 0, True, 5)]))
    assert list(read_issues(export)) == [5]


@pytest.mark.parametrize("unit", ["[", "#1 ", "@a ", " ", "a.", "(#1,", "`x <https://", "(issue 1,", "[x]("])
def test_a_line_without_end_takes_no_time_without_end(unit: str) -> None:
    start = time.process_time()
    text(f"Fix it\n\n{unit * 20_000}", None)
    assert time.process_time() - start < 20
