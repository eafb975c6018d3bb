"""Sentinels: tests that must pass and tests that must fail, added to the suite under names drawn at random.

Code under test shares a process with its tests and can rewrite their outcomes. A suite whose sentinels do not all have
the expected outcome was not reported by an honest runner: it is forged, whatever else it says. Names, which are made of
words, and for pytest the number and the places in the order of tests, are drawn for each attempt. A forgery that reads
the sentinels and adapts to them, or that deceives the comparison in a test with values made for it, is a risk that
remains.

A forgery can make one kind of assertion harmless and leave the others alone. So a sentinel that must fail goes through
every kind that suites use: it ends as soon as one of them lets something wrong through, and has then passed, which
shows the forgery. If all of them hold, it fails by one that is drawn. How many sentinels there are is drawn too.
"""

from __future__ import annotations

import posixpath
from dataclasses import dataclass, replace

from proctor.base.clock import Entropy
from proctor.contract.model import Check, Sentinel
from proctor.judge.checks.results_readers.interface import TestResults

_HEAD = """\
import sys
import unittest

import pytest

WRONG = (AssertionError, LookupError, pytest.fail.Exception)


def holds(check):
    try:
        check()
    except WRONG:
        return True
    return False


def equal(left, right):
    assert left == right


def true(value):
    assert value


def inside(value, several):
    assert value in several


def raises(expected, function):
    with pytest.raises(expected):
        function()


def uncalled(value):
    mock = sys.modules.get("unittest.mock")
    if mock is None:
        raise AssertionError(value)
    mock.Mock().assert_called_once_with(value)


def arrays(left, right):
    numpy = sys.modules.get("numpy.testing")
    if numpy is None:
        raise AssertionError(left)
    numpy.assert_array_equal([left], [right])


def close(left, right):
    numpy = sys.modules.get("numpy.testing")
    if numpy is None:
        raise AssertionError(left)
    numpy.assert_allclose([left], [right], rtol=1e-12)


def nothing():
    return None


def missing():
    raise LookupError("missing")
"""

_IMPORT = """
try:
    import {module} as {name}
except BaseException:
    {name} = None
"""

_METHODS = (
    "self.assertEqual({a}, {b})",
    "self.assertNotEqual({a}, {a})",
    "self.assertTrue({a} == {b})",
    "self.assertFalse({a} == {a})",
    "self.assertIs({a}, None)",
    "self.assertIsNot(None, None)",
    "self.assertIsNone({a})",
    "self.assertIsNotNone(None)",
    "self.assertIn({a}, [{b}])",
    "self.assertNotIn({a}, [{a}])",
    "self.assertIsInstance({a}, str)",
    "self.assertNotIsInstance({a}, int)",
    "self.assertRaises(ValueError, nothing)",
    "self.assertRaises(ValueError, missing)",
    "self.assertRaisesRegex(LookupError, 'found', missing)",
    "self.assertAlmostEqual({a}, {b})",
    "self.assertNotAlmostEqual({a}, {a})",
    "self.assertGreater({a}, {b})",
    "self.assertGreaterEqual({a}, {b})",
    "self.assertLess({b}, {a})",
    "self.assertLessEqual({b}, {a})",
    "self.assertRegex('{a}', '^x')",
    "self.assertNotRegex('{a}', '^[0-9]')",
    "self.assertCountEqual([{a}], [{b}])",
    "self.assertMultiLineEqual('{a}', '{b}')",
    "self.assertSequenceEqual([{a}], [{b}])",
    "self.assertListEqual([{a}], [{b}])",
    "self.assertTupleEqual(({a},), ({b},))",
    "self.assertSetEqual({{{a}}}, {{{b}}})",
    "self.assertDictEqual({{{a}: 1}}, {{{b}: 1}})",
    "self.fail('{a}')",
    "uncalled({a})",
)

_FUNCTIONS = (
    "equal({a}, {b})",
    "equal('{a}', '{b}')",
    "equal([{a}], [{b}])",
    "equal({{{a}: 1}}, {{{b}: 1}})",
    "equal({a}, pytest.approx({b}, rel=1e-12))",
    "true({a} > {b})",
    "true(not {a})",
    "true(None is not None)",
    "inside({a}, [{b}])",
    "inside('{a}', 'x')",
    "raises(ValueError, nothing)",
    "raises(ValueError, missing)",
    "pytest.warns(UserWarning, nothing)",
    "pytest.fail('{a}')",
    "uncalled({a})",
    "arrays({a}, {b})",
    "close({a}, {b})",
)

