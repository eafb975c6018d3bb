"""Long test files, odd ones among them, are read in a time that grows with their length and not with its square."""

from __future__ import annotations

import time

import pytest

from proctor.judge.checks.inverted_tests.locate_tests import find_units, read_blocks

LENGTH = 120_000
MOST_SECONDS = 12
"""A file of this length takes less than a second; where each of its tokens is compared with each other, minutes."""

PARTS = {
    b"a.py": [
        b"def test_a():\n    assert f(1) == [1, 'abc']\n    g(1)\n\n",
        b"x = 1; ",
        b"'a",
        b'"""a',
        b"def test_a():\n def a(): b()\n a()\n",
    ],
    b"a.js": [
        b"it('a', t => { t.equal(f(), [1, 'a']); expect(f()).to.be.true })\n",
        b"f(f(f(",
        b"it('a',",
        b"it.it.it.it.",
        b"if (a) ",
        b"if (a) return; ",
        b"if (a) return done(a)\n",
        b"for (a of [1]) ",
        b"for (;;) { ",
        b"[1].map(",
        b"'",
        b'"""',
        b"describe('a', () => {",
        b"test('a', { b: [ `${ ",
        b"expect(a).b.b.b.b.b.b.b.b(",
        b"/*/*/*",
        b"\\`",
        b"`${",
        b"a.b.c",
    ],
    b"a.c": [
        b"void a(void) { assert(f() == 1); TEST_ASSERT_EQUAL(1, 2); }\n",
        b"void a(void) { assert(f() == 1 && ",
        b"f(f(f(",
        b"{{{{",
        b"#define \\\n",
        b"if (a) ",
        b"void a(void) { for (i = 0; i < 3; i++) { if (a) return; } }\n",
    ],
}


@pytest.mark.soak
@pytest.mark.parametrize(("path", "part"), [(path, part) for path, parts in PARTS.items() for part in parts])
def test_a_long_file_takes_linear_time(path: bytes, part: bytes) -> None:
    data = part * (LENGTH // len(part))
    start = time.process_time()
    read_blocks(path, data, b"x", by_pytest=True)
    assert time.process_time() - start < MOST_SECONDS


@pytest.mark.parametrize(
    ("path", "head", "opening", "closing"),
    [
        (b"a.js", b"it('a', () => {", b"for (const a of [1]) {", b"}"),
        (b"a.js", b"it('a', () => {", b"[1].map(() => {", b"})"),
        (b"a.js", b"it('a', () => {", b"if (a) { return; ", b"}"),
        (b"a.c", b"void a(void) {", b"for (i = 0; i < 3; i++) {", b"}"),
    ],
)
def test_deep_loops_take_linear_time(path: bytes, head: bytes, opening: bytes, closing: bytes) -> None:
    depth = LENGTH // len(opening + closing)
    data = head + opening * depth + closing * depth + (b"})" if path == b"a.js" else b"}")
    start = time.process_time()
    assert len(read_blocks(path, data, b"x", by_pytest=True)) == 1
    assert time.process_time() - start < MOST_SECONDS


def test_many_nested_functions_take_linear_time() -> None:
    inner = b"".join(b" def f%d():\n  f%d()\n" % (number, number + 1) for number in range(2_000))
    data = b"def test_a():\n" + inner + b" f0()\n"
    start = time.process_time()
    assert len(read_blocks(b"a.py", data, b"x", by_pytest=True)) == 1
    assert time.process_time() - start < MOST_SECONDS


def test_many_tests_are_led_to_their_source_in_linear_time() -> None:
    data = b"".join(b"it('does %d', t => { t.ok(f()) })\n" % number for number in range(3_000))
    wanted = [f"file.js > suite > does {number}" for number in range(3_000)]
    start = time.process_time()
    found = find_units(wanted, {b"file.js": data}, b"x", by_pytest=False)
    assert time.process_time() - start < MOST_SECONDS
    assert [unit.ids for unit in found] == [(test,) for test in wanted]
