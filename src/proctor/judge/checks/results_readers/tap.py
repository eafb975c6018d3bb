"""The Test Anything Protocol, versions 12 to 14.

An id is the description of a test line, or its number where there is none; the lines of a subtest carry the parent's
description in front, joined by ``" > "``. A comment directly above test lines also names them as a group, the way tape
prints the name of a test above its assertions; the group's outcome is the worst of its lines. A missing or broken
plan and ``Bail out!`` make the results incomplete. An expected failure (``# TODO``) counts as skipped.
"""

from __future__ import annotations

import re

from proctor.judge.checks.results_readers.interface import (
    MAX_DEPTH,
    MAX_ID_CHARACTERS,
    MAX_TESTS,
    RESULT_BYTES,
    Collector,
    TestResults,
    TooMuch,
)

_TEST = re.compile(r"(not )?ok(?=[ \t-]|$)")
_NUMBER = re.compile(r"[0-9]{1,9}(?=[ \t-]|$)", re.ASCII)
_PLAN = re.compile(r"1\.\.([0-9]{1,9})(?:\s*#.*)?$", re.ASCII)
_DIRECTIVE = re.compile(r"(?<!\\)#\s*(skip|todo)\b", re.IGNORECASE)


def parse(data: bytes) -> TestResults:
    """The outcomes in a TAP stream; incomplete when its plan is missing or not kept."""
    if len(data) > RESULT_BYTES:
        return TestResults(problem=f"larger than {RESULT_BYTES} bytes")
    reader = _Reader()
    try:
        for line in data.decode("utf-8", "backslashreplace").split("\n"):
            reader.line(line.rstrip("\r"))
        return reader.finish()
    except TooMuch as error:
        return reader.collector.results(str(error))


class _Reader:
    """Holds the test lines whose parents have not come yet, by indentation."""

    def __init__(self) -> None:
        self.collector = Collector()
        self._waiting: dict[int, list[tuple[str, str]]] = {}
        self._seen = 0
        self._plan: int | None = None
        self._problem = ""
        self._yaml: int | None = None
        self._group = ""
        self._characters = 0

    def line(self, line: str) -> None:
        text = line.lstrip(" ")
        level = len(line) - len(text)
        if self._yaml is not None:
            if level <= self._yaml and text.startswith("..."):
                self._yaml = None
            return
        if text.startswith("---") and level and text.strip() == "---":
            self._yaml = level
        elif text.startswith("#"):
            self._comment(level, text)
        elif plan := _PLAN.match(text):
            self._planned(level, int(plan[1]))
        elif text.startswith("Bail out!"):
            self._problem = self._problem or "the runner bailed out"
        elif found := _TEST.match(text):
            self._test(level, bool(found[1]), text[found.end() :])

    def _comment(self, level: int, text: str) -> None:
        """Remember the name above a run of test lines; the headings of subtests are recognised by their parent line."""
        if level == 0:
            name = text[1:].strip()
            self._group = "" if name.startswith("Subtest:") else name

    def _planned(self, level: int, count: int) -> None:
        if level == 0:
            if self._plan is not None and self._plan != count:
                self._problem = self._problem or "two plans"
            self._plan = count

    def _test(self, level: int, negated: bool, rest: str) -> None:
        if level > MAX_DEPTH * 4:
            raise TooMuch(f"nested deeper than {MAX_DEPTH}")
        name, outcome = _described(rest, "failed" if negated else "passed")
        mine = [(name or str(self._seen + 1), outcome)]
        for deeper in sorted(self._waiting):
            if deeper > level:
                mine += [self._below(name, inner, result) for inner, result in self._waiting.pop(deeper)]
        if level:
            self._waiting.setdefault(level, []).extend(mine)
            if len(self._waiting[level]) > MAX_TESTS:
                raise TooMuch(f"more than {MAX_TESTS} tests")
            return
        self._seen += 1
        for test, result in mine:
            self.collector.add(test, result)
            if self._group:
                self.collector.add(self._group, result)

    def _below(self, name: str, inner: str, result: str) -> tuple[str, str]:
        """A subtest under its parent's name; many long names together are refused."""
        whole = f"{name} > {inner}"
        self._characters += len(whole)
        if len(whole) > MAX_ID_CHARACTERS or self._characters > RESULT_BYTES:
            raise TooMuch("names of subtests that are too long")
        return whole, result

    def finish(self) -> TestResults:
        for _, left in sorted(self._waiting.items()):
            for test, result in left:
                self.collector.add(test, result)
            self._problem = self._problem or "a subtest without its closing line"
        if self._problem:
            return self.collector.results(self._problem)
        if self._plan is None:
            return self.collector.results("no plan in the stream")
        if self._plan != self._seen:
            return self.collector.results(f"the plan says {self._plan} tests, {self._seen} were run")
        return self.collector.results()


def _described(rest: str, outcome: str) -> tuple[str, str]:
    """The description in what follows ``ok``, or the number, and the outcome once directives are heeded."""
    text = rest.strip()
    number = _NUMBER.match(text)
    if number:
        text = text[number.end() :].lstrip()
    if text.startswith("-"):
        text = text[1:].lstrip()
    directive = _DIRECTIVE.search(text)
    if directive:
        text = text[: directive.start()]
        if directive[1].lower() == "skip" or outcome == "failed":
            outcome = "skipped"
    return text.replace("\\#", "#").strip() or (number[0] if number else ""), outcome
