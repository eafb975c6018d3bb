"""Tables of expected values: which values are altered, and the ids of a case before and after."""

from __future__ import annotations

import pytest

from proctor.judge.checks.inverted_tests.assertion_edits import EXPECTATION
from proctor.judge.checks.inverted_tests.locate_tests import read_blocks
from proctor.judge.checks.inverted_tests.python import blocks
from proctor.judge.checks.inverted_tests.python_alterable_parts import Case
from tests.judge.checks.inverted_tests.shown import Places, only

TABLES = """
import pytest

def double(value):
    return value * 2

def same(value):
    return value

@pytest.mark.parametrize("value, expected", [(1, 2), (-2, -4), (1.5, 3.0), (True, 2), ("a-b", "a-ba-b"), ("", ""),
                                             (b"x", b"xx"), ([1], [1, 1]), ("\\n", "\\n\\n"), ("é", "éé")])
def test_values(value, expected):
    assert double(value) == expected

ROW = (20, 40)

@pytest.mark.parametrize(("value", "expected"), [[1, 2], (double(3), 12), ROW,
                                                 pytest.param(4, 8), pytest.param(5, 10, id="five")])
def test_forms(value, expected):
    assert expected == double(value)

@pytest.mark.parametrize("value,expected", [(1, 2), (3, 6)], ids=["one", "three-3"])
def test_ids(value, expected):
    assert double(value) == expected

@pytest.mark.parametrize("expected", [7, "seven"])
def test_bare(expected):
    assert {7: 7, "seven": "seven"}.get(same(expected_of(expected))) == expected

def expected_of(value):
    return value

@pytest.mark.parametrize(["expected"], [(3,), (4,)])
def test_one_of_a_list(expected):
    assert expected in (3, 4)

CASES = [("k", {"k": 1}), ("v", {"v": 1})]

@pytest.mark.parametrize("name,expected", CASES)
def test_of_the_module(name, expected):
    assert {name: 1} == expected

@pytest.mark.parametrize("factor", [1, 2])
@pytest.mark.parametrize("value,expected", [(1, 11), (2, 12)])
@pytest.mark.parametrize("more", ["x", "y-z"])
def test_stacked(factor, value, expected, more):
    assert value + 10 == expected

class TestMethods:
    @pytest.mark.parametrize("value,expected", [(1, 2), (2, 4)])
    def test_method(self, value, expected):
        assert double(value) == expected

def test_loops():
    for value, expected in [(1, 2), ("a", "aa")]:
        assert double(value) == expected
    for number in (3, 3):
        assert same(3) == number
"""

UNTOUCHED = """
import pytest

@pytest.fixture
def shelf(size):
    return ["book"] * size

@pytest.mark.parametrize("size", [1, 2])
def test_inputs_of_fixtures(shelf, size):
    assert len(shelf) == size

@pytest.mark.parametrize("size", [16, 32])
def test_inputs_of_fixtures_elsewhere(ring, size):
    assert ring.capacity() == size

def test_global():
    global LIMIT
    LIMIT = 5
    assert f() == LIMIT

@pytest.mark.parametrize("value,expected", [(1, 2)], indirect=["value"])
def test_indirect(value, expected):
    assert value == expected

@pytest.mark.parametrize("value,expected", [(1, 2)], ids=repr)
def test_computed_ids(value, expected):
    assert double(value) == expected

@pytest.mark.parametrize("value,expected", [*MORE, (3, 4)])
def test_unknown_places(value, expected):
    assert double(value) == expected

@pytest.mark.parametrize("value,expected", [ROW])
def test_unknown_rows(value, expected):
    assert double(value) == expected

@pytest.mark.parametrize("value,expected", [(1, 2)])
def test_used_twice(value, expected):
    assert double(value, expected) == expected

SHARED = [(1, 2)]

@pytest.mark.parametrize("value,expected", SHARED)
def test_shared(value, expected):
    assert double(value) == expected

@pytest.mark.parametrize("value,expected", SHARED)
def test_shares(value, expected):
    assert double(value, expected)

@pytest.mark.parametrize("expected", [f"a{1}", NAME])
def test_no_literals(expected):
    assert double("a") == expected

@pytest.mark.parametrize("expected", [pytest.param(1, id=NAME)])
def test_id_by_name(expected):
    assert double(1) == expected
"""


