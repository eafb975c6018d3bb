"""Edits of Python tests: a table with every rule, what is left alone, and odd files."""

from __future__ import annotations

import ast
import builtins
import math
import warnings

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from proctor.judge.checks.inverted_tests.assertion_edits import (
    ASSERTION,
    EXCEPTION,
    EXPECTATION,
    NEGATION,
    Edit,
    ReplacementValues,
    edited,
)
from proctor.judge.checks.inverted_tests.python import EQUALITIES, OPPOSITES, blocks
from tests.judge.checks.inverted_tests.shown import Places, cases, only, shown

RULES = r"""
| assert f()
negation 2: 'f()' -> not @
assertion 2: '' ->     assert len("w18") == 21\n

| assert (f(1)
|   == 3)
negation 3: '==' -> !=
form 3: '3' -> (3, "w44")
expectation 3: '3' -> 9

| assert f() == [1, 'a', b'b', True, None, 1.5, 2j, ...]
negation 2: '==' -> !=
form 2: "[1, 'a', b'b', True, None, 1.5, 2j, ...]" -> (@, "w36")
expectation 2: '1' -> 2
expectation 2: "'a'" -> 'q'
expectation 2: "b'b'" -> b'v'
expectation 2: 'True' -> False
expectation 2: 'None' -> True
expectation 2: '1.5' -> 1.0

| assert {'a': x, 'b': {3}} == f()
negation 2: '==' -> !=
form 2: "{'a': x, 'b': {3}}" -> (@, "w29")
expectation 2: "'a'" -> 'g'
expectation 2: "'b'" -> 'o'
expectation 2: '3' -> 9

| assert f() == (x, [-1, *y], 2 ** 3)
negation 2: '==' -> !=
form 2: '(x, [-1, *y], 2 ** 3)' -> (@, "w36")
expectation 2: '1' -> 7
expectation 2: '2' -> 6
expectation 2: '3' -> 1

| assert f() == (1 if x else 2)
negation 2: '==' -> !=
form 2: '1 if x else 2' -> (@, "w37")
assertion 2: '' ->     assert len("w18") == 21\n

| assert f() == g(3)
negation 2: '==' -> !=
form 2: 'g(3)' -> (@, "w36")
assertion 2: '' ->     assert len("w18") == 21\n

| assert f() == d['k']
negation 2: '==' -> !=
form 2: "d['k']" -> (@, "w36")
assertion 2: '' ->     assert len("w18") == 21\n

| assert f() == f'a{1}'
negation 2: '==' -> !=
form 2: "f'a{1}'" -> (@, "w36")
assertion 2: '' ->     assert len("w18") == 21\n

| assert x == y.z
negation 2: '==' -> !=
form 2: 'y.z' -> (@, "w34")
assertion 2: '' ->     assert len("w18") == 21\n

| assert 'a' == y.z
negation 2: '==' -> !=
form 2: "'a'" -> (@, "w29")
expectation 2: "'a'" -> 'f'

| assert f() is None
negation 2: 'is' -> @ not
expectation 2: 'None' -> True
assertion 2: '' ->     assert len("w18") == 21\n

| assert f() is x
negation 2: 'is' -> @ not
assertion 2: '' ->     assert len("w18") == 21\n

| assert f() != 3
negation 2: '!=' -> ==
assertion 2: '' ->     assert len("w18") == 21\n

| assert 0 < f() < 3
negation 2: '0 < f() < 3' -> not @
assertion 2: '' ->     assert len("w18") == 21\n

| assert 'a' in str(f())
negation 2: 'in' -> not @
form 2: "'a'" -> 'a w29 w30'
assertion 2: '' ->     assert len("w18") == 21\n

| assert b'a' in x.stdout
negation 2: 'in' -> not @
form 2: "b'a'" -> b'a w29 w30'
assertion 2: '' ->     assert len("w18") == 21\n

| assert 3 in f()
negation 2: 'in' -> not @
assertion 2: '' ->     assert len("w18") == 21\n

| assert f() == approx(3.5)
negation 2: '==' -> !=
form 2: 'approx(3.5)' -> (@, "w36")
assertion 2: '' ->     assert len("w18") == 21\n

| expected = [1, 'a']
| assert f() == expected
negation 3: '==' -> !=
form 3: 'expected' -> (@, "w60")
expectation 2: '1' -> 8
expectation 2: "'a'" -> 'n'

| expected = [1]
| assert expected == f()
negation 3: '==' -> !=
form 3: 'expected' -> (@, "w48")
expectation 2: '1' -> 8

| expected = 1
| assert f(expected) == expected
negation 3: '==' -> !=
form 3: 'expected' -> (@, "w61")
assertion 2: '' ->     assert len("w18") == 21\n
assertion 3: '' ->     assert len("w35") == 38\n

| expected = g(1)
| assert f() == expected
negation 3: '==' -> !=
form 3: 'expected' -> (@, "w56")
assertion 2: '' ->     assert len("w18") == 21\n
assertion 3: '' ->     assert len("w38") == 41\n

| assert f() == 'a' 'b'
negation 2: '==' -> !=
form 2: "'a' 'b'" -> (@, "w36")
expectation 2: "'a' 'b'" -> 'm' 'b'

| with pytest.raises(ValueError):
|     f()
negation 2: 'pytest.raises(ValueError)' -> open(__file__)
exception 2: 'ValueError' -> MemoryError
assertion 2: '' ->     assert len("w18") == 21\n

| with pytest.raises(ValueError, match='a|b') as info:
|     f(1)
| assert info.value.code == 2
negation 2: "pytest.raises(ValueError, match='a|b')" -> open(__file__)
exception 2: 'ValueError' -> MemoryError
negation 4: '==' -> !=
form 4: '2' -> (2, "w118")
expectation 4: '2' -> 1

| with self.assertRaisesRegex(ValueError, 'a$'):
|     f()
negation 2: "self.assertRaisesRegex(ValueError, 'a$')" -> open(__file__)
exception 2: 'ValueError' -> MemoryError
form 2: "'a$'" -> 'a$ w62 w63'

| with self.assertRaisesMessage(ValueError, 'a'):
|     f()
negation 2: "self.assertRaisesMessage(ValueError, 'a')" -> open(__file__)
exception 2: 'ValueError' -> MemoryError
form 2: "'a'" -> 'a w64 w65'

| with pytest.warns(UserWarning, match='a'):
|     f()
exception 2: 'UserWarning' -> BytesWarning
form 2: "'a'" -> 'a w59 w60'
call 3: 'f()' -> __import__("pytest").raises(TypeError, lambda: @)

| with self.assertWarnsRegex(UserWarning, 'a'):
|     f()
exception 2: 'UserWarning' -> BytesWarning
form 2: "'a'" -> 'a w62 w63'
call 3: 'f()' -> __import__("pytest").raises(ValueError, lambda: @)

| with pytest.raises(*several):
|     f()
negation 2: 'pytest.raises(*several)' -> open(__file__)
assertion 2: '' ->     assert len("w18") == 21\n

| with open(x) as file, raises(ValueError):
|     f()
negation 2: 'raises(ValueError)' -> open(__file__)
exception 2: 'ValueError' -> FloatingPointError
assertion 2: '' ->     assert len("w18") == 21\n

| self.assertRaises(ValueError, f, 1)
exception 2: 'ValueError' -> RecursionError
call 2: 'self.assertRaises(ValueError, f, 1)' -> __import__("pytest").raises(KeyError, lambda: @)
assertion 2: '' ->     assert len("w18") == 21\n

| pytest.raises(ValueError, f, match=pattern)
exception 2: 'ValueError' -> RecursionError
call 2: 'pytest.raises(ValueError, f, match=pattern)' -> __import__("pytest").raises(KeyError, lambda: @)
assertion 2: '' ->     assert len("w18") == 21\n

| self.assertEqual(f(), 3)
negation 2: 'assertEqual' -> assertNotEqual
form 2: '3' -> (3, "w44")
expectation 2: '3' -> 9

| self.assertEqual(3, f(), 'message')
negation 2: 'assertEqual' -> assertNotEqual
form 2: '3' -> (3, "w39")
expectation 2: '3' -> 4

| self.assertEqual(*x)
negation 2: 'assertEqual' -> assertNotEqual
call 2: 'self.assertEqual(*x)' -> __import__("pytest").raises(KeyError, lambda: @)
assertion 2: '' ->     assert len("w18") == 21\n

| assertEqual(f(), 3)
form 2: '3' -> (3, "w39")
expectation 2: '3' -> 4
call 2: 'assertEqual(f(), 3)' -> __import__("pytest").raises(KeyError, lambda: @)

| self.assertTrue(f())
negation 2: 'assertTrue' -> assertFalse
call 2: 'self.assertTrue(f())' -> __import__("pytest").raises(KeyError, lambda: @)
assertion 2: '' ->     assert len("w18") == 21\n

| self.assertIs(f(), None)
negation 2: 'assertIs' -> @Not
call 2: 'self.assertIs(f(), None)' -> __import__("pytest").raises(KeyError, lambda: @)
assertion 2: '' ->     assert len("w18") == 21\n

| self.assertNotIn('a', f())
negation 2: 'assertNotIn' -> assertIn
call 2: "self.assertNotIn('a', f())" -> __import__("pytest").raises(KeyError, lambda: @)
assertion 2: '' ->     assert len("w18") == 21\n

| self.assertIn('a', str(f()))
negation 2: 'assertIn' -> assertNotIn
form 2: "'a'" -> 'a w36 w37'
call 2: "self.assertIn('a', str(f()))" -> __import__("pytest").raises(KeyError, lambda: @)

| self.assertIn(3, f())
negation 2: 'assertIn' -> assertNotIn
call 2: 'self.assertIn(3, f())' -> __import__("pytest").raises(KeyError, lambda: @)
assertion 2: '' ->     assert len("w18") == 21\n

| self.assertGreater(f(), 3)
negation 2: 'assertGreater' -> assertLessEqual
call 2: 'self.assertGreater(f(), 3)' -> __import__("pytest").raises(KeyError, lambda: @)
assertion 2: '' ->     assert len("w18") == 21\n

| self.assertAlmostEqual(f(), 3.5, delta=9)
negation 2: 'assertAlmostEqual' -> assertNotAlmostEqual
form 2: '3.5' -> (@, "w50")
call 2: 'self.assertAlmostEqual(f(), 3.5, delta=9)' -> __import__("pytest").raises(KeyError, lambda: @)

| self.assertCountEqual(f(), [1])
form 2: '[1]' -> (@, "w49")
expectation 2: '1' -> 6
call 2: 'self.assertCountEqual(f(), [1])' -> __import__("pytest").raises(KeyError, lambda: @)

| self.assertSequenceEqual(f(), [1])
form 2: '[1]' -> (@, "w52")
expectation 2: '1' -> 9
call 2: 'self.assertSequenceEqual(f(), [1])' -> __import__("pytest").raises(KeyError, lambda: @)

| self.assertDictEqual(f(), {'a': 1})
negation 2: 'assertDictEqual' -> assertNotEqual
form 2: "{'a': 1}" -> (@, "w48")
expectation 2: "'a'" -> 'z'
expectation 2: '1' -> 0

| np.testing.assert_array_equal(f(), [1])
form 2: '[1]' -> (@, "w57")
expectation 2: '1' -> 5
call 2: 'np.testing.assert_array_equal(f(), [1])' -> __import__("pytest").raises(KeyError, lambda: @)

| assert_allclose(f(), [1.5], rtol=0.5)
form 2: '[1.5]' -> (@, "w43")
call 2: 'assert_allclose(f(), [1.5], rtol=0.5)' -> __import__("pytest").raises(KeyError, lambda: @)
assertion 2: '' ->     assert len("w18") == 21\n

| eq_(f(), 1)
form 2: '1' -> (1, "w31")
expectation 2: '1' -> 5
call 2: 'eq_(f(), 1)' -> __import__("pytest").raises(KeyError, lambda: @)

| m.assert_called_once_with(1, a=2)
form 2: '' -> "w22",·
expectation 2: '1' -> 4
expectation 2: '2' -> 9
assertion 2: '' ->     assert len("w18") == 21\n

| m.assert_called_with()
form 2: '' -> "w22",·
call 2: 'm.assert_called_with()' -> __import__("pytest").raises(KeyError, lambda: @)
assertion 2: '' ->     assert len("w18") == 21\n

| m.assert_not_called()
negation 2: 'assert_not_called' -> assert_called
call 2: 'm.assert_not_called()' -> __import__("pytest").raises(KeyError, lambda: @)
assertion 2: '' ->     assert len("w18") == 21\n

| m.assert_called_once()
negation 2: 'assert_called_once' -> assert_not_called
call 2: 'm.assert_called_once()' -> __import__("pytest").raises(KeyError, lambda: @)
assertion 2: '' ->     assert len("w18") == 21\n

| self.assert_called_with(1)
call 2: 'self.assert_called_with(1)' -> __import__("pytest").raises(KeyError, lambda: @)
assertion 2: '' ->     assert len("w18") == 21\n

| assert_called_with(m, 1)
call 2: 'assert_called_with(m, 1)' -> __import__("pytest").raises(KeyError, lambda: @)
assertion 2: '' ->     assert len("w18") == 21\n

| f(1)
call 2: 'f(1)' -> __import__("pytest").raises(KeyError, lambda: @)
assertion 2: '' ->     assert len("w18") == 21\n

| await f(1)
| g(await f())
assertion 2: '' ->     assert len("w18") == 21\n
assertion 3: '' ->     assert len("w33") == 36\n

| super().test_a()
assertion 2: '' ->     assert len("w18") == 21\n

| f([x async for x in y])
assertion 2: '' ->     assert len("w18") == 21\n

| f((yield))

| f(x := 3)
assertion 2: '' ->     assert len("w18") == 21\n

| print(1); g(2)
call 2: 'print(1)' -> __import__("pytest").raises(KeyError, lambda: @)
call 2: 'g(2)' -> __import__("pytest").raises(ValueError, lambda: @)
assertion 2: '' ->     assert len("w18") == 21\n

| self.assertWarnsMessage(UserWarning, 'a', f)
exception 2: 'UserWarning' -> UnicodeWarning
form 2: "'a'" -> 'a w59 w60'
call 2: "self.assertWarnsMessage(UserWarning, 'a', f)" -> __import__("pytest").raises(KeyError, lambda: @)

| with self.assertRaisesRegexp(ValueError, 'a', 1):
|     f()
negation 2: "self.assertRaisesRegexp(ValueError, 'a', 1)" -> open(__file__)
exception 2: 'ValueError' -> MemoryError
form 2: "'a'" -> 'a w63 w64'

| with pytest.raises(ValueError, match=x, other='a'):
|     f()
negation 2: "pytest.raises(ValueError, match=x, other='a')" -> open(__file__)
exception 2: 'ValueError' -> MemoryError
assertion 2: '' ->     assert len("w18") == 21\n

| self.assertRaisesRegex(ValueError, x, f)
exception 2: 'ValueError' -> RecursionError
call 2: 'self.assertRaisesRegex(ValueError, x, f)' -> __import__("pytest").raises(KeyError, lambda: @)
assertion 2: '' ->     assert len("w18") == 21\n

| pytest.raises()
call 2: 'pytest.raises()' -> __import__("pytest").raises(KeyError, lambda: @)
assertion 2: '' ->     assert len("w18") == 21\n

| self.assertEqual(f(), x)
negation 2: 'assertEqual' -> assertNotEqual
form 2: 'x' -> (x, "w44")
call 2: 'self.assertEqual(f(), x)' -> __import__("pytest").raises(KeyError, lambda: @)

| self.assertEqual(f(), *x)
negation 2: 'assertEqual' -> assertNotEqual
call 2: 'self.assertEqual(f(), *x)' -> __import__("pytest").raises(KeyError, lambda: @)
assertion 2: '' ->     assert len("w18") == 21\n

| self.assertEqual(f(), 3, *x)
negation 2: 'assertEqual' -> assertNotEqual
call 2: 'self.assertEqual(f(), 3, *x)' -> __import__("pytest").raises(KeyError, lambda: @)
assertion 2: '' ->     assert len("w18") == 21\n

| self.assertAlmostEqual(f(), 3.5)
negation 2: 'assertAlmostEqual' -> assertNotAlmostEqual
form 2: '3.5' -> (@, "w50")
call 2: 'self.assertAlmostEqual(f(), 3.5)' -> __import__("pytest").raises(KeyError, lambda: @)

| self.assertIs(f(), g(), 'm')
negation 2: 'assertIs' -> @Not
call 2: "self.assertIs(f(), g(), 'm')" -> __import__("pytest").raises(KeyError, lambda: @)
assertion 2: '' ->     assert len("w18") == 21\n

| self.assertEqual(f())
negation 2: 'assertEqual' -> assertNotEqual
call 2: 'self.assertEqual(f())' -> __import__("pytest").raises(KeyError, lambda: @)
assertion 2: '' ->     assert len("w18") == 21\n

| assert f() == +3
negation 2: '==' -> !=
form 2: '+3' -> (@, "w36")
expectation 2: '3' -> 1

| assert f() == {**x, 'a': [2]}
negation 2: '==' -> !=
form 2: "{**x, 'a': [2]}" -> (@, "w36")
expectation 2: "'a'" -> 's'
expectation 2: '2' -> 4

| assert f() == {1: 'a'}['b']
negation 2: '==' -> !=
form 2: "{1: 'a'}['b']" -> (@, "w36")
assertion 2: '' ->     assert len("w18") == 21\n

| x = 'a'
| x = 'b'
| assert f() == x
negation 4: '==' -> !=
form 4: 'x' -> (x, "w60")
assertion 2: '' ->     assert len("w18") == 21\n
assertion 3: '' ->     assert len("w30") == 33\n
assertion 4: '' ->     assert len("w42") == 45\n

| x = y = 'a'
| assert f() == x
negation 3: '==' -> !=
form 3: 'x' -> (x, "w52")
assertion 2: '' ->     assert len("w18") == 21\n
assertion 3: '' ->     assert len("w34") == 37\n

| x.a = 'a'
| assert f() == x
negation 3: '==' -> !=
form 3: 'x' -> (x, "w50")
assertion 2: '' ->     assert len("w18") == 21\n
assertion 3: '' ->     assert len("w32") == 35\n

| assert x == y
negation 2: '==' -> !=
form 2: 'y' -> (y, "w34")
assertion 2: '' ->     assert len("w18") == 21\n

| a = 1
| b = 2
| assert a == b
negation 4: '==' -> !=
form 4: 'b' -> (b, "w54")
expectation 3: '2' -> 0

| assert f() == -x
negation 2: '==' -> !=
form 2: '-x' -> (@, "w36")
assertion 2: '' ->     assert len("w18") == 21\n

| assert f() == (await g())
negation 2: '==' -> !=
form 2: 'await g()' -> (@, "w37")
assertion 2: '' ->     assert len("w18") == 21\n

| assert y.z == 'a'
negation 2: '==' -> !=
form 2: "'a'" -> (@, "w36")
expectation 2: "'a'" -> 'm'

| assert 'a' in x.text, 'm'
negation 2: 'in' -> not @
form 2: "'a'" -> 'a w29 w30'
assertion 2: '' ->     assert len("w18") == 21\n

| assert x not in f()
negation 2: 'not in' -> in
assertion 2: '' ->     assert len("w18") == 21\n

| assert f() is not None
negation 2: 'is not' -> is
assertion 2: '' ->     assert len("w18") == 21\n

| assert 'a' 'b' in str(f())
negation 2: 'in' -> not @
form 2: "'a' 'b'" -> 'a' 'b w29 w30'
assertion 2: '' ->     assert len("w18") == 21\n

| assert ['a'] in f()
negation 2: 'in' -> not @
assertion 2: '' ->     assert len("w18") == 21\n

| async with raises(ValueError):
|     f()
negation 2: 'raises(ValueError)' -> open(__file__)
exception 2: 'ValueError' -> MemoryError
assertion 2: '' ->     assert len("w18") == 21\n

| g(f(1))
| h = 1
| assert h
negation 4: 'h' -> not h
call 2: 'g(f(1))' -> __import__("pytest").raises(KeyError, lambda: @)
assertion 2: '' ->     assert len("w18") == 21\n
assertion 3: '' ->     assert len("w30") == 33\n
assertion 4: '' ->     assert len("w40") == 43\n

| m.f.assert_any_call(*x)
form 2: '' -> "w22",·
call 2: 'm.f.assert_any_call(*x)' -> __import__("pytest").raises(KeyError, lambda: @)
assertion 2: '' ->     assert len("w18") == 21\n

| m.assert_awaited_once()
negation 2: 'assert_awaited_once' -> assert_not_awaited
call 2: 'm.assert_awaited_once()' -> __import__("pytest").raises(KeyError, lambda: @)
assertion 2: '' ->     assert len("w18") == 21\n

| m.assert_awaited_once_with(1)
form 2: '' -> "w22",·
expectation 2: '1' -> 5
call 2: 'm.assert_awaited_once_with(1)' -> __import__("pytest").raises(KeyError, lambda: @)

| cls.assert_called_with(1)
call 2: 'cls.assert_called_with(1)' -> __import__("pytest").raises(KeyError, lambda: @)
assertion 2: '' ->     assert len("w18") == 21\n

| '''text'''
| a = 1
| b = 2
| c = 3
assertion 2: '' ->     assert len("w18") == 21\n
assertion 3: '' ->     assert len("w33") == 36\n
assertion 4: '' ->     assert len("w43") == 46\n

| f(1)
| g(2)
| h(3)
| i(4)
call 2: 'f(1)' -> __import__("pytest").raises(KeyError, lambda: @)
call 3: 'g(2)' -> __import__("pytest").raises(RuntimeError, lambda: @)
call 4: 'h(3)' -> __import__("pytest").raises(ValueError, lambda: @)
call 5: 'i(4)' -> __import__("pytest").raises(TypeError, lambda: @)
assertion 2: '' ->     assert len("w18") == 21\n
assertion 3: '' ->     assert len("w27") == 30\n
assertion 4: '' ->     assert len("w36") == 39\n

| assert f() == ''
negation 2: '==' -> !=
form 2: "''" -> (@, "w36")
expectation 2: "''" -> 'w36'

| x = f(1)
assertion 2: '' ->     assert len("w18") == 21\n

| self.a.b(1)
call 2: 'self.a.b(1)' -> __import__("pytest").raises(KeyError, lambda: @)
assertion 2: '' ->     assert len("w18") == 21\n

| assert f(), self.assertEqual(f(), 1)
negation 2: 'f()' -> not @
assertion 2: '' ->     assert len("w18") == 21\n

| assert f() == (yield x)

| assert f(
|   1,
| ) == 2
negation 4: '==' -> !=
form 4: '2' -> (2, "w50")
expectation 4: '2' -> 6

| assert not f()
negation 2: 'not f()' -> f()
assertion 2: '' ->     assert len("w18") == 21\n

| assert f() == ('a' + 'b') * 2
negation 2: '==' -> !=
form 2: "('a' + 'b') * 2" -> (@, "w36")
expectation 2: '2' -> 6
expectation 2: "'a'" -> 'n'
expectation 2: "'b'" -> 't'

| assert f() == ~3
negation 2: '==' -> !=
form 2: '~3' -> (@, "w36")
expectation 2: '3' -> 1

| assert f() == (1 < 2)
negation 2: '==' -> !=
form 2: '1 < 2' -> (@, "w37")
assertion 2: '' ->     assert len("w18") == 21\n

| raises(ValueError, f)
exception 2: 'ValueError' -> RecursionError
call 2: 'raises(ValueError, f)' -> __import__("pytest").raises(KeyError, lambda: @)
assertion 2: '' ->     assert len("w18") == 21\n

| with self.subTest(1):
|     assert f() == 1
negation 3: '==' -> !=
form 3: '1' -> (1, "w66")
expectation 3: '1' -> 4

| (self
|   .assertEqual(f(), 1))
negation 3: 'assertEqual' -> assertNotEqual
form 3: '1' -> (1, "w52")
expectation 3: '1' -> 8

| m.assert_called_with((1), g(2))
form 2: '' -> "w22",·
expectation 2: '1' -> 9
call 2: 'm.assert_called_with((1), g(2))' -> __import__("pytest").raises(KeyError, lambda: @)

| self.assertRaisesRegex(ValueError, 'a', 'b')
exception 2: 'ValueError' -> RecursionError
form 2: "'a'" -> 'a w57 w58'
call 2: "self.assertRaisesRegex(ValueError, 'a', 'b')" -> __import__("pytest").raises(KeyError, lambda: @)

| assert not (a or
|   b)
| assert a and b
| assert (x := f())
| assert 1 if a else b
negation 2: 'not (a or\n      b)' -> (a or\n      b)
negation 4: 'a and b' -> not (@)
negation 5: 'x := f()' -> not (@)
negation 6: '1 if a else b' -> not (@)
assertion 2: '' ->     assert len("w18") == 21\n
assertion 4: '' ->     assert len("w48") == 51\n
assertion 5: '' ->     assert len("w67") == 70\n

| assert (a) not  in (b)
negation 2: 'not  in' -> in
assertion 2: '' ->     assert len("w18") == 21\n

| assert a < b
negation 2: '<' -> >=
assertion 2: '' ->     assert len("w18") == 21\n

| assert (a >= # comment
|   b)
negation 2: 'a >= # comment\n      b' -> not @
assertion 2: '' ->     assert len("w18") == 21\n

| assert f() is ...
negation 2: 'is' -> @ not
expectation 2: '...' -> None
assertion 2: '' ->     assert len("w18") == 21\n

| assert f() == 'one ' 'two' # three
negation 2: '==' -> !=
form 2: "'one ' 'two'" -> (@, "w36")
expectation 2: "'one ' 'two'" -> 'ole ' 'two'

| assert f() == r'\n' and g()
negation 2: "f() == r'\\n' and g()" -> not (@)
assertion 2: '' ->     assert len("w18") == 21\n

| assert f() == ('' # words
|   '')
negation 2: '==' -> !=
form 2: "'' # words\n      ''" -> (@, "w37")
expectation 2: "'' # words\n      ''" -> 'w37'

| assert f() == 1e400
negation 2: '==' -> !=
form 2: '1e400' -> (@, "w36")
expectation 2: '1e400' -> 0e400

| assert 'a' 'b' == f(), "text"
negation 2: '==' -> !=
form 2: "'a' 'b'" -> (@, "w29")
expectation 2: "'a' 'b'" -> 'a' 'f'

| assert (f() ==
|   b'\x41')
negation 2: '==' -> !=
form 3: "b'\\x41'" -> (@, "w43")
expectation 3: "b'\\x41'" -> b'w43\x41'

| with raises(ValueError, match='one two'):
|     f()
negation 2: "raises(ValueError, match='one two')" -> open(__file__)
exception 2: 'ValueError' -> MemoryError
form 2: "'one two'" -> 'one two w52 w53'

| a = 1; b = 2
| c = 3
assertion 2: '' ->     assert len("w18") == 21\n
assertion 3: '' ->     assert len("w35") == 38\n

| with raises(RuntimeError):
|     f()
negation 2: 'raises(RuntimeError)' -> open(__file__)
exception 2: 'RuntimeError' -> FloatingPointError
assertion 2: '' ->     assert len("w18") == 21\n

| with open(x) as file, raises(ArithmeticError):
|     f()
negation 2: 'raises(ArithmeticError)' -> open(__file__)
exception 2: 'ArithmeticError' -> StopAsyncIteration
assertion 2: '' ->     assert len("w18") == 21\n

| with raises((MemoryError, KeyError)):
|     f()
negation 2: 'raises((MemoryError, KeyError))' -> open(__file__)
exception 2: '(MemoryError, KeyError)' -> FloatingPointError
assertion 2: '' ->     assert len("w18") == 21\n

| with raises(Exception):
|     f()
negation 2: 'raises(Exception)' -> open(__file__)
assertion 2: '' ->     assert len("w18") == 21\n

| with raises(BaseException):
|     f()
negation 2: 'raises(BaseException)' -> open(__file__)
assertion 2: '' ->     assert len("w18") == 21\n

| with raises((ValueError, Exception)):
|     f()
negation 2: 'raises((ValueError, Exception))' -> open(__file__)
assertion 2: '' ->     assert len("w18") == 21\n

| with raises(OSError):
|     f()
negation 2: 'raises(OSError)' -> open(__file__)
exception 2: 'OSError' -> MemoryError
assertion 2: '' ->     assert len("w18") == 21\n

| with raises(BufferError):
|     f()
negation 2: 'raises(BufferError)' -> open(__file__)
exception 2: 'BufferError' -> MemoryError
assertion 2: '' ->     assert len("w18") == 21\n

| with raises(builtins.RuntimeError):
|     f()
negation 2: 'raises(builtins.RuntimeError)' -> open(__file__)
exception 2: 'builtins.RuntimeError' -> StopAsyncIteration
assertion 2: '' ->     assert len("w18") == 21\n

| with raises(library.Exception):
|     f()
negation 2: 'raises(library.Exception)' -> open(__file__)
assertion 2: '' ->     assert len("w18") == 21\n

| with raises(Custom):
|     f()
negation 2: 'raises(Custom)' -> open(__file__)
exception 2: 'Custom' -> StopAsyncIteration
assertion 2: '' ->     assert len("w18") == 21\n

| with raises((Custom, EOFError, IOError)):
|     f()
negation 2: 'raises((Custom, EOFError, IOError))' -> open(__file__)
exception 2: '(Custom, EOFError, IOError)' -> StopAsyncIteration
assertion 2: '' ->     assert len("w18") == 21\n

| with raises(expected[ValueError]):
|     f()
negation 2: 'raises(expected[ValueError])' -> open(__file__)
exception 2: 'expected[ValueError]' -> StopAsyncIteration
assertion 2: '' ->     assert len("w18") == 21\n

| with raises(print):
|     f()
negation 2: 'raises(print)' -> open(__file__)
exception 2: 'print' -> StopAsyncIteration
assertion 2: '' ->     assert len("w18") == 21\n

| with raises(Exception, match='a'):
|     f()
negation 2: "raises(Exception, match='a')" -> open(__file__)
form 2: "'a'" -> 'a w51 w52'
assertion 2: '' ->     assert len("w18") == 21\n

| with pytest.warns(Warning):
|     f()
call 3: 'f()' -> __import__("pytest").raises(KeyError, lambda: @)
assertion 2: '' ->     assert len("w18") == 21\n

| with pytest.warns((UnicodeWarning, ImportWarning)):
|     f()
exception 2: '(UnicodeWarning, ImportWarning)' -> BytesWarning
call 3: 'f()' -> __import__("pytest").raises(KeyError, lambda: @)
assertion 2: '' ->     assert len("w18") == 21\n

| with pytest.warns(Exception, match='a'):
|     f()
form 2: "'a'" -> 'a w57 w58'
call 3: 'f()' -> __import__("pytest").raises(RuntimeError, lambda: @)
assertion 2: '' ->     assert len("w18") == 21\n

| self.assertRaises(Exception, f, 1)
call 2: 'self.assertRaises(Exception, f, 1)' -> __import__("pytest").raises(KeyError, lambda: @)
assertion 2: '' ->     assert len("w18") == 21\n

| assert f(1) == 1e400
negation 2: '==' -> !=
form 2: '1e400' -> (@, "w37")
assertion 2: '' ->     assert len("w18") == 21\n

| assert f(12) == 1e308
negation 2: '==' -> !=
form 2: '1e308' -> (@, "w38")
assertion 2: '' ->     assert len("w18") == 21\n

| assert f(1) == 00
negation 2: '==' -> !=
form 2: '00' -> (@, "w37")
expectation 2: '00' -> 2

| assert f() == '\N{DIGIT ONE}'
negation 2: '==' -> !=
form 2: "'\\N{DIGIT ONE}'" -> (@, "w36")
expectation 2: "'\\N{DIGIT ONE}'" -> '0'

| assert '\N{DIGIT ONE}' in str(f())
negation 2: 'in' -> not @
form 2: "'\\N{DIGIT ONE}'" -> '\N{DIGIT ONE} w29 w30'
assertion 2: '' ->     assert len("w18") == 21\n

| assert ('a' # b's
|   'c') in str(f())
negation 3: 'in' -> not @
form 2: "'a' # b's\n      'c'" -> 'a' # b's\n      'c w30 w31'
assertion 2: '' ->     assert len("w18") == 21\n
"""