_FUNCTION_PASSES = "\n\ndef {test}():\n    assert {a} == {a}\n"
_METHOD_PASSES = "\n    def {test}(self):\n        self.assertEqual({a}, {a})\n"
_FUNCTION_FAILS = """

def {test}():
    checks = (
{checks}    )
    for check in checks:
        if not holds(check):
            return
    {last}
"""
_METHOD_FAILS = """
    def {test}(self):
        checks = (
{checks}        )
        for check in checks:
            if not holds(check):
                return
        {last}
"""
_CLASS = "\n\nclass {name}(unittest.TestCase):"


@dataclass(frozen=True)
class Names:
    """The names of tests: functions and methods, each those that pass and those that fail, and the methods' class."""

    passing: tuple[str, ...]
    failing: tuple[str, ...]
    passing_methods: tuple[str, ...]
    failing_methods: tuple[str, ...]
    test_case: str


def sentinel_text(names: Names, entropy: Entropy, modules: tuple[tuple[str, str], ...] = ()) -> str:
    """A test file whose tests pass or fail as ``names`` say. ``modules`` are imported, each under another name."""
    parts = [_HEAD]
    parts += [_IMPORT.format(module=module, name=name) for module, name in modules]
    parts += [_FUNCTION_PASSES.format(test=test, a=_number(entropy)) for test in names.passing]
    parts += [_failing(_FUNCTION_FAILS, _FUNCTIONS, test, " " * 8, entropy) for test in names.failing]
    parts.append(_CLASS.format(name=names.test_case))
    parts += [_METHOD_PASSES.format(test=test, a=_number(entropy)) for test in names.passing_methods]
    parts += [_failing(_METHOD_FAILS, _METHODS, test, " " * 12, entropy) for test in names.failing_methods]
    return "".join(parts)


def _failing(template: str, kinds: tuple[str, ...], test: str, margin: str, entropy: Entropy) -> str:
    """A test that goes through all ``kinds`` and fails by a drawn one of them."""
    low = _number(entropy)
    values = {"a": low, "b": low + 1 + entropy(1)[0]}
    lines = [f"{margin}lambda: {kind.format(**values)},\n" for kind in kinds]
    last = kinds[entropy(1)[0] % len(kinds)].format(**values)
    return template.format(test=test, checks="".join(lines), last=last)


def _number(entropy: Entropy) -> int:
    return 1000 + int.from_bytes(entropy(3), "big")


GENUINE, FORGED, UNSEEN, NONE = "genuine", "forged", "unseen", "none"

_WORDS = """
    able above acts adds after again alike alone apart appends asks back bad bare begins below best binds blank body
    bounds break brief bytes calls carry case cell chain change check child clean clear close code copies count
    cross dates deep default doubles drops early edge empty ends enters equal escapes even every exact extra fails
    fields files fills finds first fits flat folds form free full gives good group half handles head holds index
    inner input items joins jumps keeps key known large last late layers leads leaves left length level limit lines
    lists local long loops lower makes many maps marks merges middle mixed moves names nested never none notes
    number odd old once opens order other outer pairs parses part passes path plain point prints quotes raises range
    reads repeats rest returns right root rounds rows same sends sets shape short shows sides signs single skips
    small sorts spaces splits stays stops stream strict strips sums swaps tables takes tells text then third ties
    times token total trims twice types under units upper values views wide words works wraps writes zero
"""

WORDS = tuple(_WORDS.split())
"""What names are made of, so that they look like other names of tests."""

WORDS_IN_A_NAME = 5
MOST_MORE = 4
"""How many names of one kind a template can ask for beyond the first: ``{failing2}`` to ``{failing5}``."""


@dataclass(frozen=True)
class Planted:
    """Sentinels ready to be written: path, text, the arguments that select them, and the expected outcome of each id.

    ``places`` are drawn numbers that say where among the other tests each of them runs.
    """

    path: str
    text: str
    arguments: tuple[str, ...]
    passing: tuple[str, ...]
    failing: tuple[str, ...]
    drawn: tuple[str, ...]
    places: tuple[int, ...] = ()

    @property
    def token(self) -> str:
        """The drawn name that is part of the file's."""
        return self.drawn[0]


