"""Edits of C tests: a table with every rule, which functions are tests, and odd files."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from proctor.judge.checks.inverted_tests.assertion_edits import ReplacementValues, edited
from proctor.judge.checks.inverted_tests.c import CONDITIONS, FLOATS, NUMBERS, OPPOSITES, STRINGS, TRUTHS, WIDE, blocks
from tests.judge.checks.inverted_tests.shown import Places, cases, only, shown

RULES = r"""
| assert(f(1) == 2);
negation 1: '==' -> !=
expectation 1: '2' -> 9
assertion 1: '' -> assert(1260 == 1286);·

| assert(f() != 2);
negation 1: '!=' -> ==
assertion 1: '' -> assert(1260 == 1286);·

| assert(f() == 1 && g() == 'a');
negation 1: "f() == 1 && g() == 'a'" -> !(@)
expectation 1: '1' -> 8
expectation 1: "'a'" -> 'w'

| assert(f() == 1 || g());
negation 1: 'f() == 1 || g()' -> !(@)
assertion 1: '' -> assert(1260 == 1286);·

| assert(f(x == 1));
negation 1: 'f(x == 1)' -> !@
assertion 1: '' -> assert(1260 == 1286);·

| assert((n = f()) == 3);
negation 1: '==' -> !=
expectation 1: '3' -> 5
assertion 1: '' -> assert(1260 == 1286);·

| assert(p == NULL);
negation 1: '==' -> !=
assertion 1: '' -> assert(1260 == 1286);·

| assert(!strcmp(f(), "a"));
negation 1: '!strcmp(f(), "a")' -> strcmp(f(), "a")
expectation 1: '"a"' -> "q"
assertion 1: '' -> assert(1260 == 1286);·

| assert(!f());
negation 1: '!f()' -> f()
assertion 1: '' -> assert(1260 == 1286);·

| assert(strcmp(f(), "a") == 0);
negation 1: '==' -> !=
expectation 1: '"a"' -> "p"
assertion 1: '' -> assert(1260 == 1286);·

| assert(0 == memcmp("a", f(), 1));
negation 1: '==' -> !=
expectation 1: '"a"' -> "p"
assertion 1: '' -> assert(1260 == 1286);·

| assert(strcmp(f(), "a") < 0);
negation 1: '<' -> >=
assertion 1: '' -> assert(1260 == 1286);·

| assert(!strcmp(f(), "a") || x);
negation 1: '!strcmp(f(), "a") || x' -> !(@)
assertion 1: '' -> assert(1260 == 1286);·

| assert(x < 3 == 1);
negation 1: 'x < 3 == 1' -> !(@)
assertion 1: '' -> assert(1260 == 1286);·

| TEST_ASSERT_TRUE(f() == 2);
negation 1: 'TEST_ASSERT_TRUE' -> TEST_ASSERT_FALSE
expectation 1: '2' -> 9
assertion 1: '' -> TEST_ASSERT_EQUAL_INT(1260, 1296);·

| TEST_ASSERT_FALSE(f() == 2);
negation 1: 'TEST_ASSERT_FALSE' -> TEST_ASSERT
assertion 1: '' -> TEST_ASSERT_EQUAL_INT(1260, 1297);·

| TEST_ASSERT_TRUE_MESSAGE(f(), "text");
negation 1: 'TEST_ASSERT_TRUE_MESSAGE' -> TEST_ASSERT_FALSE_MESSAGE
assertion 1: '' -> TEST_ASSERT_EQUAL_INT(1260, 1304);·

| TEST_ASSERT_UNLESS(f());
negation 1: 'TEST_ASSERT_UNLESS' -> TEST_ASSERT
assertion 1: '' -> TEST_ASSERT_EQUAL_INT(1260, 1298);·

| TEST_ASSERT_EQUAL(2, f(1));
expectation 1: '2' -> 3
form 1: 'f(1)' -> @ + 41
negation 1: 'TEST_ASSERT_EQUAL(2, f(1))' -> TEST_ASSERT_FALSE(2 == f(1))

