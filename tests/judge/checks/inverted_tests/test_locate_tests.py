"""Test ids are led to the tests of source files, and to the edits that can make them fail."""

from __future__ import annotations

import pytest

from proctor.judge.checks.inverted_tests.assertion_edits import ASSERTION
from proctor.judge.checks.inverted_tests.locate_tests import (
    find_units,
    has_reader,
    pytest_files,
    read_blocks,
    whole_files,
)
from tests.judge.checks.inverted_tests.shown import shown

PYTHON = b"""
def test_a(x):
    assert f(x) == [1, 2]

class TestBase:
    def test_b(self):
        assert f() == 'b'
    class TestInner:
        def test_c(self):
            self.assertEqual(f(), 3)

class TestDerived(TestBase):
    pass
"""


def names(wanted: list[str], files: dict[bytes, bytes], *, by_pytest: bool = True, start: str = "") -> list[object]:
    units = find_units(wanted, files, b"", by_pytest=by_pytest, start=start)
    return [(unit.path, unit.name, unit.ids) for unit in units]


def test_an_id_of_pytest_names_its_file_its_classes_and_its_function() -> None:
    files = {b"t/test_x.py": PYTHON}
    wanted = [
        "t/test_x.py::test_a[1]",
        "t/test_x.py::test_a[b::c[d]]",
        "t/test_x.py::TestBase::test_b",
        "t/test_x.py::TestBase::TestInner::test_c",
        "t/test_x.py::TestDerived::test_b",
        "t/test_x.py::TestDerived::TestInner::test_c",
        "t/test_x.py::TestDerived::test_missing",
        "t/test_x.py::test_b",
        "t/test_x.py::TestBase::test_a",
        "t/test_x.py",
        "t/other.py::test_a",
    ]
    assert names(wanted, files) == [
        (b"t/test_x.py", "test_a", tuple(wanted[:2])),
        (b"t/test_x.py", "test_b", ("t/test_x.py::TestBase::test_b", "t/test_x.py::TestDerived::test_b")),
        (b"t/test_x.py", "test_c", (wanted[3], wanted[5])),
    ]


def test_a_method_that_two_classes_define_is_not_inherited_from_either() -> None:
    data = b"class TestA:\n  def test_x(self): pass\nclass TestB:\n  def test_x(self): pass\n"
    assert names(["a.py::TestC::test_x"], {b"a.py": data}) == []
    assert names(["a.py::TestB::test_x"], {b"a.py": data}) == [(b"a.py", "test_x", ("a.py::TestB::test_x",))]


def test_brackets_in_the_path_are_not_parameters() -> None:
    assert names(["[id]/a.py::test_a[1]"], {b"[id]/a.py": b"def test_a(): pass"}) == [
        (b"[id]/a.py", "test_a", ("[id]/a.py::test_a[1]",))
    ]


def test_ids_of_pytest_begin_where_the_check_runs() -> None:
    assert pytest_files("a/b.py::c::d") == (b"a/b.py",)
    assert pytest_files("a/b.py::c", "sub") == (b"sub/a/b.py", b"a/b.py")
    found = (b"sub/b.py", "test_a", ("b.py::test_a",))
    assert names(["b.py::test_a"], {b"sub/b.py": PYTHON}, start="sub") == [found]
    assert names(["b.py::test_a"], {b"b.py": PYTHON, b"sub/b.py": PYTHON}, start="sub") == [found]


def test_a_pytest_root_above_the_directory_of_the_check_is_found() -> None:
    found = (b"sub/b.py", "test_a", ("sub/b.py::test_a",))
    assert names(["sub/b.py::test_a"], {b"sub/b.py": PYTHON}, start="sub") == [found]
    assert names(["sub/b.py::test_a"], {b"c.py": PYTHON}, start="sub") == []
    assert names(["b.py::test_a"], {b"sub/b.py": PYTHON}) == []


SCRIPT = b"""
describe('parser', () => {
  it('reads', () => { assert.ok(f()) })
  it('reads numbers', () => { assert.ok(f()) })
  it('and reads', () => { assert.ok(f()) })
  it('a[0]', () => { assert.ok(f()) })
})
it('', () => {})
"""
OTHER = b"describe('writer', () => { it('reads', () => { assert.ok(f()) }) })\nit('alone', () => {})"


