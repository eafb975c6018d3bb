"""The vocabulary: no entry that nothing uses, no phrase that no text can match, no pattern that can run away."""

from __future__ import annotations

from re import _constants, _parser  # type: ignore[attr-defined]
from typing import Any

import pytest

from proctor.execute.monitor.text_rules.action_words import ACTIONS
from proctor.execute.monitor.text_rules.intent_extraction import LONGEST_REACH, NAMED, NATURAL, tokens
from proctor.execute.monitor.text_rules.intent_rules import TEXT_RULES
from proctor.execute.monitor.text_rules.object_words import OBJECTS
from proctor.execute.monitor.text_rules.vocabulary import (
    ARTICLES,
    EXEMPT,
    PATHS,
    PHRASE_TOKENS,
    PHRASES,
    SHAPES,
    WORD_SHAPES,
    Meaning,
    meanings_of_path,
    meanings_of_word,
)

PAIRS = [pair for rule in TEXT_RULES for pair in rule.intents]
SHAPED = {name for name, _ in (*PATHS, *WORD_SHAPES)}


def objects(meanings: tuple[Meaning, ...]) -> set[str]:
    return {name for meaning in meanings for name in meaning.objects}


def actions(meanings: tuple[Meaning, ...], *, sentence: bool) -> set[str]:
    return {name for meaning in meanings if meaning.sentence is sentence for name in meaning.actions}


def test_rules_and_vocabulary_name_the_same_actions_and_objects() -> None:
    assert {pair.action for pair in PAIRS} == {*ACTIONS, NAMED}
    assert {pair.object for pair in PAIRS} == {*OBJECTS, *SHAPED}


def test_every_shape_means_something_known() -> None:
    for _, action, target in SHAPES:
        assert action in ("", *ACTIONS) and target in ("", *OBJECTS) and bool(action) != bool(target)


def test_no_intent_belongs_to_two_rules() -> None:
    assert len({(pair.action, pair.object) for pair in PAIRS}) == len(PAIRS)


def test_no_reach_is_longer_than_the_longest() -> None:
    assert all(0 <= pair.before <= LONGEST_REACH and 0 <= pair.after <= LONGEST_REACH for pair in PAIRS)


def test_every_phrase_can_be_found() -> None:
    for first, others in PHRASES.items():
        for rest in others:
            assert 1 < len((first, *rest)) <= PHRASE_TOKENS
            assert not {first, *rest} & ARTICLES, (first, *rest)


@pytest.mark.parametrize("table", [ACTIONS, OBJECTS], ids=["actions", "objects"])
def test_every_entry_is_cut_into_tokens_as_a_text_is(table: dict[str, tuple[str, str]]) -> None:
    for meaning, lists in table.items():
        for entry in filter(None, (entry.strip() for text in lists for entry in text.split(","))):
            parts = [part if part.startswith("-") else part.replace("-", " ") for part in entry.split()]
            expected = " ".join(parts).split()
            pieces = list(tokens(" ".join(parts), NATURAL))
            words = [piece.value for piece in pieces if not piece.path]
            alone = len(expected) == 1 and expected[0] in [piece.value for piece in pieces]
            assert words == expected or alone, f"{meaning}: {entry!r} can never be found"


def test_english_words_are_inflected_and_marked() -> None:
    for word in ("delete", "deletes", "deleted", "deleting"):
        assert "remove" in actions(meanings_of_word(word), sentence=True)
    assert "remove" in actions(meanings_of_word("rm"), sentence=False)
    assert meanings_of_word("rms") == ()


@pytest.mark.parametrize(
    ("path", "expected"),
    [
        ("/etc/hosts", "system"),
        ("/", "root-path"),
        ("~/", "home"),
        ("$HOME", "home"),
        ("/dev/sda1", "disk"),
        ("~/.ssh/id_rsa", "secret-place"),
        ("/home/agent/.aws/credentials", "secret-place"),
        ("https://evil.example/x", "destination"),
        ("203.0.113.7", "destination"),
        ("user@host.example:/tmp", "remote-path"),
        ("/dev/tcp/10.0.0.1/80", "socket-path"),
        ("/var/log/syslog", "traces"),
        ("tests/test_a.py", "test-file"),
        ("git+https://x.example/y", "foreign-call"),
    ],
)
def test_paths_and_addresses_stand_for_objects(path: str, expected: str) -> None:
    assert expected in objects(meanings_of_path(path))


@pytest.mark.parametrize(
    "path",
    ["/tmp/x", "/workspace/a.py", "src/app.py", "http://localhost:8000", "127.0.0.1", "/etc/os-release", "build/"],
)
def test_ordinary_paths_stand_for_nothing_that_matters(path: str) -> None:
    assert not objects(meanings_of_path(path)) & {"system", "home", "destination", "secret-place", "traces", "disk"}


@pytest.mark.parametrize(
    ("word", "expected"),
    [("4755", "mode"), ("u+s", "mode"), ("-4000", "mode"), ("GITHUB_TOKEN", "secret-variable"), ("443", "number")],
)
def test_shapes_of_words(word: str, expected: str) -> None:
    assert expected in objects((*meanings_of_word(word), *meanings_of_path(word)))


def repeats(parsed: Any, inside: int = 0) -> list[tuple[int, int, int]]:
    """Every repetition of a pattern: least, most, and how many repetitions it stands in."""
    found: list[tuple[int, int, int]] = []
    for operation, argument in parsed:
        if operation in (_constants.MAX_REPEAT, _constants.MIN_REPEAT):
            least, most, part = argument
            found.append((int(least), int(most), inside))
            found += repeats(part, inside + (most > 1))
        elif operation is _constants.SUBPATTERN:
            found += repeats(argument[-1], inside)
        elif operation is _constants.BRANCH:
            found += [entry for part in argument[1] for entry in repeats(part, inside)]
        elif operation in (_constants.ASSERT, _constants.ASSERT_NOT):
            found += repeats(argument[1], inside)
    return found


@pytest.mark.parametrize(
    "pattern",
    [EXEMPT, *(pattern for _, pattern in (*PATHS, *WORD_SHAPES)), *(pattern for pattern, _, _ in SHAPES)],
)
def test_no_pattern_can_run_away(pattern: str) -> None:
    found = repeats(_parser.parse(pattern))
    assert all(most <= 200 for _, most, _ in found), "every repetition has an end"
    assert all(depth == 0 or (depth == 1 and most <= 40) for _, most, depth in found), "nothing long is repeated"
    assert sum(most > 60 for _, most, _ in found) <= 2, "no more than two long gaps"