def written(source: str) -> bytes:
    """A test with ``source`` as its body."""
    body = source.replace("\n", "\n    ")
    return f"def test_a(self):\n    {body}\n".encode()


def edits_of(source: str, *, by_pytest: bool = True) -> list[str]:
    data = written(source)
    return shown(data, only(blocks(data, Places(), by_pytest=by_pytest)).edits)


@pytest.mark.parametrize(("source", "expected"), cases(RULES))
def test_every_rule_makes_exactly_these_edits(source: str, expected: list[str]) -> None:
    assert edits_of(source) == expected


def test_without_pytest_plain_calls_must_raise_by_the_methods_of_unittest() -> None:
    assert edits_of("f(1)", by_pytest=False)[0] == ("call 2: 'f(1)' -> self.assertRaises(KeyError, lambda: @)")
    for head in ("def test_a():", "def test_a(client):"):
        data = f"{head}\n    f(1)\n".encode()
        kinds = [edit.kind for edit in only(blocks(data, Places(), by_pytest=False)).edits]
        assert kinds == [ASSERTION], "no method that could expect an exception"


def test_names_and_the_names_around_them_are_found_at_any_depth_of_classes() -> None:
    data = b"""
def helper(): pass
class TestOuter:
    def test_a(self): pass
    class Inner:
        async def test_b(self): pass
    class Fake:
        def get(self): pass
if x:
    def test_c(): pass
else:
    def test_d(): pass
try:
    def test_e(): pass
except OSError:
    def test_f(): pass
class Behaviour:
    def test_g(self): pass
class BaseTest:
    def helper(self): pass
class Fake:
    def call(self):
        assert x == 1
while x:
    def test_h(): pass
"""
    assert [(one.around, one.name) for one in blocks(data, Places())] == [
        ((), "helper"),
        (("TestOuter",), "test_a"),
        (("TestOuter", "Inner"), "test_b"),
        ((), "test_c"),
        ((), "test_d"),
        ((), "test_e"),
        (("Behaviour",), "test_g"),
        (("BaseTest",), "helper"),
    ]