@pytest.mark.parametrize(
    ("test", "expected"),
    [
        ("reads", (b"a/parser.test.js", "reads")),
        ("parser reads", (b"a/parser.test.js", "reads")),
        ("writer > reads", (b"b/writer.test.js", "reads")),
        ("suite writer.test.js: reads", (b"b/writer.test.js", "reads")),
        ("writer.parser.reads", (b"a/parser.test.js", "reads")),
        ("x: reads numbers", (b"a/parser.test.js", "reads numbers")),
        ("x/reads numbers [chromium]", (b"a/parser.test.js", "reads numbers")),
        ("x/reads numbers [chromium] [2]", (b"a/parser.test.js", "reads numbers")),
        ("writer and reads", (b"a/parser.test.js", "and reads")),
        ("parser a[0]", (b"a/parser.test.js", "a[0]")),
        ("alone", (b"b/writer.test.js", "alone")),
        ("standalone", None),
        ("stand_alone", None),
        ("reads more", None),
        ("", None),
    ],
)
def test_other_ids_are_matched_by_their_last_parts(test: str, expected: tuple[bytes, str] | None) -> None:
    files = {b"b/writer.test.js": OTHER, b"a/parser.test.js": SCRIPT}
    found = [(unit.path, unit.name) for unit in find_units([test], files, b"", by_pytest=False)]
    assert found == ([expected] if expected else [])


def test_a_file_that_the_id_names_comes_before_one_that_it_does_not() -> None:
    files = {b"a.c": b"void test_x(void) { }", b"more/deep/b.test.c": b"void test_x(void) { }"}
    assert names(["b::test_x"], files, by_pytest=False) == [(b"more/deep/b.test.c", "test_x", ("b::test_x",))]
    assert names(["ab::test_x"], files, by_pytest=False) == [(b"a.c", "test_x", ("ab::test_x",))]
    assert names(["test_x"], {b"\xff.c": files[b"a.c"]}, by_pytest=False) == [(b"\xff.c", "test_x", ("test_x",))]


def test_a_test_with_few_edits_also_has_those_of_its_helpers() -> None:
    data = b"""
def check(x):
    assert x == 'value'
def unused(x):
    assert x == 'other'
class TestA:
    def verify(self):
        assert self.x == 'method'
    def test_few(self):
        check(f())
        self.verify()
        self.unused()
        other.check2()
    def test_many(self):
        check(1)
        assert f() == 1
        assert f() == 2
class Fake:
    def verify(self):
        assert x == 'fake'
"""
    wanted = ["a.py::TestA::test_few", "a.py::TestA::test_many"]
    few, many, check, verify = find_units(wanted, {b"a.py": data}, b"", by_pytest=True)
    assert {edit.line for edit in few.edits} == {10, 11, 12, 13}
    assert {edit.line for edit in many.edits} == {16, 17}
    assert (check.name, check.ids, check.touched) == ("check", tuple(wanted[:1]), tuple(wanted[1:]))
    assert (verify.name, verify.ids, verify.touched) == ("verify", tuple(wanted[:1]), ())
    altered = {data[edit.start : edit.end] for unit in (check, verify) for edit in unit.edits}
    assert {b"==", b"'value'", b"'method'"} <= altered
    assert not {b"'other'", b"'fake'", b"1"} & altered


def test_helpers_touch_every_test_that_mentions_them_also_through_others() -> None:
    data = b"""
def check(x):
    assert x == 'value'
def through(x):
    if x:
        check(x)
def test_calls():
    check(f())
def test_also():
    check(g())
def test_branch():
    for x in listed():
        check(x)
def test_through():
    through(f())
def test_hands_on():
    f(check)
def test_other():
    f()
"""
    wanted = [f"a.py::test_{name}" for name in ("calls", "also", "branch", "through", "hands_on", "other")]
    units = find_units(wanted, {b"a.py": data}, b"", by_pytest=True)
    (helper,) = [unit for unit in units if unit.name == "check"]
    assert helper.ids == tuple(wanted[:2])
    assert helper.touched == tuple(wanted[2:5])


def test_a_decorated_helper_is_not_altered() -> None:
    data = b"@lazily\ndef check(x):\n    assert x == 'value'\ndef test_a():\n    check(f())\n"
    (unit,) = find_units(["a.py::test_a"], {b"a.py": data}, b"", by_pytest=True)
    assert {edit.line for edit in unit.edits} == {5}


