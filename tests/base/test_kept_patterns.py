"""Patterns that need not be compiled again: which are kept, and that they match as before."""

from __future__ import annotations

import marshal
import re
from collections.abc import Iterator
from types import CodeType, ModuleType

import pytest

from proctor.base.kept_patterns import patterns_of, take_up
from proctor.base.pattern import pattern

SOURCE = """
import re
from proctor.base.pattern import pattern

NAMED = re.compile(r"(?P<sign>[-+]?)(?P<whole>[0-9]{1,9})kept-named", re.IGNORECASE)
LATE = pattern(rb"kept-late-(a|b)+")
UNUSED = pattern("kept-unused")
JOINED = re.compile("kept-" + "|".join(["joined", "other"]))
TEXT = "".join(["kept-", "text"])

def inline(text):
    return re.sub("kept-inline-[0-9]", "", text)

def given(text, data):
    return re.search(data, text)
"""


@pytest.fixture(autouse=True)
def _own_cache() -> Iterator[None]:
    re.purge()
    yield
    re.purge()


def used() -> tuple[ModuleType, CodeType]:
    """A module that has used its patterns, and its code."""
    module, code = ModuleType("sample"), compile(SOURCE, "sample.py", "exec")
    exec(code, module.__dict__)
    module.LATE.match(b"")
    module.inline("kept-inline-1")
    module.given("whatever", "kept-somebody's-secret")
    module.given("whatever", module.TEXT)
    return module, code


def test_patterns_of_the_code_are_kept_and_those_of_data_are_not() -> None:
    kept = patterns_of(*used())
    texts = {parts[0] for _, parts in kept}
    assert texts == {
        "(?P<sign>[-+]?)(?P<whole>[0-9]{1,9})kept-named",
        rb"kept-late-(a|b)+",
        "kept-joined|other",
        "kept-inline-[0-9]",
        "kept-text",
    }


def test_what_is_taken_up_is_found_without_compiling(monkeypatch: pytest.MonkeyPatch) -> None:
    module, code = used()
    before, kept = module.NAMED, patterns_of(module, code)
    re.purge()
    take_up(marshal.loads(marshal.dumps(kept)))
    monkeypatch.setattr("re._compiler.compile", None)
    after = re.compile(before.pattern, re.IGNORECASE)
    assert after == before
    found = after.fullmatch("-12KEPT-named")
    assert found is not None
    assert found.groupdict() == {"sign": "-", "whole": "12"}
    assert (after.flags, after.groups, after.groupindex) == (before.flags, before.groups, before.groupindex)
    assert pattern(rb"kept-late-(a|b)+").fullmatch(b"kept-late-ab") is not None


def test_an_interpreter_with_another_re_keeps_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    module, code = used()
    monkeypatch.delattr("re._compiler._code")
    assert patterns_of(module, code) == []
