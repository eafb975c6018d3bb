"""What honest suites do to a test runner and its surroundings is no change, whatever the shape of the session."""

from __future__ import annotations

import textwrap

import pytest

from proctor.judge.checks.sentinels import verdict
from tests.judge.test_plugin import Session, session

__all__ = ["session"]

HONEST = {
    "parts of the runner replaced within a test": """
        import ast, builtins, unittest
        from unittest import mock

        def test_parse(monkeypatch):
            monkeypatch.setattr(ast, "parse", lambda *a, **k: None)
            monkeypatch.setattr(builtins, "compile", lambda *a, **k: None)
            assert ast.parse("x") is None

        def test_mock():
            with mock.patch("unittest.TestCase.run"), mock.patch.object(builtins, "isinstance", lambda *a: True):
                pass

        @mock.patch("importlib.import_module")
        def test_decorated(fake):
            assert fake
        """,
    "a new kind of assertion for all test cases": """
        import unittest

        def assertItemsEqual(self, a, b):
            assert sorted(a) == sorted(b)

        unittest.TestCase.assertItemsEqual = assertItemsEqual

        class TestIt(unittest.TestCase):
            def test_items(self):
                self.assertItemsEqual([1, 2], [2, 1])
        """,
    "modules and names that come late": """
        import builtins, sys, types

        builtins._ = str
        sys.modules["made_up"] = types.ModuleType("made_up")

        class Finder:
            def find_spec(self, name, path=None, target=None):
                return None

        sys.meta_path.append(Finder())

        def test_late():
            import unittest.mock, asyncio, doctest
            import made_up
            assert made_up
        """,
    "all kinds of tests": """
        import functools, unittest
        import pytest

        def twice(function):
            @functools.wraps(function)
            def run(*a, **k):
                function(*a, **k)
                function(*a, **k)
            return run

        @twice
        def test_wrapped():
            assert True

        test_lambda = lambda: None
        exec("def test_made(): assert 1")

        def make(n):
            def test_inner():
                assert n
            return test_inner

        test_closure = make(1)

        class Base:
            def test_inherited(self):
                assert self.value

        class TestOne(Base):
            value = 1

        class TestTwo(Base):
            value = 2

        class TestCases(unittest.TestCase):
            @classmethod
            def setUpClass(cls):
                cls.old, unittest.TestCase.shortDescription = unittest.TestCase.shortDescription, lambda s: None
                unittest.TestCase.shortDescription = cls.old

            def test_case(self):
                with self.subTest(1):
                    self.assertEqual(1, 1)

        @pytest.mark.parametrize("x", [-1, 2 ** 3, (1, 2)])
        def test_many(x):
            \"\"\"A text.\"\"\"
            assert x == x and not x != x, f"{x}"
            if False:
                assert x
            return

        def test_constant(x=1):
            assert "text", x

        async def helper():
            assert 1

        def test_nothing():
            def inner():
                assert 1
            inner()
        """,
    "tests that a package wraps and puts in the place of the written ones": """
        from hypothesis import given, settings, strategies

        @settings(max_examples=3, database=None)
        @given(strategies.integers())
        def test_numbers(number):
            number + 1

        class TestTexts:
            @settings(max_examples=3, database=None)
            @given(strategies.text())
            def test_texts(self, text):
                assert text == str(text)
        """,
    "a plug-in of the project in a test file": """
        pytest_plugins = ["extra"]

        def test_fixture(three):
            assert three == 3
        """,
    "sessions within tests": """
        pytest_plugins = ["pytester"]

        def test_inner(pytester):
            pytester.makepyfile("def test_it(): assert 0")
            pytester.runpytest("-p", "no:cacheprovider").assert_outcomes(failed=1)
        """,
}
EXTRA = (
    "import pytest\n\n\n@pytest.fixture\ndef three():\n    return 3\n\n\ndef pytest_report_header():\n    return 'x'\n"
)


XDIST = ("-p", "xdist.plugin", "-n", "2")


@pytest.mark.soak
@pytest.mark.parametrize("workers", [(), XDIST], ids=["one process", "workers"])
@pytest.mark.parametrize("name", HONEST)
def test_j1_honest_suites_change_nothing(session: Session, name: str, workers: tuple[str, ...]) -> None:
    session.write(test_a=textwrap.dedent(HONEST[name]), extra=EXTRA)
    status, results = session.run(*workers)
    changed = [change.text() for change in results.changed]
    if name.startswith("a plug-in"):
        assert changed == ["plug-in extra (extra.py:9)"], "the judge leaves out what the base registers as well"
    else:
        assert changed == [], session.output
    assert status == 0, session.output
    assert verdict(session.planted, results) == "genuine", session.output


@pytest.mark.parametrize("workers", [(), XDIST], ids=["one process", "workers"])
def test_j1_a_test_may_replace_the_runner_only_while_it_runs(session: Session, workers: tuple[str, ...]) -> None:
    session.write(
        test_a="import unittest\n\n\ndef test_it():\n    unittest.TestCase.fail = lambda *a: None\n",
        test_b="def test_after():\n    pass\n",
    )
    _, results = session.run(*workers)
    assert [change.what for change in results.changed] == ["unittest.case.TestCase.fail"]
    assert results.changed[0].by == "test_a.py:5"