@pytest.mark.parametrize(
    ("body", "takes"),
    [
        (b"assert f() == 1", False),
        (b"assert f()", True),
        (b"assert f(); assert g(); assert h()", True),
        (b"assert f() is None; assert g()", False),
    ],
)
def test_helpers_are_asked_where_edits_are_few_or_of_one_kind_or_added(body: bytes, takes: bool) -> None:
    data = b"def helper():\n    assert x == 'value'\ndef test_a():\n    " + body + b"; y = helper()\n"
    units = find_units(["a.py::test_a"], {b"a.py": data}, b"", by_pytest=True)
    assert (2 in {edit.line for unit in units for edit in unit.edits}) is takes


def test_helpers_are_asked_where_all_edits_are_of_one_kind() -> None:
    data = b"def test_a(): assert f(); assert g(); assert helper()\ndef helper():\n    assert x == 'value'\n"
    units = find_units(["a.py::test_a"], {b"a.py": data}, b"", by_pytest=True)
    assert {edit.line for unit in units for edit in unit.edits} == {1, 3}


def test_files_without_ids_are_units_of_every_test_with_edits() -> None:
    files = {
        b"b.c": b"void f(void) { assert(x); } int less(void) { assert(y); } int main(void) { f(); sort(less); }",
        b"a.py": b"def main():\n    f(1)\n",
        b"d.py": b"def check():\n    f(1)\ndef hook():\n    f(2)\nif x:\n    check()\nf(lambda: hook())\n",
        b"c.txt": b"x",
    }
    found = whole_files(files, b"")
    assert [(unit.path, unit.name, unit.ids) for unit in found] == [
        (b"a.py", "main", ()),
        (b"b.c", "f", ()),
        (b"d.py", "check", ()),
    ], "what is only handed to other code need not run"
    assert [edit.kind for edit in found[0].edits] == [ASSERTION], "pytest may not be there"


def test_languages_are_told_by_the_name_of_a_file() -> None:
    for name in (b"a.py", b"A.PY", b"a.js", b"a.cjs", b"a.mjs", b"a.jsx", b"a.ts", b"a.tsx", b"a.mts", b"a.cts"):
        assert has_reader(name)
    for name in (b"a.c", b"a.cc", b"a.cpp", b"a.cxx", b"d/a.test.JS"):
        assert has_reader(name)
    for name in (b"a.rs", b"py", b"a.py.txt", b"a.json", b"a.h", b""):
        assert not has_reader(name)
        assert read_blocks(name, b"void a(void) { assert(x); }", b"", by_pytest=True) == ()
    assert read_blocks(b"A.PY", b"def test_a(): assert x", b"", by_pytest=True)[0].name == "test_a"
    assert read_blocks(b"A.TS", b"it('a', () => {})", b"", by_pytest=True)[0].name == "a"
    assert read_blocks(b"A.C", b"void a(void) {}", b"", by_pytest=True)[0].name == "a"


def test_only_where_pytest_runs_the_tests_do_edits_use_it() -> None:
    data = b"class TestA:\n    def test_a(self):\n        f(1)\n"
    (unit,) = find_units(["a.py::TestA::test_a"], {b"a.py": data}, b"", by_pytest=True)
    assert b"pytest" in unit.edits[0].new
    (unit,) = find_units(["TestA.test_a"], {b"a.py": data}, b"", by_pytest=False)
    assert b"self.assertRaises" in unit.edits[0].new


def test_values_are_drawn_for_the_pool_and_for_the_file() -> None:
    data = b"def test_a():\n    assert f() == 'x123456789'\n"
    drawn = {
        tuple(shown(data, read_blocks(path, data, nonce, by_pytest=True)[0].edits))
        for nonce in (b"1", b"2")
        for path in (b"a.py", b"b.py")
    }
    assert len(drawn) == 4
    assert read_blocks(b"b.py", data, b"a", by_pytest=True) != read_blocks(b".py", data, b"a", by_pytest=True)
    assert find_units(["a.py::test_a"], {b"a.py": data}, b"1", by_pytest=True)[0].edits == (
        read_blocks(b"a.py", data, b"1", by_pytest=True)[0].edits
    )
    wholes = {whole_files({b"a.py": data}, nonce)[0].edits for nonce in (b"1", b"2")}
    assert len(wholes) == 2
