"""Every rule, executed: an honest module passes its tests as they are and fails each altered copy of them."""

from __future__ import annotations

import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from proctor.judge.checks.inverted_tests.assertion_edits import EXCEPTION, EXPECTATION, FORM, NEGATION, Edit, edited
from proctor.judge.checks.inverted_tests.locate_tests import read_blocks

MODULE = """
import warnings

def parse(text):
    if not text.strip():
        raise ValueError("empty text: nothing to parse")
    return [int(part) for part in text.split(",")]

def old(text):
    warnings.warn("old is deprecated", DeprecationWarning)
    return parse(text)

def each(text, call):
    for number in parse(text):
        call(number)

def mean(text):
    return sum(parse(text)) / len(parse(text))

NAMES = {"a": 1, "b": None, "c": True, "d": b"raw"}
"""

PYTEST = """
import asyncio
import re
import unittest
from unittest.mock import Mock
import pytest
from module import *

def same(one, other):
    assert one == other

def test_values():
    assert parse("1,2") == [1, 2]
    assert NAMES == {"a": 1, "b": None, "c": True, "d": b"raw"}
    assert 1.5 == mean("1,2")
    assert mean("1,2") == pytest.approx(1.5)
    assert parse("1")
    assert NAMES["b"] is None
    assert "a" in NAMES
    assert (n := len(NAMES)) == 4
    expected = [7, 8]
    assert parse("7,8") == expected
    for text, number in (("1", 1), ("2", 2)):
        assert parse(text)[0] == number

@pytest.mark.parametrize("text", ["", " "])
def test_raises(text):
    with pytest.raises(ValueError, match="nothing|something") as info: parse(text)
    assert str(info.value) == "empty text: nothing to parse"

def test_legacy():
    pytest.raises(ValueError, parse, "")

def test_warns():
    with pytest.warns(DeprecationWarning, match="deprecated"):
        assert old("3") == [3]

def test_mock():
    call = Mock()
    each("4", call)
    call.assert_called_once_with(4); call.assert_called_with(4)
    call.assert_any_call(4)
    call.assert_called_once()
    call.assert_called()
    Mock().assert_not_called()

def test_calls():
    parse("1")
    print(parse("2"))

def test_helper():
    same(parse("1"), [1])

def test_async():
    async def main():
        assert parse("1") == [1]
    asyncio.run(main())

def test_match():
    match parse("1"):
        case [1]:
            pass
        case _:
            raise AssertionError

class TestMethods(unittest.TestCase):
    def test_methods(self):
        self.assertEqual(parse("1"), [1])
        self.assertEqual(2, parse("2")[0], "message")
        self.assertNotEqual(parse("1"), [2])
        self.assertTrue(parse("1"))
        self.assertFalse(NAMES["b"])
        self.assertIs(NAMES["b"], None)
        self.assertIsNone(NAMES["b"])
        self.assertIsNotNone(NAMES["a"])
        self.assertIn("a", NAMES)
        self.assertNotIn("z", NAMES)
        self.assertIsInstance(NAMES, dict)
        self.assertRegex("text", "t.x")
        self.assertGreater(mean("1,2"), 1)
        self.assertLess(mean("1,2"), 2)
        self.assertGreaterEqual(mean("1,2"), 1.5)
    def test_equality(self):
        self.assertAlmostEqual(mean("1,2"), 1.5, places=3)
        self.assertCountEqual(parse("2,1"), [1, 2])
        self.assertSequenceEqual(tuple(parse("1,2")), [1, 2])
        self.assertListEqual(parse("1"), [1])
        self.assertDictEqual({"a": parse("1")}, {"a": [1]})
        self.assertSetEqual(set(parse("1")), {1})
        self.assertTupleEqual(tuple(parse("1")), (1,))
        self.assertMultiLineEqual(str(parse("1")), "[1]")
    def test_exceptions(self):
        self.assertRaises(ValueError, parse, "")
        with self.assertRaisesRegex(ValueError, "nothing to parse$"):
            parse("")
        with self.assertWarns(DeprecationWarning):
            old("1")
    class Inner(unittest.TestCase):
        pass
    def test_plain(self):
        self.helper()
    def helper(self):
        self.assertTrue(parse("1"))
"""

