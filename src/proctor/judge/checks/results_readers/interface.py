"""The common result of all parsers of test results.

A parser is a pure function from bytes to :class:`TestResults`. It never raises on bad input: what cannot be read makes
the results incomplete, with a problem that says why. Ids and counts are bounded, so that a hostile file costs at most
what its size allows. If one id occurs several times, the worst outcome counts.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace

RESULT_BYTES = 64 << 20
"""The largest result file that is read."""

MAX_TESTS = 200_000
MAX_ID_CHARACTERS = 4096
MAX_DEPTH = 64

OUTCOMES = ("passed", "skipped", "error", "failed")
"""From best to worst."""

_RANK = {outcome: rank for rank, outcome in enumerate(OUTCOMES)}


@dataclass(frozen=True)
class RunnerChange:
    """A part of the test runner that code of the tree changed, and the file and line of that code, if known."""

    what: str
    by: str = ""

    @property
    def file(self) -> str:
        """The file of the code that made the change."""
        return self.by.rpartition(":")[0]

    def text(self) -> str:
        """The change as text for a sentence."""
        return f"{self.what} ({self.by})" if self.by else self.what


@dataclass(frozen=True)
class TestResults:
    """Outcomes by test id.

    ``complete`` is false when the runner did not get to its end or its file cannot be read; ``problem`` then says why.
    ``tampered`` means that the file holds lines that the harness's own reporter did not write. ``changed`` lists what
    code of the tree changed in the test runner.
    """

    __test__ = False  # the name starts with Test: pytest would take it for one

    outcomes: Mapping[str, str] = field(default_factory=dict)
    complete: bool = False
    problem: str = ""
    tampered: bool = False
    changed: tuple[RunnerChange, ...] = ()

    def counts(self) -> dict[str, int]:
        """The number of tests for each outcome."""
        found = dict.fromkeys(sorted(OUTCOMES), 0)
        for outcome in self.outcomes.values():
            found[outcome] += 1
        return found

    def failing(self) -> Iterator[str]:
        """The ids that failed or broke, in order of their names."""
        return (test for test, outcome in sorted(self.outcomes.items()) if outcome in ("failed", "error"))


class TooMuch(Exception):
    """More tests, or longer names, than a parser takes; never leaves the parsers."""


class Collector:
    """Gathers outcomes while a parser reads; the worst of several outcomes of one id counts."""

    def __init__(self) -> None:
        self.outcomes: dict[str, str] = {}

    def add(self, test: str, outcome: str) -> None:
        """Note one outcome. Ids become valid, printable text of bounded length."""
        if len(test) > MAX_ID_CHARACTERS:
            raise TooMuch(f"a test id of more than {MAX_ID_CHARACTERS} characters")
        known = self.outcomes.get(test)
        if known is None:
            if len(self.outcomes) >= MAX_TESTS:
                raise TooMuch(f"more than {MAX_TESTS} tests")
            self.outcomes[test] = outcome
        elif _RANK[outcome] > _RANK[known]:
            self.outcomes[test] = outcome

    def results(self, problem: str = "", *, tampered: bool = False) -> TestResults:
        """What was gathered: complete, unless there is a problem."""
        return TestResults(self.outcomes, not problem, problem, tampered)


def clean_text(text: str) -> str:
    """``text`` as valid Unicode: lone surrogates become their escapes."""
    return text.encode("utf-8", "backslashreplace").decode("utf-8")


def merged(several: list[TestResults]) -> TestResults:
    """Several results as one: the worst outcomes count, and all must be complete."""
    collector = Collector()
    problems = [one.problem for one in several if one.problem]
    try:
        for one in several:
            for test, outcome in one.outcomes.items():
                collector.add(test, outcome)
    except TooMuch as error:
        problems.append(str(error))
    whole = collector.results("; ".join(problems[:3]), tampered=any(one.tampered for one in several))
    return replace(whole, changed=tuple(dict.fromkeys(change for one in several for change in one.changed)))
