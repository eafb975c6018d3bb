"""Calls, branches and literals in source text, and the edits that are made of them."""

from __future__ import annotations

import pytest

from proctor.judge.checks.inverted_tests.assertion_edits import ASSERTION, EXPECTATION, Edit
from proctor.judge.checks.inverted_tests.c_like_source import Call, Source, tokens
from tests.judge.checks.inverted_tests.shown import Places, shown


def source_of(data: bytes) -> Source:
    return Source(data, tokens(data), Places())


def test_a_call_is_a_name_with_brackets_that_close() -> None:
    source = source_of(b"f(a, b) 'x'(1) g [2] h(")
    assert source.call_at(0) == Call(0, 1, 5, ((2, 2), (4, 4)))
    assert [index for index in range(len(source.tokens)) if source.call_at(index)] == [0]
    assert source_of(b"f").call_at(0) is None
    assert source_of(b"f()").call_at(0) == Call(0, 1, 2, ())


def test_texts_are_compared_only_where_there_is_a_token() -> None:
    source = source_of(b"a b")
    assert source.is_text(0, b"x", b"a")
    assert source.is_text(1, b"b")
    assert not source.is_text(1, b"a")
    assert not source.is_text(2, b"a", b"b")
    assert not source.is_text(-1, b"b")


BRANCHES = [
    (b"if (a) { b } c", b"{ b }"),
    (b"if (a) b c; d", b"b c"),
    (b"if (a) b(x; y); d", b"b(x; y)"),
    (b"if (a) b", b"b"),
    (b"(if (a) b) c", b"b"),
    (b"[if (a) b] c", b"b"),
    (b"{ if (a) b } c", b"b"),
    (b"if (a) b; else { c } d", b"b { c }"),
    (b"if (a) { b } else if (c) { d } else { e } f", b"{ b } { d } { e }"),
    (b"else c; d", b"c"),
    (b"switch (a) { b } c", b"{ b }"),
    (b"while (a) { b } c", b"{ b }"),
    (b"do { a } while (b); c", b""),
    (b"try { a } catch (e) { b } c", b"{ a } { b }"),
    (b"try { a } catch { b } c", b"{ a } { b }"),
    (b"try { a } finally { b } c", b""),
    (b"try a catch", b"a"),
    (b"a.catch(b) c", b"( b )"),
    (b"a.catch c", b""),
    (b"a.if (b) { c }", b"( b )"),
    (b"if (a", b"a"),
    (b"if (a) { b", b"{"),
    (b"if", b""),
    (b"try", b""),
    (b"'if' (a) b", b""),
    (b"for (a) { b } c", b"{ b }"),
    (b"for (a) b; c", b"b"),
    (b"for await (a of [1]) { b }", b""),
    (b"for (a of [1]) { b }", b""),
    (b"for (a of [1]) { b return }", b"{ b return }"),
    (b"for (a of [1]) { b } c return", b""),
    (b"for (a of [1]) { b.return }", b""),
    (b"for (a of x[1]) { b }", b"{ b }"),
    (b"for (a in [1]) { b }", b"{ b }"),
    (b"for (a of [[1], ...b]) { c }", b""),
    (b"for (;;) { a }", b""),
    (b"for (;) { a }", b"{ a }"),
    (b"for (i = 0; i < 2; i++) { a }", b""),
    (b"for (= 0; i < 2; i++) { a }", b"{ a }"),
    (b"for (i = 0; i < 2;) a; b", b"a"),
    (b"for (i = 0; i < 2; i++ { a }", b"i = 0"),
    (b"for { a } b", b"{ a }"),
    (b"a.forEach(b) c", b"( b )"),
    (b"a.forEach c", b""),
    (b"forEach(b) c", b""),
    (b"[1].forEach(b)", b""),
    (b"; [1].map(b)", b""),
    (b"a [1].map(b)", b"( b )"),
    (b"'a' [1].map(b)", b"( b )"),
    (b"(a) [1].map(b)", b"( b )"),
    (b"{ 1 }.map(b)", b"( b )"),
    (b"[].map(b)", b"( b )"),
    (b"[1].catch(b)", b"( b )"),
    (b"[1].reduce(b)", b"( b )"),
    (b"[1, 2].reduce(b)", b""),
    (b"f() { if (a) return; b } c", b"return ; b"),
    (b"f() { if (a) b.return; c } d", b"b . return"),
    (b"f() { if (a) { return } b } c", b"{ return } b"),
    (b"f() { while (a) { break } b } c", b"{ break }"),
    (b"f() { if (a) { break } b } c", b"{ break } b"),
    (b"f() { if (a) (() => { return }) ; b } c", b"( ( ) => { return } )"),
    (b"f() { for await (a of b) { return } c } d", b"{ return } c"),
    (b"f() { g() { if (a) return; b } c } d", b"return ; b"),
    (b"if (a) return; b", b"return ; b"),
    (b"if (a) return done(a); c", b"return done ( a )"),
    (b"if (a) return b.fail(a, d); e", b"return b . fail ( a , d )"),
    (b"if (a) return b.ok(a); c", b"return b . ok ( a ) ; c"),
    (b"if (a) return done(b); c", b"return done ( b ) ; c"),
    (b"if (a) return done(a.b); c", b"return done ( a . b ) ; c"),
    (b"if (a) return done(); c", b"return done ( ) ; c"),
    (b"if (!a) return done(a); c", b"return done ( a ) ; c"),
    (b"while (a) return done(a); c", b"return done ( a ) ; c"),
    (b"if (a) { if (b) return done(a); return done(a) } c", b"{ if ( b ) return done ( a ) ; return done ( a ) }"),
    (b"if (a) return done(", b"return done ("),
    (b"if (a) return", b"return"),
    (b"if (a) while (b) { c } d", b"while ( b ) { c }"),
    (b"if (a) b\nc", b"b c"),
    (b"if (a) if (b) c; d", b"if ( b ) c"),
]