| TEST_ASSERT_EQUAL_INT_MESSAGE(2, f(), "text");
expectation 1: '2' -> 6
form 1: 'f()' -> @ + 53
assertion 1: '' -> TEST_ASSERT_EQUAL_INT(1260, 1309);·

| TEST_ASSERT_EQUAL_HEX8(2, f());
expectation 1: '2' -> 8
form 1: 'f()' -> @ + 46
assertion 1: '' -> TEST_ASSERT_EQUAL_INT(1260, 1302);·

| TEST_ASSERT_EQUAL_FLOAT(2.5, f());
expectation 1: '2.5' -> 9.5
form 1: 'f()' -> @ * 3 + 49
assertion 1: '' -> TEST_ASSERT_EQUAL_INT(1260, 1303);·

| TEST_ASSERT_EQUAL_STRING("a" "b", f());
expectation 1: '"a"' -> "v"
expectation 1: '"b"' -> "z"
expectation 1: '"a" "b"' -> "w45"
assertion 1: '' -> TEST_ASSERT_EQUAL_INT(1260, 1304);·

| TEST_ASSERT_EQUAL_STRING(expected, f());
expectation 1: 'expected' -> "w45"
assertion 1: '' -> TEST_ASSERT_EQUAL_INT(1260, 1304);·

| TEST_ASSERT_NULL(f());
negation 1: 'TEST_ASSERT_NULL' -> TEST_ASSERT_NOT_NULL
assertion 1: '' -> TEST_ASSERT_EQUAL_INT(1260, 1296);·

| ck_assert_int_eq(f(), 3);
negation 1: 'ck_assert_int_eq' -> ck_assert_int_ne
form 1: 'f()' -> @ + 37
expectation 1: '3' -> 7

| ck_assert_str_eq(f(), "a");
negation 1: 'ck_assert_str_eq' -> ck_assert_str_ne
expectation 1: '"a"' -> "s"
expectation 1: '"a"' -> "w42"

| ck_assert_str_eq(f(), expected);
negation 1: 'ck_assert_str_eq' -> ck_assert_str_ne
expectation 1: 'expected' -> "w42"

| ck_assert_str_eq("a", "b");
negation 1: 'ck_assert_str_eq' -> ck_assert_str_ne
expectation 1: '"a"' -> "n"
expectation 1: '"b"' -> "s"
expectation 1: '"b"' -> "w42"

| ck_assert(f());
negation 1: 'f()' -> !@
assertion 1: '' -> ck_assert(1260 == 1289);·

| assert_int_equal(f(), 3);
negation 1: 'assert_int_equal' -> assert_int_not_equal
form 1: 'f()' -> @ + 37
expectation 1: '3' -> 7

| assert_float_equal(f(), 3.5, 9);
negation 1: 'assert_float_equal' -> assert_float_not_equal

| assert_string_equal(f(), "a");
negation 1: 'assert_string_equal' -> assert_string_not_equal
expectation 1: '"a"' -> "v"
expectation 1: '"a"' -> "w45"

| CU_ASSERT(f());
negation 1: 'f()' -> !@
assertion 1: '' -> CU_ASSERT(1260 == 1289);·

| CU_ASSERT_EQUAL(f(), 1);
negation 1: 'CU_ASSERT_EQUAL' -> CU_ASSERT_NOT_EQUAL
form 1: 'f()' -> @ + 36
expectation 1: '1' -> 6

| REQUIRE(f() == 1);
negation 1: '==' -> !=
expectation 1: '1' -> 9
assertion 1: '' -> REQUIRE(1260 == 1287);·

| if (x) { assert(f() == 1); } else assert(g()); assert(h());
negation 1: 'h()' -> !@
assertion 1: '' -> assert(1871 == 1944);·

| for (;;) { assert(f() == 1); }
negation 1: '==' -> !=
expectation 1: '1' -> 0
assertion 1: '' -> assert(1403 == 1440);·

| do { assert(f()); } while (x); g();
negation 1: 'f()' -> !@
assertion 1: '' -> assert(1325 == 1356);·

| f(); TEST_ASSERT_TRUE(x);
negation 1: 'TEST_ASSERT_TRUE' -> TEST_ASSERT_FALSE
assertion 1: '' -> TEST_ASSERT_EQUAL_INT(1260, 1281);·
assertion 1: '' -> TEST_ASSERT_EQUAL_INT(1325, 1366);·

