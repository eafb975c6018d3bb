"""Expressions that readers had to read twice do not come back.

The list belongs to the house style: plain technical English. It is applied to the documentation and to the help of
every command. Code, names in backticks and the text of decision records are left out.
"""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from proctor.contract.scaffold import scaffold
from proctor.study.pilot.plan import pilot_template

PROJECT = Path(__file__).resolve().parent.parent

AVOIDED = {
    r"told": "is recorded, is reported, receives",
    r"tells? (?:of|that|what|where|which|how)": "reports, shows",
    r"lies|(?:lie|lay|lying) (?:in|at|below|beside|under|there)": "is in, is stored in",
    r"stands|stood|stand (?:in|at|here|there|below|above|beside|for|behind|where|before)": "is in, means, is",
    r"(?:held|hold|holds|holding) against": "compared with, counts against",
    r"(?:held|holds?) to\b": "must satisfy",
    r"(?:come|comes|came|coming) out (?:as|otherwise|well|of)": "results in, differs",
    r"in (?:other|the|its|their|so many) words": "(leave it out), with other arguments",
    r"word for word": "verbatim, exactly",
    r"anew": "again",
    r"once more": "again",
    r"somebody|someone else": "a user, another person",
    r"nobody": "no user, no person",
    r"(?:is|are|was|were) (?:none of|no failure|no success|no part|no number)": "is not a ...",
    r"(?:is|are) at hand": "is available",
    r"whatever it is": "any",
    r"the story": "the expected result",
    r"mend|mended": "repair, fix",
    r"put right": "correct",
}
"""A pattern, and what to write instead."""

PATTERN = re.compile("|".join(rf"(?P<p{number}>\b(?:{text})\b)" for number, text in enumerate(AVOIDED)), re.IGNORECASE)
NOT_PROSE = re.compile(r"^```.*?^```$|`[^`\n]*`|^    [^\n]*$|\]\([^)]*\)|<!--.*?-->", re.MULTILINE | re.DOTALL)

DOCUMENTS = sorted(
    str(path.relative_to(PROJECT))
    for path in (*PROJECT.glob("*.md"), *PROJECT.glob("docs/**/*.md"))
    if not re.match(r"0\d", path.name) and path.parent.name != "reference"
)


def found(text: str) -> list[str]:
    """Each avoided expression in ``text``, with its line and what to write instead."""
    instead = list(AVOIDED.values())
    return [
        f"line {text.count(chr(10), 0, hit.start()) + 1}: {hit[0]!r}: {instead[int(str(hit.lastgroup)[1:])]}"
        for hit in PATTERN.finditer(text)
    ]


def prose(markdown: str) -> str:
    """The text without code, with its lines in place."""
    return NOT_PROSE.sub(lambda part: "\n" * part[0].count("\n"), markdown)


@pytest.mark.parametrize("page", DOCUMENTS)
def test_documentation_is_in_plain_words(page: str) -> None:
    assert found(prose((PROJECT / page).read_text("utf-8"))) == []


@pytest.mark.parametrize("page", sorted(path.name for path in PROJECT.glob("docs/reference/*.md")))
def test_help_and_reference_are_in_plain_words(page: str) -> None:
    """The pages are written from the code; another test fails when they are out of date."""
    text = (PROJECT / "docs/reference" / page).read_text("utf-8")
    assert found(re.sub(r"`[^`\n]+`", "", text)) == []


def test_what_init_writes_is_in_plain_words(tmp_path: Path) -> None:
    pilot = tmp_path / "pilot.yaml"
    pilot_template.scaffold(pilot, "new")
    written = [pilot, *scaffold(tmp_path / "new", "new")]
    assert found("".join(path.read_text("utf-8") for path in written if path.suffix in (".yaml", ".md", ".py"))) == []


def test_avoided_expressions_are_found_in_prose_only() -> None:
    text = "It is told.\n\n    is told\n\nIt lies in the home, `held against`\n\n```\nanew\n```\n\nThe seal, anew.\n"
    assert [line.split(":")[0] for line in found(prose(text))] == ["line 1", "line 5", "line 11"]