RULES: list[tuple[str, list[tuple[str, tuple[str | None, ...], int, str]]]] = [
    ('"value, expected", [(1, 2), (-2, -4)]', [("2", ("1", "2"), 1, "5"), ("4", ("-2", "-4"), 1, "-6")]),
    (
        '"value,expected", [("a-b", "c"), ("", "\\n1")]',
        [
            ('"c"', ("a-b", "c"), 1, "d"),
            ('"\\n1"', ("", "\\n1"), 1, "w63\\n1"),
        ],
    ),
    (
        '"value,expected", [(b"x\\xff", b"xy"), ("é", "y")]',
        [
            ('b"xy"', ("x\\xff", "xy"), 1, "fy"),
            ('"y"', ("\\xe9", "y"), 1, "u"),
        ],
    ),
    (
        '("value", "expected"), [[1, 2], (f(3), 12), ROW, pytest.param(4, 8), pytest.param(5, 10, id="five")]',
        [
            ("2", ("1", "2"), 1, "9"),
            ("12", (None, "12"), 1, "22"),
            ("8", ("4", "8"), 1, "0"),
            ("10", ("five",), 0, "five"),
        ],
    ),
    (
        '["value", "expected"], ((1, [2, "x"]), ({}, (3,)), ([], {"k": 1}), (True, None), (1.5, 2j))',
        [
            ("2", ("1", "expected0"), 1, "expected0"),
            ('"x"', ("1", "expected0"), 1, "expected0"),
            ("3", ("value1", "expected1"), 1, "expected1"),
            ('"k"', ("value2", "expected2"), 1, "expected2"),
            ("1", ("value2", "expected2"), 1, "expected2"),
            ("None", ("True", "None"), 1, "True"),
        ],
    ),
    (
        '"value,expected", [(1, 2), (3, 6)], ids=["one", "three-3"]',
        [
            ("2", ("one",), 0, "one"),
            ("6", ("three-3",), 0, "three-3"),
        ],
    ),
    ('argnames="value,expected", argvalues=[(1, 2)]', [("2", ("1", "2"), 1, "5")]),
    ('"value,expected", [(1, 2), *MORE, (3, 4)]', [("2", ("1", "2"), 1, "4")]),
    ('"value,expected", [(1, 2, 3), (4, 5)]', [("5", ("4", "5"), 1, "6")]),
    ('"value,expected", [("a" "b", "c" "d")]', [('"c" "d"', ("ab", "cd"), 1, "fd")]),
    ('"value,expected", [pytest.param(1, 2, id=NAME), pytest.param(3, 4, marks=())]', [("4", ("3", "4"), 1, "9")]),
    (
        '"expected", [1, "a", [2]]',
        [
            ("1", ("1",), 0, "3"),
            ('"a"', ("a",), 0, "r"),
            ("2", ("expected2",), 0, "expected2"),
        ],
    ),
    ('["expected"], [(1,), [2], 3]', [("1", ("1",), 0, "6"), ("2", ("2",), 0, "3")]),
    ('"expected,", [(7,)]', [("7", ("expected0",), 0, "expected0")]),
    ('"value,expected", [(1, 2), (3, 6)], ids=["one"]', []),
    ('"value,expected", [(1, 2)], ids=[NAME]', []),
    ('"value,expected", [(1, -x), (2, 2 + 3)]', []),
    ('"value,expected", [(1, 2)], ids=["é"]', [("2", ("\\xe9",), 0, "\\xe9")]),
    ('"value,expected", [(1, 2)], None, None', []),
    ('"value,expected", [(1, 2)], scope="module"', []),
    ('"value,expected", TABLE', []),
    ('"value", [1]', []),
    ('"value"', []),
    ("argvalues=[(1, 2)]", []),
    ("NAMES, [(1, 2)]", []),
]
"""A decorator, and of each case that it alters the old text, the parts of its id, the place and the new part."""


def cases_of(decorator: str) -> list[tuple[str, tuple[str | None, ...], int, str]]:
    """The altered text, the parts of the id, the place of the altered one and what it becomes, for each case."""
    value = "value, " if "value" in decorator else ""
    source = f"@pytest.mark.parametrize({decorator})\ndef test_a({value}expected):\n    assert f(1) == expected\n"
    found = []
    for edit in only(blocks(source.encode(), Places())).edits:
        if edit.case is not None:
            old = source.encode()[edit.start : edit.end].decode()
            found.append((old, edit.case.parts, edit.case.place, edit.case.new))
    return found


