"""Patterns on the command line match what an author means by them, and take no time to speak of."""

from __future__ import annotations

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from proctor.contract.policy import matches_command

MATCHES = [
    ("git push", "git push"),
    ("git push", "git push origin main"),
    ("git push", "/usr/bin/git push"),
    ("curl", "curl https://example.org"),
    ("curl*", "curl-config --libs"),
    ("*sudo*", "env X=1 sudo id"),
    ("python* -m pytest", "/usr/bin/python3 -m pytest -q tests"),
    ("./run.sh", "./run.sh --all"),
    ("run.sh", "./run.sh --all"),
    ("/opt/tool", "/opt/tool x"),
    ("make *check", "make -j2 check"),
    ("make *check", "make -j2 check now"),
    ("a*b*c", "aXbYc"),
    ("a**c", "abc"),
    ("* --force", "git push --force"),
    ("echo [x]", "echo [x]"),
    ("echo ?", "echo ?"),
]
OTHERS = [
    ("git push", "git pushx"),
    ("git push", "git -C x push"),
    ("git push", "echo git push"),
    ("curl", "curl-config"),
    ("curl", "/usr/curl/bin/wget"),
    ("Curl", "curl"),
    ("/opt/tool", "tool x"),
    ("ab*ba", "aba"),
    ("a*b*c", "acb"),
    ("echo [xy]", "echo x"),
    ("echo ?", "echo x"),
    ("a.c", "abc"),
]


@pytest.mark.parametrize(("pattern", "line"), MATCHES)
def test_it_is_meant(pattern: str, line: str) -> None:
    assert matches_command(pattern, line.split(" "))


@pytest.mark.parametrize(("pattern", "line"), OTHERS)
def test_it_is_not_meant(pattern: str, line: str) -> None:
    assert not matches_command(pattern, line.split(" "))


def test_a_command_of_no_words_is_never_meant() -> None:
    assert not matches_command("x", ())
    assert not matches_command("*x", ("",))


@given(st.text("ab *", min_size=1, max_size=8), st.lists(st.text("ab \n", max_size=4), min_size=1, max_size=4))
def test_it_agrees_with_a_plain_definition(pattern: str, arguments: list[str]) -> None:
    expression = ".*".join(map(re.escape, pattern.split("*"))) + "(?: .*)?"
    expected = re.fullmatch(expression, " ".join(arguments), re.DOTALL) is not None
    assert matches_command(pattern, arguments) == expected


def test_a_hostile_line_takes_no_longer_than_its_length() -> None:
    """A matcher that goes back and tries again would not come to an end here."""
    assert not matches_command("*a" * 40 + "*b", ["a" * 1_000_000])