HONEST = """
def notes(text):
    return {notes}

def fail(text):
    raise {error}("cannot read value " + text)
"""
"""Two correct solutions differ here: whether there are notes, and which exception of a family is raised."""

TWO_WAYS = """
import pytest
from module import fail, notes

def test_notes():
    def check(note):
        assert note == "note"
        assert len(note) == 4
    for note in notes("a"):
        assert note == "note"
        check(note)
    assert [check(note) for note in notes("a")] == [None] * len(notes("a"))
    for text in ("a", "b"):
        assert notes(text) in ([], ["note"])

def test_raises():
    with pytest.raises(RuntimeError, match="cannot read"):
        fail("a")
    with pytest.raises(Exception):
        fail("b")
"""

NODE_TWO_WAYS = """
const test = require('node:test')
const assert = require('node:assert')
const notes = () => NOTES
test('notes', () => {
  for (const note of notes()) { assert.equal(note, 'note') }
  notes().forEach((note) => { assert.equal(note, 'note') })
  for (const text of ['a', 'b']) { assert.ok(notes(text).length < 2) }
  if (notes().length) assert.equal(notes()[0], 'note')
  assert.ok(Array.isArray(notes()))
  if (!notes().length) return
  assert.equal(notes()[0], 'note')
})
"""

C_TWO_WAYS = r"""
#include <assert.h>
static int count(void) { return COUNT; }
static int doubled(int x) { return 2 * x; }
int main(void) {
    for (int i = 0; i < count(); i++) { assert(count() == 1); }
    for (int i = 0; i < 2; i++) { assert(doubled(i) == i + i); }
    assert(doubled(2) == 4);
    if (!count()) return 0;
    assert(count() == 1);
    return 0;
}
"""

UNITTEST = """
import unittest
from module import *

class TestPlain(unittest.TestCase):
    def test_calls(self):
        parse("1")
        old("2")
    def test_method(self):
        self.assertEqual(parse("1"), [1])

if __name__ == "__main__":
    unittest.main()
"""

NODE = """
const test = require('node:test')
const assert = require('node:assert')
const { equal, ok, throws } = require('node:assert')
const parse = (text) => { if (!text.trim()) throw new TypeError('nothing'); return text.split(',').map(Number) }
const later = async (text) => parse(text)
test('values', (t) => {
  assert.equal(parse('1')[0], 1)
  assert.strictEqual(parse('1').join(), '1'); assert.notEqual(parse('1')[0], 2)
  assert.deepEqual(parse('1,2'), [1, 2])
  assert.deepStrictEqual({ a: parse('1'), b: null, c: true, d: undefined, e: 'f' },
    { a: [1], b: null, c: true, d: undefined, e: 'f' })
  assert.match(parse('1').join(), /1/)
  assert.doesNotMatch(parse('1').join(), /2/)
  assert.ok(parse('1')); assert(parse('1').length === 1)
  assert.ifError(null)
  equal(parse('3')[0], 3); ok(parse('3')); throws(() => parse(''))
})
test('throws', () => {
  assert.throws(() => parse(''), /nothing/)
})
test('rejects', async () => {
  await assert.rejects(later(''), TypeError)
})
test('one', () => { assert.ok(parse('1')) })
test('outer', async (t) => {
  await t.test('inner', () => { assert.equal(`${parse('1')}`, `1`) })
})
"""

