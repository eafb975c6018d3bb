"""Faults are put where the solution changed something, one at a time, and mean something else."""

from __future__ import annotations

import ast

import pytest

from proctor.author.mutants.mutant import CATEGORIES, changed_lines, hunks, make_mutant, mutants_of
from proctor.author.mutants.mutation_plan import hunk_edits, line_edits
from proctor.author.mutants.python import calling_lines, functions_at, python_edits


def texts(source: str, category: str) -> set[str]:
    """The line that each edit of a category makes of a one-line function body."""
    data = f"def f(a, b):\n    {source}\n".encode()
    edits = [edit for edit in python_edits(data, {2}) if edit.category == category]
    return {edit.apply(data).decode().splitlines()[1].strip() for edit in edits}


@pytest.mark.parametrize(
    ("source", "category", "wanted"),
    [
        ("return a < b", "boundary", {"return a <= b"}),
        ("return a < b", "comparison", {"return a >= b"}),
        ("return a == b != 3", "comparison", {"return a != b != 3", "return a == b == 3"}),
        ("return a is  not b", "comparison", {"return a is b"}),
        ("return (a) not in (b)", "comparison", {"return (a) in (b)"}),
        ("return a and b and 1", "boolean", {"return a or b and 1", "return a and b or 1"}),
        ("return not a", "boolean", {"return (a)"}),
        ("return True", "boolean", {"return False"}),
        ("while a: b()", "boolean", {"while not (a): b()"}),
        ("return (a) + (b)", "arithmetic", {"return (a) - (b)"}),
        ("a += b", "arithmetic", {"a -= b"}),
        ("return a[1:]", "boundary", {"return a[2:]", "return a[(0):]"}),
        ('return "é" + b', "constant", {"return '' + b"}),
        ("return b''", "constant", {"return b'?'"}),
        ("return a", "return", {"return None"}),
        ("raise ValueError(a)", "statement", {"pass"}),
        ("return (a, b)", "element", {"return (a,)", "return (b,)"}),
        ("return {a, b}", "element", {"return {a}", "return {b}"}),
        ('return f"{a + 1}x"', "constant", set()),
        ('"""Words."""', "statement", set()),
    ],
)
def test_each_kind_of_fault(source: str, category: str, wanted: set[str]) -> None:
    assert texts(source, category) == wanted


def test_only_the_given_lines_are_changed_and_every_mutant_compiles_to_something_else() -> None:
    data = b"def f(x):\n    if x > 1 and x != 3:\n        return [x, 2]\n    return x - 1\n"
    mutants = list(mutants_of(b"f.py", data, python_edits(data, {2, 3})))
    assert mutants
    assert {one.line for one in mutants} == {2, 3}
    meanings = [ast.dump(ast.parse(one.data or b"")) for one in mutants]
    assert len({*meanings, ast.dump(ast.parse(data))}) == len(mutants) + 1
    assert {one.category for one in mutants} <= set(CATEGORIES)
    assert len({one.id for one in mutants}) == len(mutants)


def test_what_is_no_python_has_no_mutants() -> None:
    assert list(python_edits(b"def (", {1})) == []
    assert functions_at(b"\x00", {1}) == set()


def test_callers_are_the_statements_that_call_what_changed() -> None:
    data = (
        b"def inner(x):\n    return x\n\n\ndef outer(y):\n    z = 1\n    return self.inner(\n        y)\n\n\ninner(3)\n"
    )
    assert functions_at(data, {2}) == {"inner"}
    assert calling_lines(data, {"inner"}) == {7, 8}


def test_changes_of_any_text_are_taken_back_and_its_operators_changed() -> None:
    before = b"int f(int a) {\n  return a;\n}\n"
    after = b"int f(int a) {\n  if (a == 0 && !b) {\n  return a;\n  // why\n}\nint c;\n"
    assert changed_lines(before, after) == {2, 4, 6}
    assert {edit.apply(after) for edit in hunk_edits(before, after) if edit.apply(after) != before} == {
        after.replace(b"  if (a == 0 && !b) {\n", b""),
        after.replace(b"  // why\n", b""),
        after.replace(b"int c;\n", b""),
    }
    made = {edit.apply(after).splitlines()[1] for edit in line_edits(after, {2, 4})}
    assert made == {
        b"  return a;",
        b"  if (a != 0 && !b) {",
        b"  if (a == 1 && !b) {",
        b"  if (a == 0 || !b) {",
        b"  if (a == 0 && b) {",
    }


def test_a_mutant_tells_its_fault_as_a_diff() -> None:
    one = make_mutant(b"a.py", b"x = 1\ny = 2\n", "boundary", b"x = 1\ny = 3\n", 6)
    assert (one.line, one.diff(b"x = 1\ny = 2\n").splitlines()[-2:]) == (2, ["-y = 2", "+y = 3"])


def test_long_texts_of_few_different_lines_are_compared_between_their_common_ends() -> None:
    many = 3000
    before = b"same\n" * many
    one = b"same\n" * 1000 + b"new\n" + b"same\n" * 2000
    assert hunks(before, one) == [
        ("equal", 0, 1000, 0, 1000),
        ("insert", 1000, 1000, 1000, 1001),
        ("equal", 1000, many, 1001, many + 1),
    ]
    ends = b"first\n" + b"same\n" * (many - 2) + b"last\n"
    assert hunks(before, ends) == [("replace", 0, many, 0, many)]
    assert hunks(before, before) == [("equal", 0, many, 0, many)]
    assert hunks(before, before[:-5]) == [
        ("equal", 0, many - 1, 0, many - 1),
        ("delete", many - 1, many, many - 1, many - 1),
    ]