| assert();
assertion 1: '' -> assert(1260 == 1286);·

| return f();

| TEST_ASSERT_EQUAL(1, 2, 3);
expectation 1: '1' -> 3
expectation 1: '2' -> 6
negation 1: 'TEST_ASSERT_EQUAL(1, 2, 3)' -> TEST_ASSERT_FALSE(1 == 2)

| TEST_ASSERT_EQUAL(1);
assertion 1: '' -> TEST_ASSERT_EQUAL_INT(1260, 1297);·

| assert(1 == 2 == 3);
negation 1: '1 == 2 == 3' -> !(@)
assertion 1: '' -> assert(1260 == 1286);·

| assert(a ==);
negation 1: '==' -> !=
assertion 1: '' -> assert(1260 == 1286);·

| assert(== a);
negation 1: '==' -> !=
assertion 1: '' -> assert(1260 == 1286);·

| assert(a->b[1].c == *p + 2);
negation 1: '==' -> !=
form 1: '*p + 2' -> (@) + 40
assertion 1: '' -> assert(1260 == 1286);·

| assert(a == b ? c : d);
negation 1: 'a == b ? c : d' -> !(@)
assertion 1: '' -> assert(1260 == 1286);·

| assert(a & 1 == 1);
negation 1: 'a & 1 == 1' -> !(@)
assertion 1: '' -> assert(1260 == 1286);·

| assert(f() == "a");
negation 1: '==' -> !=
assertion 1: '' -> assert(1260 == 1286);·

| assert(f() == 'a');
negation 1: '==' -> !=
expectation 1: "'a'" -> 'k'
assertion 1: '' -> assert(1260 == 1286);·

| assert(strcmp(a, b) == 0);
negation 1: '==' -> !=
assertion 1: '' -> assert(1260 == 1286);·

| assert(!strncmp("a", "b", 1) && x == 1);
negation 1: '!strncmp("a", "b", 1) && x == 1' -> !(@)
expectation 1: '"a"' -> "m"
expectation 1: '"b"' -> "r"
expectation 1: '1' -> 4

| assert(!strcmp(a, "b") == 1);
negation 1: '!strcmp(a, "b") == 1' -> !(@)
assertion 1: '' -> assert(1260 == 1286);·

| assert(strcmp(a, "b") + 1 == 1);
negation 1: '==' -> !=
expectation 1: '1' -> 5
assertion 1: '' -> assert(1260 == 1286);·

| assert(strcmp == 1);
negation 1: '==' -> !=
expectation 1: '1' -> 2
assertion 1: '' -> assert(1260 == 1286);·

| assert(x && !memcmp(p, "a", 1));
negation 1: 'x && !memcmp(p, "a", 1)' -> !(@)
expectation 1: '"a"' -> "t"
assertion 1: '' -> assert(1260 == 1286);·

| assert_true(strcasecmp(p, "a") == 0);
negation 1: 'assert_true' -> assert_false
expectation 1: '"a"' -> "w"

| TEST_ASSERT(f() == 1);
negation 1: 'TEST_ASSERT' -> @_FALSE
expectation 1: '1' -> 4
assertion 1: '' -> TEST_ASSERT_EQUAL_INT(1260, 1291);·

| TEST_ASSERT_NOT_NULL(p);
negation 1: 'TEST_ASSERT_NOT_NULL' -> TEST_ASSERT_NULL
assertion 1: '' -> TEST_ASSERT_EQUAL_INT(1260, 1300);·

| assert_null(p);
negation 1: 'assert_null' -> assert_non_null

| ck_assert_ptr_nonnull(p);
negation 1: 'ck_assert_ptr_nonnull' -> ck_assert_ptr_null

| TEST_ASSERT_EQUAL_DOUBLE_MESSAGE(1.5, f(), "m");
expectation 1: '1.5' -> 1.9
form 1: 'f()' -> @ * 3 + 58
assertion 1: '' -> TEST_ASSERT_EQUAL_INT(1260, 1312);·

