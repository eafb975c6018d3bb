"""The ids of altered cases, computed from the source of a table alone."""

from __future__ import annotations

import ast

import pytest

from proctor.judge.checks.inverted_tests.python_alterable_parts import (
    Case,
    Function,
    Value,
    module_constants,
    table_values,
)


def tables(source: str) -> dict[str, list[tuple[str, tuple[str | None, ...], int, bool, tuple[str, ...]]]]:
    """What is known about each name of the last function of ``source`` that gets its values from a table."""
    tree = ast.parse(source)
    function = tree.body[-1]
    assert isinstance(function, Function)
    return {
        name: [(ast.unparse(one.node), one.parts, one.place, one.is_fixed, one.usual) for one in several]
        for name, several in table_values(function, module_constants(tree)).items()
    }


def marked(table: str, names: str = "'value, expected'", **more: str) -> str:
    """The source of a test with a table."""
    given = "".join(f", {name}={text}" for name, text in more.items())
    test = "def test(value, expected):\n    assert f(value) == expected"
    return f"@pytest.mark.parametrize({names}, {table}{given})\n{test}"


def test_every_part_of_an_id_must_fit() -> None:
    ids = ("t[a-b-c]", "t[a-b-d]", "t[z-b-c]", "t[a-b]", "t[a-x-c]")
    assert Case(("a", "b", "c"), 0, "n").renamed(ids) == {"t[a-b-c]": "t[n-b-c]"}
    assert Case(("a", "b", "c"), 1, "n").renamed(ids) == {"t[a-b-c]": "t[a-n-c]"}
    assert Case(("a", "b", "c"), 2, "n").renamed(ids) == {"t[a-b-c]": "t[a-b-n]"}


def test_parts_of_other_tables_may_be_around() -> None:
    assert Case(("a", "b"), 1, "n").renamed(["t[x-a-b-y]", "t[a-c]"]) == {"t[x-a-b-y]": "t[x-a-n-y]"}


def test_an_unknown_part_is_the_usual_one_or_the_only_one() -> None:
    ids = ("t[value0-2]", "t[value1-2]")
    assert Case((None, "2"), 1, "3", ("value1", "expected1")).renamed(ids) == {"t[value1-2]": "t[value1-3]"}
    assert Case((None, "2"), 1, "3").renamed(ids) == {}, "one of several is not chosen"
    assert Case((None, "2"), 1, "3").renamed(ids[:1]) == {"t[value0-2]": "t[value0-3]"}
    assert Case((None, "2"), 1, "3", ("value7", "expected7")).renamed(ids[:1]) == {"t[value0-2]": "t[value0-3]"}


@pytest.mark.parametrize(
    ("value", "source", "new"),
    [
        (Value(ast.Constant(2), ("1", "2"), 1, usual=("a0", "b0")), "7", "7"),
        (Value(ast.Constant(2), ("1", "2"), 1), "'x'", "x"),
        (Value(ast.Constant(2), ("1", "2"), 1), "f()", None),
        (Value(ast.Constant(2), ("1", "2"), 1), "(1, 2)", None),
        (Value(ast.Constant(2), ("1", None), 1), "7", None),
        (Value(ast.Constant(2), ("own",), is_fixed=True), "f()", "own"),
    ],
)
def test_the_id_of_an_altered_case_is_known_or_nothing(value: Value, source: str, new: str | None) -> None:
    found = value.case_after(source)
    assert found == (None if new is None else Case(value.parts, value.place, new, value.usual))


def test_rows_of_a_table() -> None:
    found = tables(marked("[(1, 2), (g(), 4), ('x', [5])]"))
    assert found["expected"] == [
        ("2", ("1", "2"), 1, False, ("value0", "expected0")),
        ("4", (None, "4"), 1, False, ("value1", "expected1")),
        ("[5]", ("x", "expected2"), 1, True, ("value2", "expected2")),
    ]


def test_a_table_of_the_module_is_used_if_nothing_else_uses_it() -> None:
    assert tables("CASES = [(1, 2)]\n" + marked("CASES"))["expected"][0][0] == "2"
    assert tables("CASES = [(1, 2)]\nprint(CASES)\n" + marked("CASES")) == {}
    assert tables(marked("CASES")) == {}


def test_rows_with_ids_of_their_own() -> None:
    rows = "[pytest.param(1, 2, id='one'), pytest.param(3, 4, id=name()), pytest.param(5, 6, id=None)]"
    assert tables(marked(rows))["expected"] == [("2", ("one",), 0, True, ())]
    assert tables(marked("[(1, 2), (3, 4)]", ids="['a', 'b']"))["expected"][1] == ("4", ("b",), 0, True, ())
    for ids in ("['a']", "['a', None]", "str"):
        assert tables(marked("[(1, 2), (3, 4)]", ids=ids)) == {}


def test_names_that_are_not_known_have_no_values() -> None:
    assert tables(marked("[(1, 2)]", names="['value', NAME]")) == {}
    assert tables(marked("[(1, 2)]", names="('value', 'expected')"))["value"][0][:2] == ("1", ("1", "2"))


def test_loops_over_literals() -> None:
    loop = "def test():\n    for {} in [{}]:\n        assert f(1) == expected"
    assert [one[0] for one in tables(loop.format("expected", "1, g()"))["expected"]] == ["1", "g()"]
    assert [one[0] for one in tables(loop.format("value, expected", "(1, 2), PAIR, [3, 4]"))["expected"]] == ["2", "4"]
    assert [one[0] for one in tables(loop.format("(a, b), expected", "((1, 2), 3)"))["expected"]] == ["3"]
    assert tables(loop.format("value, expected", "(1, 2, 3), 4")) == {}