@pytest.mark.parametrize(("decorator", "expected"), RULES)
def test_the_cases_of_a_decorator(decorator: str, expected: list[tuple[str, tuple[str | None, ...], int, str]]) -> None:
    assert cases_of(decorator) == expected


def test_loops_over_literals_are_altered_without_a_case() -> None:
    (block,) = [one for one in read_blocks(b"t.py", TABLES.encode(), b"n", by_pytest=True) if one.name == "test_loops"]
    values = [edit for edit in block.edits if edit.kind == EXPECTATION]
    assert [TABLES.encode()[edit.start : edit.end] for edit in values] == [b"2", b'"aa"', b"3", b"3"]
    assert all(edit.case is None for edit in values)


def test_messages_and_subtests_do_not_count_as_uses() -> None:
    source = """
@pytest.mark.parametrize("value,expected", [(1, 2)])
def test_a(value, expected, subtests, tmp_path):
    print(value, expected)
    with subtests.test(value=value, expected=expected):
        assert f(value) == expected, f"{value} should be {expected}"

class TestB(TestCase):
    def test_b(self):
        for value, expected in [(1, 3)]:
            with self.subTest(value, expected=expected):
                self.assertEqual(f(value), expected)
"""
    found = [edit for block in read_blocks(b"t.py", source.encode(), b"n", by_pytest=True) for edit in block.edits]
    values = [source[edit.start : edit.end] for edit in found if edit.kind == EXPECTATION]
    assert values == ["2", "3"]


def test_only_the_first_row_of_a_loop_that_may_end_early_is_altered() -> None:
    for leaving in ("break", "return"):
        source = f"""
def test_a():
    for count, expected in [(4, 10), (1, 20)]:
        assert read(count) == expected
        if done():
            {leaving}
"""
        (block,) = read_blocks(b"t.py", source.encode(), b"n", by_pytest=True)
        assert [source[edit.start : edit.end] for edit in block.edits if edit.kind == EXPECTATION] == ["10"], leaving


def test_a_number_that_cannot_be_shown_is_no_part_of_an_id() -> None:
    table = f"@pytest.mark.parametrize('value,expected', [(0x{'f' * 4000}, 2)])\n"
    source = table + "def test_a(value, expected):\n    assert f(value) == expected\n"
    (block,) = read_blocks(b"t.py", source.encode(), b"n", by_pytest=True)
    (case,) = [edit.case for edit in block.edits if edit.case is not None]
    assert case.parts == (None, "2")


def test_what_may_be_an_input_or_has_an_unknown_id_is_not_altered() -> None:
    for block in read_blocks(b"t.py", UNTOUCHED.encode(), b"nonce", by_pytest=True):
        assert [edit for edit in block.edits if edit.kind == EXPECTATION] == [], block.name


@pytest.mark.parametrize(
    ("parts", "place", "ids", "renamed"),
    [
        (("1", "2"), 1, ["t[1-2]", "t[1-3]", "t[0-1-2]"], {"t[1-2]": "t[1-9]"}),
        (("1", "2"), 0, ["t[x-1-2-y]", "t[1-2-z]", "t[21-2]"], {"t[x-1-2-y]": "t[x-9-2-y]", "t[1-2-z]": "t[9-2-z]"}),
        ((None, "2"), 1, ["t[a-b-2]", "t[2]"], {"t[a-b-2]": "t[a-b-9]"}),
        ((None, "2"), 1, ["t[a-2]", "t[b-2]"], {}),
        ((None, "2"), 1, ["t[a-2]", "t[one3-2]"], {"t[one3-2]": "t[one3-9]"}),
        (("a.b",), 0, ["t[a.b]", "t[acb]"], {"t[a.b]": "t[9]"}),
        (("1",), 0, ["t", "u[2]"], {}),
    ],
)
def test_a_case_finds_its_ids(
    parts: tuple[str | None, ...], place: int, ids: list[str], renamed: dict[str, str]
) -> None:
    assert Case(parts, place, "9", ("one3", "other3")).renamed(ids) == renamed
