"""The lexer: kinds and places of tokens, strings of every sort, brackets and arguments."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from proctor.judge.checks.inverted_tests.c_like_source import (
    MARK,
    NAME,
    NUMBER,
    STRING,
    Token,
    arguments,
    brackets,
    tokens,
)

KINDS = [
    (b"abc $x _y1", [(NAME, b"abc"), (NAME, b"$x"), (NAME, b"_y1")]),
    (
        b"1 1.5e-3 0x1F .5 1_000n 2p+1",
        [(NUMBER, text) for text in (b"1", b"1.5e-3", b"0x1F", b".5", b"1_000n", b"2p+1")],
    ),
    (rb"""'a' "b" 'it\'s' "\"" """, [(STRING, text) for text in (b"'a'", b'"b"', rb"'it\'s'", rb'"\""')]),
    (b"'open\n'a'", [(MARK, b"'"), (NAME, b"open"), (STRING, b"'a'")]),
    (
        b"=> === !== == != <= >= && || -> ++ -- =",
        [(MARK, text) for text in b"=> === !== == != <= >= && || -> ++ -- =".split()],
    ),
    (b"a/b // c 'd\n/* e\n\" */f", [(NAME, b"a"), (MARK, b"/"), (NAME, b"b"), (NAME, b"f")]),
    (b"a /* open", [(NAME, b"a")]),
    (b"\xff\xc3\xa4", [(MARK, b"\xff"), (MARK, b"\xc3"), (MARK, b"\xa4")]),
    (b"", []),
    (b" \t\r\n\f ", []),
]


@pytest.mark.parametrize("directives", [False, True])
@pytest.mark.parametrize(("source", "expected"), KINDS)
def test_kinds_of_tokens(source: bytes, expected: list[tuple[str, bytes]], directives: bool) -> None:
    assert [(one.kind, one.text) for one in tokens(source, directives=directives)] == expected


TEMPLATES = [
    b"``",
    b"`a`",
    b"`a\nb`",
    rb"`\``",
    b"`${1}`",
    b"`${`${`a`}`}`",
    b"`${{a: '}'}}`",
    b"`${{a: 1} + `b`}`",
    b'`${ /* } */ "}`" // }\n}`',
    rb"`${'\'}'}`",
    b"`$ { } } $$`",
    rb"`\${`",
    b"`'\"// /*`",
]


@pytest.mark.parametrize("template", TEMPLATES)
def test_a_template_is_one_string_with_all_that_it_holds(template: bytes) -> None:
    assert [one.text for one in tokens(b"x" + template + b"y")] == [b"x", template, b"y"]


@pytest.mark.parametrize("source", [b"`a", b"`${a", b"`${`a`", rb"`\`"])
def test_an_open_template_goes_to_the_end(source: bytes) -> None:
    assert [one.text for one in tokens(source)] == [source]


REGULAR = [b"/a/", b"/a/gi", rb"/\//", b"/[/]/", rb"/[\]/]/u", b"/'\"`/"]


@pytest.mark.parametrize("regular", REGULAR)
def test_a_regular_expression_is_a_string_where_a_value_is_expected(regular: bytes) -> None:
    assert [(one.kind, one.text) for one in tokens(regular)] == [(STRING, regular)]
    for before in (b"(", b",", b"=", b":", b"[", b"!", b"&&", b"||", b"=>", b"return", b"{", b"}", b";", b"==="):
        assert tokens(before + b" " + regular)[-1] == Token(STRING, regular, len(before) + 1)


@pytest.mark.parametrize(
    "source", [b"a / b / c", b"(a) / b / c", b"1 /2/ 3", b"</a><b></b>", b"x /\n/ y", b"a[0] / 1 / 2"]
)
def test_a_division_and_a_closing_tag_are_not_regular_expressions(source: bytes) -> None:
    assert STRING not in {one.kind for one in tokens(source)}


def test_directives_are_left_out_with_their_further_lines() -> None:
    source = b"a\n#define X ' \\\n \" ( \nb\n  # if\t'\n c # d\n/* e\n */#f\ng"
    assert [one.text for one in tokens(source, directives=True)] == [b"a", b"b", b"c", b"#", b"d", b"g"]
    assert [one.text for one in tokens(b"#x \\\r\n y\r\nz", directives=True)] == [b"z"]
    assert [one.text for one in tokens(b"# x", directives=True)] == []
    assert [one.text for one in tokens(b"# x")] == [b"#", b"x"]
    assert [one.text for one in tokens(b"`a` /b/", directives=True)] == [b"`", b"a", b"`", b"/", b"b", b"/"]


PIECES = [b"a", b"1", b" ", b"\n", b"'", b'"', b"`", b"${", b"}", b"/", b"*", b"//", b"\\", b"#", b"("]
SOURCES = st.one_of(st.binary(max_size=60), st.lists(st.sampled_from(PIECES)).map(b"".join))


@given(SOURCES, st.booleans())
def test_tokens_cover_the_source_without_overlap(source: bytes, directives: bool) -> None:
    at = 0
    for one in tokens(source, directives=directives):
        assert at <= one.start < one.end <= len(source)
        assert source[one.start : one.end] == one.text
        between = source[at : one.start]
        assert not between.strip() or any(mark in between for mark in (b"//", b"/*", b"#"))
        at = one.end


def test_brackets_are_led_to_their_ends() -> None:
    assert brackets(tokens(b"(a[b]{c}) d (e)")) == {0: 8, 2: 4, 5: 7, 10: 12}
    assert brackets(tokens(b"'(' )")) == {}
    assert brackets(tokens(b"( [ ) ( )")) == {3: 4}, "a mismatch leaves what is open without an end"
    assert brackets(tokens(b") ( ) (")) == {1: 2}
    assert brackets(tokens(b"( ( )")) == {1: 2}


ARGUMENTS = [
    (b"()", []),
    (b"(a)", [(1, 1)]),
    (b"(a, b c)", [(1, 1), (3, 4)]),
    (b"(a, )", [(1, 1)]),
    (b"(,)", []),
    (b"(, a)", [(2, 2)]),
    (b"(f(x, y), [z, w], {a, b})", [(1, 6), (8, 12), (14, 18)]),
    (b"((a, b))", [(1, 5)]),
]


@pytest.mark.parametrize(("source", "expected"), ARGUMENTS)
def test_arguments_are_what_commas_separate(source: bytes, expected: list[tuple[int, int]]) -> None:
    several = tokens(source)
    assert arguments(several, brackets(several), 0) == tuple(expected)
