"""Sentinels: one test that must pass and one that must fail, beside the suite, under names drawn at random.

Code under test shares a process with its tests and can rewrite their outcomes. A suite that shows its sentinels as
anything but one pass and one failure was not reported by an honest runner: it is forged, whatever else it says. Names
are drawn for each attempt. Forgery that reads the sentinels and adapts to them is a risk that remains.
"""

from __future__ import annotations

import posixpath

from proctor.base.clock import Entropy
from proctor.base.frozen import frozen
from proctor.contract.model import Check, Sentinel
from proctor.judge.results.interface import TestResults

GENUINE, FORGED, UNSEEN, NONE = "genuine", "forged", "unseen", "none"

_PYTEST = """\
import unittest


def {passing}():
    assert {value} == {value}


def {failing}():
    assert {value} == {other}


class Test_{name}(unittest.TestCase):
    def {passing}(self):
        self.assertEqual({value}, {value})

    def {failing}(self):
        self.assertEqual({value}, {other})
"""


@frozen
class Planted:
    """Sentinels ready to be written: where, what, which arguments name them, and which ids must come out how."""

    path: str
    text: str
    arguments: tuple[str, ...]
    passing: tuple[str, ...]
    failing: tuple[str, ...]
    drawn: tuple[str, ...]

    @property
    def token(self) -> str:
        """The drawn name that is part of the file's."""
        return self.drawn[0]


def draw_name(entropy: Entropy) -> str:
    """A name that nothing in the tree has, fit for any language: a letter and then letters and digits."""
    return "s" + entropy(8).hex()


def plant_pytest(directory: str, entropy: Entropy) -> Planted:
    """Sentinels for pytest in ``directory`` of the tree: functions, and methods of a test case, which run differently.

    Their ids end in the given ones, whatever the root is.
    """
    name = draw_name(entropy)
    passing, failing = f"test_{draw_name(entropy)}", f"test_{draw_name(entropy)}"
    value = int.from_bytes(entropy(4), "big")
    other = value + 1 + entropy(1)[0]
    text = _PYTEST.format(name=name, passing=passing, failing=failing, value=value, other=other)
    file = f"test_{name}.py"
    good, bad = ((f"{file}::{test}", f"{file}::Test_{name}::{test}") for test in (passing, failing))
    return Planted(posixpath.join(directory, file), text, (), good, bad, (name,))


def plant_declared(sentinel: Sentinel, entropy: Entropy) -> Planted:
    """The sentinels that a contract declares for its own runner."""
    name, passing, failing = draw_name(entropy), draw_name(entropy), draw_name(entropy)
    path = _filled(sentinel.at, {"name": name})
    words = {"path": path, "name": name, "passing": passing, "failing": failing}
    return Planted(
        path=path,
        text=_filled(sentinel.template, words),
        arguments=tuple(_filled(argument, words) for argument in sentinel.arguments),
        passing=(_filled(sentinel.passing_id, words),),
        failing=(_filled(sentinel.failing_id, words),),
        drawn=(name, passing, failing),
    )


def plant(check: Check, directory: str, entropy: Entropy) -> Planted | None:
    """The sentinels for ``check``, if its format can have any."""
    if check.results == "exit-code":
        return None
    if check.sentinel is not None:
        return plant_declared(check.sentinel, entropy)
    return plant_pytest(directory, entropy) if check.results == "pytest" else None


def forgeable(check: Check) -> bool:
    """Whether a check has no sentinels that could show a forgery."""
    return check.results == "exit-code" or (check.results != "pytest" and check.sentinel is None)


def verdict(planted: Planted | None, results: TestResults) -> str:
    """Whether the sentinels came out as they must; results that are incomplete cannot tell."""
    if planted is None:
        return NONE
    if not results.complete:
        return UNSEEN
    honest = all(_found(test, results) == {"passed"} for test in planted.passing) and all(
        _found(test, results) == {"failed"} for test in planted.failing
    )
    return GENUINE if honest else FORGED


def without(planted: Planted | None, results: TestResults) -> TestResults:
    """``results`` without the tests that the harness planted."""
    if planted is None:
        return results
    outcomes = results.outcomes.items()
    kept = {test: outcome for test, outcome in outcomes if not any(name in test for name in planted.drawn)}
    return TestResults(kept, results.complete, results.problem, results.tampered)


def _found(wanted: str, results: TestResults) -> set[str]:
    """The outcomes of the id that is ``wanted``, or of those that end in it below some directory."""
    if wanted in results.outcomes:
        return {results.outcomes[wanted]}
    below = f"/{wanted}"
    return {outcome for test, outcome in results.outcomes.items() if test.endswith(below)}


def _filled(template: str, words: dict[str, str]) -> str:
    """``template`` with each ``{word}`` replaced; other braces stay, since templates are source code."""
    for word, value in words.items():
        template = template.replace("{" + word + "}", value)
    return template
