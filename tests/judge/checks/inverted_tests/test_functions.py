"""Where functions of a JavaScript file begin and end, and which of them a test must run."""

from __future__ import annotations

import pytest

from proctor.judge.checks.inverted_tests.c_like_source import brackets, tokens
from proctor.judge.checks.inverted_tests.javascript import Function, find_functions, required


def found(source: str) -> list[tuple[str, Function]]:
    """The text of every function of ``source``, from the token that starts it to its last one."""
    several = tokens(source.encode())
    functions = find_functions(several, brackets(several))
    assert all(one.start == start for start, one in functions.items())
    return [(source[several[one.start].start : several[one.last].end], one) for one in functions.values()]


def texts(source: str) -> list[str]:
    return [text for text, _ in found(source)]


@pytest.mark.parametrize(
    ("source", "functions"),
    [
        ("function f() { a }", ["{ a }"]),
        ("x => { a }", ["{ a }"]),
        ("x => a", ["=> a"]),
        ("x => a, b", ["=> a"]),
        ("x => a; b", ["=> a"]),
        ("f(x => a)", ["=> a"]),
        ("[x => a]", ["=> a"]),
        ("({b: x => a})", ["=> a"]),
        ("f(x => g(1, 2), b)", ["=> g(1, 2)"]),
        ("x => ({a: 1})", ["=> ({a: 1})"]),
        ("x => y => a", ["=> y => a", "=> a"]),
        ("if (a) { b }", []),
        ("for (;;) { b } while (a) { b } switch (a) { b } try {} catch (e) { b } with (a) { b }", []),
        ("for await (const a of b) { c }", []),
        ("const a = { b }", []),
        ("class A { m() { a } }", ["{ a }"]),
        ("function f() { a", []),
        ("x =>", ["=>"]),
    ],
)
def test_functions_end_where_their_body_does(source: str, functions: list[str]) -> None:
    assert texts(source) == functions


def test_a_function_knows_what_it_is_given_to_and_what_is_around() -> None:
    source = "outer(function () { inner(() => a); (() => { b })(); ({c: () => d}); (() => e) })"
    several = tokens(source.encode())
    names = {text: several[one.holder].text.decode() if one.holder >= 0 else "" for text, one in found(source)}
    assert names == {source[18:-1]: "outer", "=> a": "inner", "{ b }": "", "=> d": "", "=> e": ""}
    assert [text for text, one in found(source) if one.is_called] == ["{ b }"]
    first, *inside = (one for _, one in found(source))
    assert first.around == -1 and {one.around for one in inside} == {first.start}
    deep = [one for _, one in found("() => { x(() => { y(() => z) }) }")]
    assert [one.around for one in deep] == [-1, deep[0].start, deep[1].start]


def test_a_function_at_the_beginning_of_a_file_can_be_called_at_once() -> None:
    for source in ("(() => { a })()", "(() => { a })(); b"):
        ((_, one),) = found(source)
        assert one.is_called and one.holder == -1
    ((_, one),) = found("(() => { a }); b")
    assert not one.is_called and one.holder == -1


def needed(source: str, *parameters: str) -> list[str]:
    """The functions that must run for the test that is the first call of ``source`` to pass."""
    several = tokens(source.encode())
    ends = brackets(several)
    functions = find_functions(several, ends)
    starts = required(several, functions, (1, ends[1]), {one.encode() for one in parameters})
    return [source[several[one].start : several[functions[one].last].end] for one in sorted(starts)]


@pytest.mark.parametrize(
    ("source", "parameters", "functions"),
    [
        ("test(x)", (), []),
        ("test(t => { f(() => { t.end() }) })", ("t",), ["{ f(() => { t.end() }) }", "{ t.end() }"]),
        ("test(t => { f(() => { t.other() }) })", ("t",), []),
        ("test(t => { f(() => { u.end() }) })", ("t",), []),
        ("test(done => { f(() => done()) })", ("done",), ["{ f(() => done()) }", "=> done()"]),
        ("test(done => { f(done) })", ("done",), []),
        ("test(() => { p((resolve) => { q(() => resolve()) }) })", (), None),
        ("test(t => { f(() => t.end()); g(() => t.end()) })", ("t",), []),
        ("test(t => { t.plan(1); f(() => t.ok(1)) })", ("t",), None),
        ("test(() => { expect.hasAssertions(); f(() => a) })", (), None),
        ("test(t => { f(() => { t.plan(1) }) })", ("t",), []),
        ("test(done(), () => { f(() => a) })", ("done",), []),
        ("test(t => { plan(1); f(() => t.ok(1)) })", ("t",), []),
    ],
)
def test_functions_that_end_or_count_a_test_must_run(
    source: str, parameters: tuple[str, ...], functions: list[str] | None
) -> None:
    assert needed(source, *parameters) == (texts(source) if functions is None else functions)


def test_only_functions_of_the_test_are_needed() -> None:
    source = "test(t => { t.plan(1); f(() => 1) }); g(() => 2)"
    assert needed(source, "t") == ["{ t.plan(1); f(() => 1) }", "=> 1"]
