"""Long test files, odd ones among them, are read in a time that grows with their length and not with its square."""

from __future__ import annotations

import time

import pytest

from proctor.judge.inverted.units import find_units, read_blocks

LENGTH = 120_000
MOST_SECONDS = 12
"""A file of this length takes less than a second; where each of its tokens is compared with each other, minutes."""

PARTS = {
    b"a.py": [b"def test_a():\n    assert f(1) == [1, 'abc']\n    g(1)\n\n", b"x = 1; "],
    b"a.js": [
        b"it('a', t => { t.equal(f(), [1, 'a']); expect(f()).to.be.true })\n",
        b"f(f(f(",
        b"it('a',",
        b"it.it.it.it.",
        b"if (a) ",
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
    ],
}


@pytest.mark.parametrize(("path", "part"), [(path, part) for path, parts in PARTS.items() for part in parts])
def test_a_long_file_takes_linear_time(path: bytes, part: bytes) -> None:
    data = part * (LENGTH // len(part))
    start = time.process_time()
    read_blocks(path, data, b"x", by_pytest=True)
    assert time.process_time() - start < MOST_SECONDS


def test_many_tests_are_led_to_their_source_in_linear_time() -> None:
    data = b"".join(b"it('does %d', t => { t.ok(f()) })\n" % number for number in range(3_000))
    wanted = [f"file.js > suite > does {number}" for number in range(3_000)]
    start = time.process_time()
    found = find_units(wanted, {b"file.js": data}, b"x", by_pytest=False)
    assert time.process_time() - start < MOST_SECONDS
    assert [unit.ids for unit in found] == [(test,) for test in wanted]
