"""The text of pytest's sentinels: what passes, what fails, and by which assertions. Pure.

A forgery can make one kind of assertion harmless and leave the others alone. So a sentinel that must fail goes through
every kind that suites use: it ends as soon as one of them lets something wrong through, and has then passed, which
shows the forgery. If all of them hold, it fails by one that is drawn. How many sentinels there are is drawn too.
"""

from __future__ import annotations

from dataclasses import dataclass

from proctor.base.clock import Entropy

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
    words = {"a": low, "b": low + 1 + entropy(1)[0]}
    lines = [f"{margin}lambda: {kind.format(**words)},\n" for kind in kinds]
    last = kinds[entropy(1)[0] % len(kinds)].format(**words)
    return template.format(test=test, checks="".join(lines), last=last)


def _number(entropy: Entropy) -> int:
    return 1000 + int.from_bytes(entropy(3), "big")