| ck_assert_float_eq(f(), 1.5);
form 1: 'f()' -> @ * 3 + 39
expectation 1: '1.5' -> 9.5

| TEST_ASSERT_EQUAL_FLOAT(1.5);
assertion 1: '' -> TEST_ASSERT_EQUAL_INT(1260, 1303);·

| TEST_ASSERT_EQUAL_STRING("a");
assertion 1: '' -> TEST_ASSERT_EQUAL_INT(1260, 1304);·

| TEST_ASSERT_EQUAL_STRING_MESSAGE("a", f(), "m");
expectation 1: '"a"' -> "e"
expectation 1: '"a"' -> "w53"
assertion 1: '' -> TEST_ASSERT_EQUAL_INT(1260, 1312);·

| TEST_ASSERT_EQUAL_size_t(1, f());
expectation 1: '1' -> 0
form 1: 'f()' -> @ + 48
negation 1: 'TEST_ASSERT_EQUAL_size_t(1, f())' -> TEST_ASSERT_FALSE(1 == f())

| TEST_ASSERT_EQUAL_INT_ARRAY(a, b, 3);
assertion 1: '' -> TEST_ASSERT_EQUAL_INT(1260, 1307);·

| ck_assert_str_eq(f(), L"a");
negation 1: 'ck_assert_str_eq' -> ck_assert_str_ne
expectation 1: 'L"a"' -> "w42"

| CU_ASSERT_STRING_EQUAL("a", f());
negation 1: 'CU_ASSERT_STRING_EQUAL' -> CU_ASSERT_STRING_NOT_EQUAL
expectation 1: '"a"' -> "t"
expectation 1: '"a"' -> "w43"

| x = assert(f());
negation 1: 'f()' -> !@

| f(1); ck_assert_int_eq(1, f()); g(); assert(x);
negation 1: 'ck_assert_int_eq' -> ck_assert_int_ne
expectation 1: '1' -> 8
form 1: 'f()' -> @ + 46
negation 1: 'x' -> !x

| if (a) f(); sizeof(x); for (;;) { }

| assert(f() == 1 && (g() == 2 || h()));
negation 1: 'f() == 1 && (g() == 2 || h())' -> !(@)
expectation 1: '1' -> 8
assertion 1: '' -> assert(1260 == 1286);·

| g_assert(f()); CHECK(f());
negation 1: 'f()' -> !@
negation 1: 'f()' -> !@
assertion 1: '' -> g_assert(1260 == 1288);·
assertion 1: '' -> CHECK(1455 == 1495);·

| TEST_ASSERT_FALSE_MESSAGE(f(), "m");
negation 1: 'TEST_ASSERT_FALSE_MESSAGE' -> TEST_ASSERT_MESSAGE
assertion 1: '' -> TEST_ASSERT_EQUAL_INT(1260, 1305);·

| ck_assert_int_eq(f(), 1)
negation 1: 'ck_assert_int_eq' -> ck_assert_int_ne
form 1: 'f()' -> @ + 37
expectation 1: '1' -> 7

| x ck_assert_int_eq; assert_int_equal(f(), "a");
negation 1: 'assert_int_equal' -> assert_int_not_equal
form 1: 'f()' -> @ + 57
form 1: '"a"' -> @ + 62

| foo(TEST_ASSERT_EQUAL(1, 2));
expectation 1: '1' -> 7
expectation 1: '2' -> 0
negation 1: 'TEST_ASSERT_EQUAL(1, 2)' -> TEST_ASSERT_FALSE(1 == 2)

| assert((a == 1));
negation 1: '(a == 1)' -> !@
assertion 1: '' -> assert(1260 == 1286);·

| while (f()) { assert(x == 1); } assert(y);
negation 1: 'y' -> !y
assertion 1: '' -> assert(1676 == 1734);·

| assert(a == 1 &&);
negation 1: 'a == 1 &&' -> !(@)
expectation 1: '1' -> 6
assertion 1: '' -> assert(1260 == 1286);·

| assert(f(a && b == 2) == 1);
negation 1: '==' -> !=
expectation 1: '1' -> 0
assertion 1: '' -> assert(1260 == 1286);·