@pytest.mark.parametrize(("data", "expected"), BRANCHES)
def test_what_is_in_a_branch_may_be_skipped(data: bytes, expected: bytes) -> None:
    source = source_of(data)
    assert skipped(source) == [token.text for token in tokens(expected)]


class Lines(Source):
    """A source in a language whose statements can end with their line."""

    ends_at_lines = True


LINES = [
    (b"if (a) b\nc", b"b"),
    (b"if (a)\nb\nc", b"b"),
    (b"if (a) b c\nd", b"b c"),
    (b"if (a) b // d\nc", b"b"),
    (b"if (a) 1\nc", b"1"),
    (b"if (a) 'b'\nc", b"'b'"),
    (b"if (a) b()\nc", b"b()"),
    (b"if (a) b[0]\nc", b"b[0]"),
    (b"if (a) b = {}\nc", b"b = {}"),
    (b"if (a) b +\nc\nd", b"b + c"),
    (b"if (a) b\n+ c\nd", b"b + c"),
    (b"if (a) b\n(c)\nd", b"b ( c )"),
    (b"if (a) new\nb\nc", b"new b"),
    (b"if (a) b\nin c\nd", b"b in c"),
    (b"if (a)\nif (b)\nc\nd", b"if ( b ) c"),
    (b"if (a)\nfor (b)\nc\nd", b"for ( b ) c"),
    (b"if (a) b\nelse c\nd", b"b c"),
    (b"if (a) try { b }\ncatch { c }\nfinally { d }\ne", b"try { b } catch { c } finally { d }"),
    (b"if (a) do { b }\nwhile (c)\nd", b"do { b } while ( c )"),
    (b"do { a } while (b)\nc", b""),
    (b"if (a) (b\nc)\nd", b"( b c )"),
]


@pytest.mark.parametrize(("data", "expected"), LINES)
def test_a_statement_can_end_with_its_line(data: bytes, expected: bytes) -> None:
    assert skipped(Lines(data, tokens(data), Places())) == [token.text for token in tokens(expected)]