def test_what_a_test_calls_by_name_and_on_itself_is_noted() -> None:
    data = b"""def test_a(self):
    one(two())
    self.three()
    cls.four()
    other.five()
    self.x.six()
    if x:
        seven()
    table[0]()
    return (eight)
"""
    assert only(blocks(data, Places())).calls == {"one", "two", ".three", ".four"}


def test_kinds_of_equality_without_an_exact_opposite_are_not_negated() -> None:
    assert not OPPOSITES.keys() & {"assertCountEqual", "assertSequenceEqual"}
    assert {"assertCountEqual", "assertSequenceEqual"} <= EQUALITIES
    assert not any("Not" in name for name in EQUALITIES)
    for name, opposite in OPPOSITES.items():
        assert name != opposite
        assert opposite in OPPOSITES, "each opposite is an assertion that has one itself"


NONCES = [b"%d" % number for number in range(30)]
EXCEPTIONS = sorted(
    name for name, one in vars(builtins).items() if isinstance(one, type) and issubclass(one, Exception)
)


@pytest.mark.parametrize("name", EXCEPTIONS)
@pytest.mark.parametrize("context", ["pytest.raises({})", "pytest.warns((OSError, {}))"])
def test_what_a_test_expects_is_never_expected_instead(context: str, name: str) -> None:
    data = written(f"with {context.format(name)}:\n    pass")
    for nonce in NONCES:
        for edit in only(blocks(data, ReplacementValues(nonce))).edits:
            if edit.kind == EXCEPTION:
                assert not issubclass(getattr(builtins, edit.new.decode()), getattr(builtins, name))