| assert(p == "a" + 1);
negation 1: '==' -> !=
assertion 1: '' -> assert(1260 == 1286);·

| assert(1 == x++);
negation 1: '1 == x++' -> !(@)
assertion 1: '' -> assert(1260 == 1286);·

| assert(f() == -1 && g() == -x);
negation 1: 'f() == -1 && g() == -x' -> !(@)
expectation 1: '1' -> 9
form 1: '-x' -> (@) + 47

| TEST_ASSERT_EQUAL(-12, a - b);
expectation 1: '12' -> 14
form 1: 'a - b' -> (@) + 43
negation 1: 'TEST_ASSERT_EQUAL(-12, a - b)' -> TEST_ASSERT_FALSE((-12) == (a - b))

| TEST_ASSERT_EQUAL_HEX8(0xF0, '\n');
expectation 1: '0xF0' -> 0xd0
form 1: "'\\n'" -> @ + 49
assertion 1: '' -> TEST_ASSERT_EQUAL_INT(1260, 1302);·

| assert(a.b >= c->d[1]);
negation 1: '>=' -> <
assertion 1: '' -> assert(1260 == 1286);·

| assert(f() == 10UL);
negation 1: '==' -> !=
expectation 1: '10UL' -> 40UL
assertion 1: '' -> assert(1260 == 1286);·

| assert_uint_equal(f(), 3);
form 1: 'f()' -> @ + 38
expectation 1: '3' -> 8
assertion 1: '' -> assert_uint_equal(1260, 1297);·

| g(); assert_uint_equal(f(), 3); h();
form 1: 'f()' -> @ + 43
expectation 1: '3' -> 4
assertion 1: '' -> assert_uint_equal(1325, 1367);·

| for (int i = 0; i < 3; i++) { assert(f(i) == 1); }
negation 1: '==' -> !=
expectation 1: '1' -> 3
assertion 1: '' -> assert(1650 == 1706);·

| for (i = 1; i <= 3; ++i) { assert(f(i) == 1); }
negation 1: '==' -> !=
expectation 1: '1' -> 9
assertion 1: '' -> assert(1611 == 1664);·

| for (i = 0; i < 0; i++) { assert(f(i) == 1); }

| for (i = 3; i < 3; i++) { assert(f(i) == 1); }

| for (i = 0; i < n; i++) { assert(f(i) == 1); }

| for (i = 0; i < 010; i++) { assert(f(i) == 1); }

| for (i = 0; j < 3; i++) { assert(f(i) == 1); }

| for (i = n; i < 3; i++) { assert(f(i) == 1); }

| for (i = 0; i > 3; i++) { assert(f(i) == 1); }

| for (i = 0; i < 3 + n; i++) { assert(f(i) == 1); }

| for (i = 0; i < 3) { assert(f(i) == 1); }

| for (; i < 3; i++) { assert(f(i) == 1); }

| for (i = 0;;) { assert(f(i) == 1); }
negation 1: '==' -> !=
expectation 1: '1' -> 7
assertion 1: '' -> assert(1468 == 1510);·

| for (i = 0; i < 3; i++) assert(f(i) == 1); assert(g());
negation 1: 'g()' -> !@
assertion 1: '' -> assert(1819 == 1888);·

| for (i = 0; i < 3; i++) { if (x) break; assert(f(i) == 1); }

| for (i = 0; i < 3; i++) { goto end; assert(f(i) == 1); } end: assert(g());

| if (x) f()
| ; assert(g());
negation 2: 'g()' -> !@
assertion 2: '' -> assert(1429 == 1468);·

| if (x) MACRO
|   assert(f()); assert(g());
negation 2: 'g()' -> !@
assertion 2: '' -> assert(1624 == 1678);·

| if (x) return; assert(f());

| if (x) { goto end; } assert(f()); end: assert(g());

| while (x) { if (y) break; } assert(f());
negation 1: 'f()' -> !@
assertion 1: '' -> assert(1624 == 1678);·

| while (x) return; assert(f());

