"""The readers of result files by the name of their format: built-in ones, and those of installed packages.

A reader is a function from the bytes of a result file to :class:`TestResults`. ``exit-code`` and ``pytest`` read no
file that a contract names and are not in this table. What a reader of a package returns is checked each time. A reader
that raises makes the run invalid: neither the agent nor Proctor has failed then.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, Protocol

from proctor.base.entry_points import RESULTS_READERS, PlugIns, not_callable
from proctor.contract.model import RESULT_FORMATS
from proctor.judge.checks.results_readers import junit, reward, tap
from proctor.judge.checks.results_readers.interface import MAX_ID_CHARACTERS, MAX_TESTS, OUTCOMES, TestResults


class ResultsReader(Protocol):
    """Reads one result file. It is pure, bounded by the size of ``data``, and never raises on what it is given."""

    def __call__(self, data: bytes, /) -> TestResults: ...


BUILT_IN: dict[str, ResultsReader] = {"junit": junit.parse, "tap": tap.parse, "reward": reward.parse}
PLUG_INS: PlugIns[ResultsReader] = PlugIns(RESULTS_READERS, "results reader", RESULT_FORMATS, not_callable)


def find_reader(name: str) -> ResultsReader:
    """The reader of the format ``name``."""
    built_in = BUILT_IN.get(name)
    if built_in is not None:
        return built_in
    loaded = PLUG_INS.require(name)

    def checked(data: bytes) -> TestResults:
        with PLUG_INS.at_work(name):
            results = loaded(data)
            problem = next(results_problems(results), "")
        if problem:
            raise PLUG_INS.failed(name, problem)
        return results

    return checked


def results_problems(results: Any) -> Iterator[str]:
    """What keeps the answer of a reader from being used."""
    if not isinstance(results, TestResults):
        yield f"it returns a {type(results).__name__}, not TestResults"
        return
    outcomes: Any = results.outcomes
    if not isinstance(outcomes, Mapping) or len(outcomes) > MAX_TESTS:
        yield f"its outcomes are not a map of at most {MAX_TESTS} tests"
        return
    for test, outcome in outcomes.items():
        if not isinstance(test, str) or len(test) > MAX_ID_CHARACTERS or not _is_unicode(test):
            yield f"a test id is not valid text of at most {MAX_ID_CHARACTERS} characters"
            return
        if outcome not in OUTCOMES:
            yield f"an outcome is not one of {', '.join(OUTCOMES)}"
            return
    complete: Any = results.complete
    problem: Any = results.problem
    if type(complete) is not bool or type(results.tampered) is not bool:
        yield "complete and tampered are not true or false"
    if not isinstance(problem, str) or not _is_unicode(problem):
        yield "its problem is not valid text"
    elif results.complete == bool(results.problem):
        yield "results are complete or have a problem, and not both or neither"
    if results.changed:
        yield "changed is for the reader of pytest"


def _is_unicode(text: str) -> bool:
    return text.isascii() or not any("\ud800" <= character <= "\udfff" for character in text)
