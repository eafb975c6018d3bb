"""Patterns that are compiled late match what patterns match."""

from __future__ import annotations

import re

import pytest

from proctor.base.pattern import pattern


def test_it_is_compiled_once_and_only_when_used(monkeypatch: pytest.MonkeyPatch) -> None:
    compiled: list[object] = []
    real = re.compile

    def watched(text: str, flags: int = 0) -> re.Pattern[str]:
        compiled.append(text)
        return real(text, flags)

    monkeypatch.setattr(re, "compile", watched)
    late = pattern("a(b+)")
    assert not compiled
    assert [late.fullmatch(text) is not None for text in ("abb", "a", "ab")] == [True, False, True]
    assert late.sub("x", "abbab") == "xx" and compiled == ["a(b+)"]


def test_it_has_flags_and_takes_bytes() -> None:
    assert pattern("A", re.IGNORECASE).match("a")
    assert [found.group() for found in pattern(rb"[0-9]+").finditer(b"1 22")] == [b"1", b"22"]
    assert pattern("(?P<n>x)").groupindex == {"n": 1} and pattern("x").pattern == "x"


def test_a_wrong_one_is_told_at_its_first_use() -> None:
    late = pattern("(")
    with pytest.raises(re.error):
        late.match("")