def test_a_float_is_never_expected_to_be_what_no_literal_can_say() -> None:
    drawn = set()
    for nonce in NONCES:
        data = written("assert f() == [1e400, 1e308, 5e-324]")
        drawn |= {edit.new for edit in only(blocks(data, ReplacementValues(nonce))).edits if edit.kind == EXPECTATION}
    assert drawn
    assert all(math.isfinite(float(one)) for one in drawn), drawn
    assert not {1e308, 5e-324} & {float(one) for one in drawn}


def test_a_statement_behind_another_on_its_line_gets_no_assertion() -> None:
    for source in ("def test_a(): x = 1", "def test_a(\n): x = 1", "def test_a(): x = 1; y = 2"):
        assert only(blocks(source.encode(), Places())).edits == ()


def test_an_assertion_before_a_decorated_function_comes_before_its_decorators() -> None:
    data = b"def test_a():\n    @one\n    @two\n    def inner():\n        pass\n"
    (edit,) = only(blocks(data, Places())).edits
    assert edited(data, [edit]) == data.replace(b"    @one", b'    assert len("w14") == 17\n    @one')
    assert (edit.kind, edit.line) == (ASSERTION, 2)


@pytest.mark.parametrize("end", [b"\n", b"\r\n", b"\r"])
@pytest.mark.parametrize("head", [b"", b"\xef\xbb\xbf", b"\f", b"# -*- coding: utf-8 -*-\n"])
def test_line_ends_and_a_byte_order_mark_do_not_move_edits(end: bytes, head: bytes) -> None:
    source = "def test_a():\n\tx = 'ä'; assert f(x) == 'ö'\n\tassert g() == 3\n".encode()
    data = (head + source).replace(b"\n", end)
    found = {data[edit.start : edit.end] for edit in only(blocks(data, ReplacementValues(b""))).edits}
    assert found == {b"==", "'ö'".encode(), b"3"}
    lines = {edit.line - head.count(b"\n") for edit in only(blocks(data, ReplacementValues(b""))).edits}
    assert lines == {2, 3}


