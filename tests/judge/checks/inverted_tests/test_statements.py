"""Which parts of a Python test every passing run reaches: edits are made there and nowhere else."""

from __future__ import annotations

import ast

import pytest

from proctor.judge.checks.inverted_tests.python import blocks
from proctor.judge.checks.inverted_tests.python_alterable_parts import called_name, certain_nodes, certain_statements
from tests.judge.checks.inverted_tests.shown import Places, cases, only, shown

BRANCHES = r"""
| if x:
|     assert f() == 1
| else:
|     assert g() == 2
assertion 2: '' ->     assert len("w18") == 21\n

| try:
|     assert f() == 1
| except OSError as e:
|     assert e.errno == 2
assertion 2: '' ->     assert len("w18") == 21\n

| try:
|     assert f() == 1
| finally:
|     assert g()
negation 3: '==' -> !=
form 3: '1' -> (1, "w49")
expectation 3: '1' -> 5
negation 5: 'g()' -> not @

| while x:
|     assert f() == 1
assertion 2: '' ->     assert len("w18") == 21\n

| for x in y:
|     assert f(x) == 1
assertion 2: '' ->     assert len("w18") == 21\n

| for x in y:
|     if x:
|         continue
|     assert f(x) == 1
assertion 2: '' ->     assert len("w18") == 21\n

| for x in y:
|     if x:
|         break
| assert f(x) == 1
negation 5: '==' -> !=
form 5: '1' -> (1, "w85")
expectation 5: '1' -> 5

| for x in y:
|     if x:
|         return
| assert f(x) == 1
assertion 2: '' ->     assert len("w18") == 21\n

| if x:
|     return
| assert f(x) == 1
assertion 2: '' ->     assert len("w18") == 21\n

| match x:
|     case 1:
|         assert f() == 1
assertion 2: '' ->     assert len("w18") == 21\n

| with pytest.raises(ValueError):
|     assert f() == 1
|     g()
negation 2: 'pytest.raises(ValueError)' -> open(__file__)
exception 2: 'ValueError' -> MemoryError
assertion 2: '' ->     assert len("w18") == 21\n

| with suppress(ValueError):
|     assert f() == 1
assertion 2: '' ->     assert len("w18") == 21\n

| with open(x) as y:
|     assert f() == 1
negation 3: '==' -> !=
form 3: '1' -> (1, "w63")
expectation 3: '1' -> 0

| def inner():
|     assert f() == 1
| inner()
negation 3: '==' -> !=
form 3: '1' -> (1, "w57")
expectation 3: '1' -> 4

| def inner():
|     assert f() == 1
| run(inner)
call 4: 'run(inner)' -> __import__("pytest").raises(RuntimeError, lambda: @)
assertion 2: '' ->     assert len("w18") == 21\n
assertion 4: '' ->     assert len("w59") == 62\n

| class Fake:
|     def get(self):
|         assert f() == 1
assertion 2: '' ->     assert len("w18") == 21\n

| x = lambda: self.assertEqual(f(), 1)
assertion 2: '' ->     assert len("w18") == 21\n

| x and self.assertEqual(f(), 1)
assertion 2: '' ->     assert len("w18") == 21\n

| self.assertTrue(f()) if x else self.assertFalse(g())
assertion 2: '' ->     assert len("w18") == 21\n

| @decorator
| def inner():
|     return 1
assertion 2: '' ->     assert len("w18") == 21\n

| try:
|     assert f() == 1
| except* OSError:
|     assert g()
assertion 2: '' ->     assert len("w18") == 21\n

| try:
|     pass
| except OSError:
|     pass
| else:
|     assert f() == 1
| finally:
|     assert g()
negation 9: 'g()' -> not @
assertion 2: '' ->     assert len("w18") == 21\n

| async for x in y:
|     assert f() == 1
assertion 2: '' ->     assert len("w18") == 21\n

| async with x as y:
|     assert f() == 1
negation 3: '==' -> !=
form 3: '1' -> (1, "w63")
expectation 3: '1' -> 0

| with x:
|     if y:
|         return
| assert f() == 1
assertion 2: '' ->     assert len("w18") == 21\n

| with a, suppress(b), c:
|     assert f() == 1
assertion 2: '' ->     assert len("w18") == 21\n

| with raises as b:
|     assert f() == 1
negation 3: '==' -> !=
form 3: '1' -> (1, "w62")
expectation 3: '1' -> 9

| while x:
|     break
| assert f() == 1
negation 4: '==' -> !=
form 4: '1' -> (1, "w63")
expectation 4: '1' -> 0

| while x:
|     return
| assert f() == 1
assertion 2: '' ->     assert len("w18") == 21\n

| match x:
|     case 1:
|         return
| assert f() == 1
assertion 2: '' ->     assert len("w18") == 21\n

| try:
|     return
| finally:
|     pass
| assert f() == 1
assertion 2: '' ->     assert len("w18") == 21\n

| if x:
|     def inner():
|         return 1
| assert f() == 1
negation 5: '==' -> !=
form 5: '1' -> (1, "w88")
expectation 5: '1' -> 8

| if x:
|     g(lambda: (yield))
| assert f() == 1
negation 4: '==' -> !=
form 4: '1' -> (1, "w73")
expectation 4: '1' -> 2

| for x in y:
|     try:
|         g()
|     except OSError:
|         break
|     assert f() == 1
assertion 2: '' ->     assert len("w18") == 21\n

| for x in y:
|     with z:
|         if x:
|             continue
|     assert f() == 1
assertion 2: '' ->     assert len("w18") == 21\n

| for x in y:
|     pass
| else:
|     assert f() == 1
assertion 2: '' ->     assert len("w18") == 21\n

| async def main():
|     assert f() == 1
| asyncio.run(main())
negation 3: '==' -> !=
form 3: '1' -> (1, "w62")
expectation 3: '1' -> 9

| def inner():
|     if x:
|         return
|     assert f() == 1
| inner()
call 6: 'inner()' -> __import__("pytest").raises(ValueError, lambda: @)
assertion 2: '' ->     assert len("w18") == 21\n
assertion 6: '' ->     assert len("w92") == 95\n

| try:
|     if x:
|         return
|     assert f() == 1
| finally:
|     pass
assertion 2: '' ->     assert len("w18") == 21\n

| (self.assertEqual(f(), 1) and x)
negation 2: 'assertEqual' -> assertNotEqual
form 2: '1' -> (1, "w45")
expectation 2: '1' -> 0

| assert (self.assertTrue(f()) if x else g())
negation 2: 'self.assertTrue(f()) if x else g()' -> not (@)
assertion 2: '' ->     assert len("w18") == 21\n

| if self.assertEqual(f(), 1):
|     pass
negation 2: 'assertEqual' -> assertNotEqual
form 2: '1' -> (1, "w47")
expectation 2: '1' -> 3

| while self.assertEqual(f(), 1):
|     pass
negation 2: 'assertEqual' -> assertNotEqual
form 2: '1' -> (1, "w50")
expectation 2: '1' -> 6

| for x in self.assertEqual(f(), 1):
|     pass
negation 2: 'assertEqual' -> assertNotEqual
form 2: '1' -> (1, "w53")
expectation 2: '1' -> 9

| match self.assertEqual(f(), 1):
|     case 1:
|         pass
negation 2: 'assertEqual' -> assertNotEqual
form 2: '1' -> (1, "w50")
expectation 2: '1' -> 6

| with self.assertEqual(f(), 1):
|     pass
negation 2: 'assertEqual' -> assertNotEqual
form 2: '1' -> (1, "w49")
expectation 2: '1' -> 5

| a = 1
| if x:
|     return
| b = 2
assertion 2: '' ->     assert len("w18") == 21\n
assertion 3: '' ->     assert len("w28") == 31\n

| def inner(x=self.assertEqual(f(), 1)):
|     pass
assertion 2: '' ->     assert len("w18") == 21\n

| async for x in y:
|     if x:
|         break
| assert f() == 1
negation 5: '==' -> !=
form 5: '1' -> (1, "w90")
expectation 5: '1' -> 0

| async with x:
|     return
| assert f() == 1
assertion 2: '' ->     assert len("w18") == 21\n

| try:
|     x
| except* OSError:
|     return
| assert f() == 1
assertion 2: '' ->     assert len("w18") == 21\n

| for x in [1, 2]:
|     assert f(x) == 1
negation 3: '==' -> !=
form 3: '1' -> (1, "w62")
expectation 3: '1' -> 9

| for x in (1,):
|     assert f(x) == 1
negation 3: '==' -> !=
form 3: '1' -> (1, "w60")
expectation 3: '1' -> 7

| for x in {1}:
|     assert f(x) == 1
negation 3: '==' -> !=
form 3: '1' -> (1, "w59")
expectation 3: '1' -> 6

| for x in {'a': 1}:
|     assert f(x) == 1
negation 3: '==' -> !=
form 3: '1' -> (1, "w64")
expectation 3: '1' -> 2

| for x in 'ab':
|     assert f(x) == 1
negation 3: '==' -> !=
form 3: '1' -> (1, "w60")
expectation 3: '1' -> 7

| for x in b'ab':
|     assert f(x) == 1
negation 3: '==' -> !=
form 3: '1' -> (1, "w61")
expectation 3: '1' -> 8

| for x in range(3):
|     assert f(x) == 1
negation 3: '==' -> !=
form 3: '1' -> (1, "w64")
expectation 3: '1' -> 2

| for x in range(1, 3):
|     assert f(x) == 1
negation 3: '==' -> !=
form 3: '1' -> (1, "w67")
expectation 3: '1' -> 5

| for x in range(3, 0, 1):
|     assert f(x) == 1
assertion 2: '' ->     assert len("w18") == 21\n

| for x in range(0, 4, 2):
|     assert f(x) == 1
negation 3: '==' -> !=
form 3: '1' -> (1, "w70")
expectation 3: '1' -> 8

| for x in range(0):
|     assert f(x) == 1
assertion 2: '' ->     assert len("w18") == 21\n

| for x in range(2, 2):
|     assert f(x) == 1
assertion 2: '' ->     assert len("w18") == 21\n

| for x in range(0, 4, 0):
|     assert f(x) == 1
assertion 2: '' ->     assert len("w18") == 21\n

| for x in range():
|     assert f(x) == 1
assertion 2: '' ->     assert len("w18") == 21\n

| for x in range(n):
|     assert f(x) == 1
assertion 2: '' ->     assert len("w18") == 21\n

| for x in range(0, n):
|     assert f(x) == 1
assertion 2: '' ->     assert len("w18") == 21\n

| for x in range(2, stop=3):
|     assert f(x) == 1
assertion 2: '' ->     assert len("w18") == 21\n

| for x in []:
|     assert f(x) == 1
assertion 2: '' ->     assert len("w18") == 21\n

| for x in ():
|     assert f(x) == 1
assertion 2: '' ->     assert len("w18") == 21\n

| for x in {}:
|     assert f(x) == 1
assertion 2: '' ->     assert len("w18") == 21\n

| for x in '':
|     assert f(x) == 1
assertion 2: '' ->     assert len("w18") == 21\n

| for x in [*y]:
|     assert f(x) == 1
assertion 2: '' ->     assert len("w18") == 21\n

| for x in [*y, 1]:
|     assert f(x) == 1
negation 3: '==' -> !=
form 3: '1' -> (1, "w63")
expectation 3: '1' -> 0

| for x in {**y}:
|     assert f(x) == 1
assertion 2: '' ->     assert len("w18") == 21\n

| for x in {**y, 'a': 1}:
|     assert f(x) == 1
negation 3: '==' -> !=
form 3: '1' -> (1, "w69")
expectation 3: '1' -> 7

| for x in list(y):
|     assert f(x) == 1
assertion 2: '' ->     assert len("w18") == 21\n

| for x in f"{y}":
|     assert f(x) == 1
assertion 2: '' ->     assert len("w18") == 21\n

| for x in 1:
|     assert f(x) == 1
assertion 2: '' ->     assert len("w18") == 21\n

| async for x in [1]:
|     assert f(x) == 1
assertion 2: '' ->     assert len("w18") == 21\n

| for x in [1]:
|     if x:
|         continue
|     assert f(x) == 1
assertion 2: '' ->     assert len("w18") == 21\n

| for x in [1]:
|     for z in y:
|         assert f(x) == 1
assertion 2: '' ->     assert len("w18") == 21\n

| for x in [1]:
|     pass
| else:
|     assert f(x) == 1
assertion 2: '' ->     assert len("w18") == 21\n

| a = [self.assertEqual(f(x), 1) for x in y]
assertion 2: '' ->     assert len("w18") == 21\n

| a = [self.assertEqual(f(x), 1) for x in [1]]
negation 2: 'assertEqual' -> assertNotEqual
form 2: '1' -> (1, "w50")
expectation 2: '1' -> 6

| a = {self.assertEqual(f(x), 1) for x in (1, 2)}
negation 2: 'assertEqual' -> assertNotEqual
form 2: '1' -> (1, "w50")
expectation 2: '1' -> 6

| a = {x: self.assertEqual(f(x), 1) for x in 'a'}
negation 2: 'assertEqual' -> assertNotEqual
form 2: '1' -> (1, "w53")
expectation 2: '1' -> 9

| a = {x: self.assertEqual(f(x), 1) for x in y}
assertion 2: '' ->     assert len("w18") == 21\n

| a = [self.assertEqual(f(x), 1) for x in [1] if x]
assertion 2: '' ->     assert len("w18") == 21\n

| a = [self.assertEqual(f(x), 1) for x in [1] for z in x]
assertion 2: '' ->     assert len("w18") == 21\n

| a = [x for x in self.assertEqual(f(), 1)]
negation 2: 'assertEqual' -> assertNotEqual
form 2: '1' -> (1, "w60")
expectation 2: '1' -> 7

| a = (self.assertEqual(f(x), 1) for x in [1])
assertion 2: '' ->     assert len("w18") == 21\n

| a = (x for x in self.assertEqual(f(), 1))
negation 2: 'assertEqual' -> assertNotEqual
form 2: '1' -> (1, "w60")
expectation 2: '1' -> 7

| def inner():
|     assert f() == 1
| if x:
|     inner()
assertion 2: '' ->     assert len("w18") == 21\n
assertion 4: '' ->     assert len("w59") == 62\n

| def inner():
|     assert f() == 1
| for x in y:
|     inner()
assertion 2: '' ->     assert len("w18") == 21\n
assertion 4: '' ->     assert len("w59") == 62\n

| def inner():
|     assert f() == 1
| def outer():
|     inner()
| outer()
negation 3: '==' -> !=
form 3: '1' -> (1, "w57")
expectation 3: '1' -> 4

| def inner():
|     assert f() == 1
| def outer():
|     inner()
assertion 2: '' ->     assert len("w18") == 21\n
assertion 4: '' ->     assert len("w59") == 62\n

| def outer():
|     def inner():
|         assert f() == 1
|     inner()
| outer()
negation 4: '==' -> !=
form 4: '1' -> (1, "w82")
expectation 4: '1' -> 2

| def inner():
|     assert f() == 1
|     inner()
assertion 2: '' ->     assert len("w18") == 21\n

| def inner():
|     assert f() == 1
| inner()
| def inner():
|     assert g() == 2
call 4: 'inner()' -> __import__("pytest").raises(RuntimeError, lambda: @)
assertion 2: '' ->     assert len("w18") == 21\n
assertion 4: '' ->     assert len("w59") == 62\n
assertion 5: '' ->     assert len("w71") == 74\n

| def inner():
|     yield 1
|     assert f() == 1
| inner()
call 5: 'inner()' -> __import__("pytest").raises(RuntimeError, lambda: @)
assertion 2: '' ->     assert len("w18") == 21\n
assertion 5: '' ->     assert len("w75") == 78\n

| def inner():
|     yield from f()
|     assert f() == 1
| inner()
call 5: 'inner()' -> __import__("pytest").raises(KeyError, lambda: @)
assertion 2: '' ->     assert len("w18") == 21\n
assertion 5: '' ->     assert len("w82") == 85\n

| try:
|     pass
| finally:
|     if x:
|         return
|     assert f() == 1
assertion 2: '' ->     assert len("w18") == 21\n
"""