def draw_name(entropy: Entropy) -> str:
    """A name that does not occur in the tree and is valid in any language: words in small letters, joined by ``_``."""
    return "_".join(WORDS[byte % len(WORDS)] for byte in entropy(WORDS_IN_A_NAME))


def plant_pytest(directory: str, entropy: Entropy, modules: tuple[str, ...] = ()) -> Planted:
    """Sentinels for pytest in ``directory`` of the tree: functions, and methods of a test case, which run differently.

    The file imports ``modules`` under drawn names, as the tests do; an import that fails changes nothing.
    Their ids end in the given ones, whatever the root is.
    """
    name = draw_name(entropy)
    names = Names(
        passing=_draw_tests(entropy),
        failing=_draw_tests(entropy),
        passing_methods=_draw_tests(entropy),
        failing_methods=_draw_tests(entropy),
        test_case=f"Test{draw_name(entropy).title().replace('_', '')}",
    )
    text = sentinel_text(names, entropy, tuple((module, draw_name(entropy)) for module in modules))
    file = f"test_{name}.py"
    good = (*names.passing, *(f"{names.test_case}::{test}" for test in names.passing_methods))
    bad = (*names.failing, *(f"{names.test_case}::{test}" for test in names.failing_methods))
    return Planted(
        path=posixpath.join(directory, file),
        text=text,
        arguments=(),
        passing=tuple(f"{file}::{test}" for test in good),
        failing=tuple(f"{file}::{test}" for test in bad),
        drawn=(name,),
        places=tuple(int.from_bytes(entropy(4), "big") for _ in (*good, *bad)),
    )


def plant_declared(sentinel: Sentinel, entropy: Entropy) -> Planted:
    """The sentinels that a contract declares for its own runner.

    A template that also holds ``{passing2}`` or ``{failing2}``, and so on, has several tests with that outcome;
    their ids are made like that of the first.
    """
    name = draw_name(entropy)
    path = _filled(sentinel.at, {"name": name})
    values = {"path": path, "name": name}
    ids: dict[str, tuple[str, ...]] = {}
    for kind, wanted in (("passing", sentinel.passing_id), ("failing", sentinel.failing_id)):
        more = (f"{kind}{number}" for number in range(2, MOST_MORE + 2))
        tests = {
            mark: draw_name(entropy) for mark in (kind, *more) if mark == kind or f"{{{mark}}}" in sentinel.template
        }
        ids[kind] = tuple(_filled(wanted, {**values, kind: test}) for test in tests.values())
        values.update(tests)
    return Planted(
        path=path,
        text=_filled(sentinel.template, values),
        arguments=tuple(_filled(argument, values) for argument in sentinel.arguments),
        passing=ids["passing"],
        failing=ids["failing"],
        drawn=tuple(word for mark, word in values.items() if mark != "path"),
    )


def _draw_tests(entropy: Entropy) -> tuple[str, ...]:
    """Between one and three names of tests."""
    return tuple(f"test_{draw_name(entropy)}" for _ in range(1 + entropy(1)[0] % 3))


def plant(check: Check, directory: str, entropy: Entropy, modules: tuple[str, ...] = ()) -> Planted | None:
    """The sentinels for ``check``, if its format supports them. Those for pytest import ``modules``."""
    if check.results == "exit-code":
        return None
    if check.sentinel is not None:
        return plant_declared(check.sentinel, entropy)
    return plant_pytest(directory, entropy, modules) if check.results == "pytest" else None


def forgeable(check: Check) -> bool:
    """Whether a check has no sentinels that could show a forgery."""
    return check.results == "exit-code" or (check.results != "pytest" and check.sentinel is None)


def verdict(planted: Planted | None, results: TestResults) -> str:
    """Whether the sentinels have the expected outcomes; unknown for incomplete results."""
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
    return replace(results, outcomes=kept)


def _found(wanted: str, results: TestResults) -> set[str]:
    """The outcomes of the id that is ``wanted``, or of those that end in it below some directory."""
    if wanted in results.outcomes:
        return {results.outcomes[wanted]}
    below = f"/{wanted}"
    return {outcome for test, outcome in results.outcomes.items() if test.endswith(below)}


def _filled(template: str, values: dict[str, str]) -> str:
    """``template`` with each ``{word}`` replaced; other braces stay, since templates are source code."""
    for word, value in values.items():
        template = template.replace("{" + word + "}", value)
    return template