| do { if (x) break; assert(f()); } while (y);
"""


@pytest.mark.parametrize(("source", "expected"), cases(RULES))
def test_every_rule_makes_exactly_these_edits(source: str, expected: list[str]) -> None:
    data = f"void test_a(void) {{ {source} }}".encode()
    assert shown(data, only(blocks(data, Places())).edits) == expected


def test_tables_agree_with_themselves() -> None:
    for name, opposite in OPPOSITES.items():
        assert name != opposite
        assert opposite in OPPOSITES
        assert CONDITIONS & {name, opposite} != {name, opposite}
    assert TRUTHS < CONDITIONS
    for name in (b"TEST_ASSERT_EQUAL_FLOAT", b"ck_assert_double_eq"):
        assert FLOATS.match(name)
        assert not NUMBERS.match(name)
        assert not WIDE.match(name)
    for name in (b"TEST_ASSERT_EQUAL_HEX8", b"TEST_ASSERT_EQUAL_CHAR", b"TEST_ASSERT_EQUAL_INT16_MESSAGE"):
        assert NUMBERS.match(name)
        assert not WIDE.match(name), "the opposite would compare more than the last bits"
    assert STRINGS.match(b"TEST_ASSERT_EQUAL_STRING")
    assert not STRINGS.match(b"TEST_ASSERT_EQUAL_STRING_LEN")


def test_functions_are_found_wherever_they_are_defined() -> None:
    data = b"""
int prototype(void);
#define DEFINE(n) void made_##n(void) { assert(n); }
#define MACRO(x) do { \\
    assert(x); } while (0)
static int table[] = { 1, call(2) };
static void one(int a, char *b)
{
    if (a) { two(); }
    three(four());
}
extern "C" {
int five(void) { return 1; }
}
namespace n { struct S { int six() { return 1; } }; }
START_TEST(seven) { f(); }
END_TEST
TEST(Suite, eight) { }
TEST_CASE("nine") { }
START_TEST() { }
int unclosed(void) { (
"""
    assert [(one.around, one.name) for one in blocks(data, Places())] == [
        ((), "one"),
        ((), "five"),
        ((), "six"),
        ((), "seven"),
        (("Suite",), "eight"),
        ((), "nine"),
        ((), "START_TEST"),
    ]
    first = blocks(b'TEST_CASE("X\xff") { }', Places())
    assert [one.name for one in first] == ["X\ufffd"]
    assert blocks(data, Places())[0].calls == {"three", "four", "if"}


ODD = {
    "line ends": b"void a(void) {\r\n  assert(f());\r\n}\r\n",
    "macro": b"#define X(a) { \\\n '( \\\n\nvoid a(void) {\n assert(f()); }",
    "macro with other line ends": b"#define X(a) { \\\r\n '(\r\n\r\nvoid a(void) {\r\n assert(f()); }",
    "directive inside": b"void a(void) {\n  #ifdef X\n  it's\n  # endif\nassert(f()); }",
    "comment": b"void a(void) { /* ' */ // it's {\n assert(f()); }",
    "string": b'void a(void) { g("// {");\n assert(f()); }',
    "characters": b"void a(void) { g('{', '\\'', '\"');\n assert(f()); }",
    "no regular expression": b"void a(void) { g(1 / 2, /* */ 3 / 4);\n assert(f()); }",
}


@pytest.mark.parametrize("name", ODD)
def test_odd_files_are_read_and_lines_are_right(name: str) -> None:
    data = ODD[name]
    first = shown(data, only(blocks(data, Places())).edits)[0]
    assert first == f"negation {data[: data.index(b'f()')].count(10) + 1}: 'f()' -> !@"


@settings(max_examples=40)
@given(st.lists(st.sampled_from([source for source, _ in cases(RULES)]), max_size=4), st.binary(max_size=40))
def test_edits_are_spans_of_the_file_with_the_right_line(sources: list[str], noise: bytes) -> None:
    data = ("void test_a(void) {\n" + "\n".join(sources) + "\n}\n").encode() + noise
    for block in blocks(data, ReplacementValues(b"")):
        for edit in block.edits:
            assert 0 <= edit.start <= edit.end <= len(data)
            assert edit.line == data.count(b"\n", 0, edit.start) + 1
            assert edited(data, [edit]) != data