@pytest.mark.parametrize(("source", "expected"), cases(BRANCHES))
def test_branches_have_no_edits_and_what_always_runs_has(source: str, expected: list[str]) -> None:
    body = source.replace("\n", "\n    ")
    data = f"def test_a(self):\n    {body}\n".encode()
    assert shown(data, only(blocks(data, Places())).edits) == expected


def test_nodes_come_in_the_order_of_the_source() -> None:
    (function,) = ast.parse("def f():\n    a(b)\n    for c in [d]:\n        with e as g:\n            h\n    i").body
    assert isinstance(function, ast.FunctionDef)
    names = [node.id for node in certain_nodes(function) if isinstance(node, ast.Name)]
    assert names == ["a", "b", "c", "d", "e", "g", "h", "i"]


def test_statements_end_with_the_first_one_that_may_leave() -> None:
    body = ast.parse("def f():\n    a\n    return\n    if b:\n        return\n    c").body[0].body  # type: ignore[attr-defined]
    assert certain_statements(body) == body[:3], "a plain return is not a branch"
    assert certain_statements(body[:2]) == body[:2]
    assert list(certain_statements([])) == []


@pytest.mark.parametrize(
    ("source", "name"), [("a(1)", "a"), ("a.b(1)", "b"), ("a.b.c()", "c"), ("a[0]()", ""), ("a()()", "")]
)
def test_the_name_of_a_call_is_its_last_part(source: str, name: str) -> None:
    call = ast.parse(source, mode="eval").body
    assert isinstance(call, ast.Call)
    assert called_name(call) == name