C = r"""
#include <assert.h>
#include <string.h>
#include <stdio.h>
#include <stdlib.h>
#define FAIL_IF(x) do { \
    if (x) exit(1); } while (0)
#define TEST_ASSERT_TRUE(x) FAIL_IF(!(x))
#define TEST_ASSERT_FALSE(x) FAIL_IF(x)
#define TEST_ASSERT(x) FAIL_IF(!(x))
#define TEST_ASSERT_NULL(x) FAIL_IF((x) != NULL)
#define TEST_ASSERT_NOT_NULL(x) FAIL_IF((x) == NULL)
#define TEST_ASSERT_EQUAL_INT(a, b) FAIL_IF((int)(a) != (int)(b))
#define TEST_ASSERT_EQUAL_HEX8(a, b) FAIL_IF((unsigned char)(a) != (unsigned char)(b))
#define TEST_ASSERT_EQUAL_DOUBLE(a, b) FAIL_IF((a) - (b) > 1e-9 || (b) - (a) > 1e-9)
#define TEST_ASSERT_EQUAL_STRING(a, b) FAIL_IF(strcmp((a), (b)))
#define ck_assert_int_eq(a, b) FAIL_IF((a) != (b))
#define ck_assert_int_ne(a, b) FAIL_IF((a) == (b))
#define assert_string_equal(a, b) FAIL_IF(strcmp((a), (b)))
#define assert_string_not_equal(a, b) FAIL_IF(!strcmp((a), (b)))
static int twice(int x) { return 2 * x; }
static const char *name(void) { return "// name"; }
void test_plain(void) {
    assert(twice(2) == 4);
    assert(twice(2) != 5 && twice(1) == 2);
    assert(!strcmp(name(), "// name"));
    assert(strcmp("// name", name()) == 0);
    assert(memcmp(name(), "//", 2) == 0);
    assert(name()[3] == 'n');
}
void test_unity(void) {
    TEST_ASSERT_TRUE(twice(2) == 4); TEST_ASSERT_FALSE(twice(2) == 5);
    TEST_ASSERT(twice(1));
    TEST_ASSERT_NOT_NULL(name()); TEST_ASSERT_NULL(NULL);
    TEST_ASSERT_EQUAL_INT(4, twice(2));
    TEST_ASSERT_EQUAL_HEX8(0x04, twice(2));
    TEST_ASSERT_EQUAL_DOUBLE(4.0, (double)twice(2));
    TEST_ASSERT_EQUAL_STRING("// " "name", name());
}
void test_others(void) {
    ck_assert_int_eq(twice(2), 4);
    assert_string_equal(name(), "// name");
}
void test_one(void) {
    twice(1);
}
int main(void) { test_plain(); test_unity(); test_others(); test_one(); return 0; }
"""


def edits_of(path: bytes, data: bytes, *, by_pytest: bool = False, nonce: bytes = b"nonce") -> list[Edit]:
    found = [edit for block in read_blocks(path, data, nonce, by_pytest=by_pytest) for edit in block.edits]
    return list(dict.fromkeys(found))


def failed_files(directory: Path) -> set[str]:
    """The files of which pytest says that a test in them failed; no file may fail outside of a test."""
    command = [sys.executable, "-m", "pytest", "-q", "--tb=no", "-rfE", "-W", "ignore", "-p", "no:cacheprovider"]
    done = subprocess.run(command, cwd=directory, capture_output=True, text=True, timeout=300, check=False)
    lines = [line.partition("::")[0] for line in done.stdout.splitlines() if line.startswith(("FAILED ", "ERROR "))]
    assert not any(line.startswith("ERROR") for line in lines), done.stdout
    return {line.removeprefix("FAILED ") for line in lines}


def passes(command: list[str], directory: Path) -> bool:
    done = subprocess.run(command, cwd=directory, capture_output=True, timeout=120, check=False)
    assert done.returncode in (0, 1), (done.stdout + done.stderr).decode()
    return done.returncode == 0


def test_every_edit_of_python_fails_with_an_honest_module(tmp_path: Path) -> None:
    (tmp_path / "module.py").write_text(MODULE)
    (tmp_path / "pytest.ini").write_text("[pytest]\n")
    data = PYTEST.encode()
    edits = edits_of(b"test_a.py", data, by_pytest=True)
    assert len(edits) >= 110
    names = [f"test_{number}.py" for number in range(len(edits))]
    (tmp_path / "test_unaltered.py").write_bytes(data)
    for name, edit in zip(names, edits, strict=True):
        (tmp_path / name).write_bytes(edited(data, [edit]))
    assert failed_files(tmp_path) == set(names)