@pytest.mark.parametrize("mark", [b"", b"\xef\xbb\xbf"])
def test_a_test_on_the_first_line_behind_a_byte_order_mark(mark: bytes) -> None:
    data = mark + b"def test_a(): assert f() == 3"
    edits = only(blocks(data, Places())).edits
    assert [data[edit.start : edit.end] for edit in edits] == [b"==", b"3", b"3"]


def test_another_encoding_is_left_alone_unless_every_byte_is_ascii() -> None:
    test = b"def test_a():\n    assert f() == '\xc3\xa4'\n"
    assert blocks(b"# coding: latin-1\n" + test, Places()) == ()
    assert len(blocks(b"# coding: latin-1\n" + test.replace(b"\xc3\xa4", b"a"), Places())) == 1
    assert len(blocks(test, Places())) == 1


@pytest.mark.parametrize(
    "data",
    [
        b"def test_a(:",
        b"\xff\xfe",
        b"def test_a():\n    x = '\xe4'\n",
        b"x = '\x00'",
        b"# coding: no-such-encoding\n",
        b"x = " + b"(" * 5_000 + b")" * 5_000,
        b"x = " + b"-" * 200_000 + b"1",
        b"x = " + b"+".join([b"1"] * 100_000),
        b"x = 1" + b"0" * 10_000,
    ],
    ids=["syntax", "bytes", "latin-1", "null", "unknown", "brackets", "signs", "sum", "digits"],
)
def test_files_that_do_not_parse_have_no_tests(data: bytes) -> None:
    assert blocks(data, Places()) == ()