def skipped(source: Source) -> list[bytes]:
    """The tokens of a source that are not certain to run."""
    certain = set(source.certain(0, len(source.tokens)))
    return [token.text for index, token in enumerate(source.tokens) if index not in certain]


def test_only_branches_between_two_tokens_are_looked_at() -> None:
    source = source_of(b"if (a) { b; if (c) d; e } f")
    assert [source.tokens[index].text for index in source.certain(5, 8)] == [b"b", b";", b"if"]
    assert [source.tokens[index].text for index in source.certain(5, 14)][-2:] == [b";", b"e"]


LITERALS = [
    (b"1", ["expectation 1: '1' -> 0"]),
    (b"'a'", ["expectation 1: \"'a'\" -> 'b'"]),
    (b"''", ["expectation 1: \"''\" -> 'w0'"]),
    (b'"a"', ['expectation 1: \'"a"\' -> "b"']),
    (b"`a`", []),
    (b"/a/", []),
    (b"true", ["expectation 1: 'true' -> false"]),
    (b"false", ["expectation 1: 'false' -> true"]),
    (b"null", ["expectation 1: 'null' -> 0"]),
    (b"undefined", ["expectation 1: 'undefined' -> null"]),
    (b"name", []),
    (b"{ a: 1, 2: 3 }", ["expectation 1: '1' -> 6", "expectation 1: '3' -> 2"]),
    (b"f(1)(2) + 3", ["expectation 1: '3' -> 1"]),
    (b"f(1", []),
    (b"a[1][2] - 3", ["expectation 1: '3' -> 1"]),
    (b"'a'[1]", ["expectation 1: \"'a'\" -> 'b'"]),
    (b"(1)", ["expectation 1: '1' -> 2"]),
    (b"[1]", ["expectation 1: '1' -> 2"]),
    (b"1 * 2", []),
    (b"a ? 1 : 2", []),
    (b"a || 1", []),
    (b"a => 1", []),
    (b"-1 + .5", ["expectation 1: '1' -> 2", "expectation 1: '.5' -> .6"]),
    (b"\n\n1", ["expectation 3: '1' -> 3"]),
    (b"'*' + 1", ["expectation 1: \"'*'\" -> 'w0*'", "expectation 1: '1' -> 7"]),
]


@pytest.mark.parametrize(("data", "expected"), LITERALS)
def test_literals_that_are_parts_of_a_value_are_altered(data: bytes, expected: list[str]) -> None:
    source = source_of(data)
    assert shown(data, source.literals((0, len(source.tokens) - 1))) == expected


def test_only_the_literals_of_a_span_are_altered() -> None:
    data = b"* 1, a (3)"
    assert shown(data, source_of(data).literals((1, 1))) == ["expectation 1: '1' -> 3"]
    assert shown(data, source_of(data).literals((4, 6))) == ["expectation 1: '3' -> 9"]


def test_edits_name_the_bytes_and_the_line_of_their_tokens() -> None:
    source = source_of(b"a\nbc d\n e")
    assert source.text((1, 2)) == b"bc d"
    assert source.edit((1, 2), b"x", EXPECTATION) == Edit(2, 6, b"x", EXPECTATION, 2)
    assert source.edit((2, 3), b"x", EXPECTATION) == Edit(5, 9, b"x", EXPECTATION, 2)
    assert source.before(3, b"x", ASSERTION) == Edit(8, 8, b"x", ASSERTION, 3)
    assert source.before(0, b"x", ASSERTION) == Edit(0, 0, b"x", ASSERTION, 1)


def test_a_statement_starts_behind_a_semicolon_or_a_brace() -> None:
    source = source_of(b"a; b { c } d ( e ';' f")
    starts = [token.text for index, token in enumerate(source.tokens) if source.starts_statement(index)]
    assert starts == [b"a", b"b", b"c", b"d"]