@pytest.mark.parametrize(("notes", "error"), [("['note']", "RuntimeError"), ("[]", "RecursionError")])
def test_every_edit_of_python_fails_with_each_of_two_honest_modules(tmp_path: Path, notes: str, error: str) -> None:
    (tmp_path / "module.py").write_text(HONEST.format(notes=notes, error=error))
    data = TWO_WAYS.encode()
    edits = [edit for nonce in b"abcdef" for edit in edits_of(b"test_a.py", data, by_pytest=True, nonce=b"%c" % nonce)]
    assert {edit.kind for edit in edits} == {FORM, NEGATION, EXCEPTION}
    names = [f"test_{number}.py" for number in range(len(edits))]
    for name, edit in zip(names, edits, strict=True):
        (tmp_path / name).write_bytes(edited(data, [edit]))
    (tmp_path / "test_unaltered.py").write_bytes(data)
    assert failed_files(tmp_path) == set(names)


def test_every_edit_for_unittest_fails_without_pytest(tmp_path: Path) -> None:
    (tmp_path / "module.py").write_text(MODULE)
    data = UNITTEST.encode()
    edits = edits_of(b"test_a.py", data)
    assert len(edits) >= 7
    for copy in [data, *(edited(data, [edit]) for edit in edits)]:
        (tmp_path / "test_a.py").write_bytes(copy)
        assert passes([sys.executable, "-W", "ignore", "-m", "unittest", "-q"], tmp_path) is (copy == data)


def test_every_edit_of_javascript_fails_with_an_honest_module(tmp_path: Path) -> None:
    node = shutil.which("node")
    assert node is not None
    data = NODE.encode()
    edits = edits_of(b"a.test.js", data)
    assert len(edits) >= 36
    for copy in [data, *(edited(data, [edit]) for edit in edits)]:
        (tmp_path / "a.test.js").write_bytes(copy)
        assert passes([node, "a.test.js"], tmp_path) is (copy == data), copy.decode()


@pytest.mark.parametrize("notes", [b"['note']", b"[]"])
def test_every_edit_of_javascript_fails_with_each_of_two_honest_modules(tmp_path: Path, notes: bytes) -> None:
    node = shutil.which("node")
    assert node is not None
    data = NODE_TWO_WAYS.encode()
    edits = edits_of(b"a.test.js", data)
    assert len(edits) >= 2
    for copy in [data, *(edited(data, [edit]) for edit in edits)]:
        (tmp_path / "a.test.js").write_bytes(copy.replace(b"NOTES", notes))
        assert passes([node, "a.test.js"], tmp_path) is (copy == data), copy.decode()


def test_every_edit_of_c_fails_with_an_honest_module(tmp_path: Path) -> None:
    compiler = shutil.which("cc")
    assert compiler is not None
    data = C.encode()
    edits = edits_of(b"a.c", data)
    assert {edit.kind for edit in edits} >= {EXPECTATION, NEGATION}
    assert len(edits) >= 35
    for copy in [data, *(edited(data, [edit]) for edit in edits)]:
        assert c_passes(compiler, copy, tmp_path) is (copy == data), copy.decode()


@pytest.mark.parametrize("count", [b"0", b"1"])
def test_every_edit_of_c_fails_with_each_of_two_honest_modules(tmp_path: Path, count: bytes) -> None:
    compiler = shutil.which("cc")
    assert compiler is not None
    data = C_TWO_WAYS.encode()
    edits = edits_of(b"a.c", data)
    assert len(edits) >= 4
    for copy in [data, *(edited(data, [edit]) for edit in edits)]:
        assert c_passes(compiler, copy.replace(b"COUNT", count), tmp_path) is (copy == data), copy.decode()


def c_passes(compiler: str, source: bytes, directory: Path) -> bool:
    """Whether a program that must compile exits with 0; a failed assertion ends it with 1 or a signal."""
    (directory / "a.c").write_bytes(source)
    command = [compiler, "-O0", "-w", "a.c", "-o", "a"]
    built = subprocess.run(command, cwd=directory, capture_output=True, check=False)
    assert built.returncode == 0, built.stderr.decode()
    done = subprocess.run([str(directory / "a")], capture_output=True, check=False)
    assert done.returncode in (0, 1, -6)
    return done.returncode == 0