def test_warnings_of_the_parser_are_neither_errors_nor_shown() -> None:
    data = b"def test_a():\n    assert f() == '\\d'\n"
    with warnings.catch_warnings(record=True) as seen:
        warnings.simplefilter("always")
        assert len(blocks(data, Places())) == 1
    assert seen == []


STATEMENTS = st.lists(
    st.sampled_from([source for source, _ in cases(RULES) if "await" not in source and "async" not in source]),
    min_size=1,
    max_size=4,
)


@settings(max_examples=40)
@given(STATEMENTS, st.binary(max_size=4))
def test_every_edited_file_parses_and_differs(sources: list[str], nonce: bytes) -> None:
    data = written("\n".join(sources))
    block = only(blocks(data, ReplacementValues(nonce)))
    assert {edit.kind for edit in block.edits} & {NEGATION, EXPECTATION, ASSERTION, EXCEPTION}
    for edit in block.edits:
        after = edited(data, [edit])
        assert ast.dump(ast.parse(after)) != ast.dump(ast.parse(data))
        assert data.count(b"\n", 0, edit.start) + 1 == edit.line


@settings(max_examples=40)
@given(STATEMENTS)
def test_edits_that_do_not_overlap_are_made_together(sources: list[str]) -> None:
    data = written("\n".join(sources))
    chosen: list[Edit] = []
    for edit in only(blocks(data, Places())).edits:
        if not any(edit.overlaps(other) for other in chosen):
            chosen.append(edit)
    ast.parse(edited(data, chosen))
