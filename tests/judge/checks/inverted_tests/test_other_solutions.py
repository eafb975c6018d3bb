"""What another right solution may leave out or do otherwise is not altered; one case for each way that was met."""

from __future__ import annotations

import pytest

from proctor.judge.checks.inverted_tests import c, javascript, python
from proctor.judge.checks.inverted_tests.assertion_edits import Edit
from tests.judge.checks.inverted_tests.shown import Places

PYTHON = {
    "one of two definitions": (
        "if hasattr(m, 'x'):\n    def test_a():\n        assert m.x() == 1\n"
        "else:\n    def test_a():\n        assert m.y() == 2\n",
        "m.",
    ),
    "what a test double is to raise": (
        "def test_a():\n    store = Fake().raises(KeyError)\n    assert m.f(store) == 12345\n",
        "KeyError",
    ),
    "a generator that may not be used up": (
        "def numbers():\n    yield 1\n    assert log == [1]\n    yield 2\n",
        "log",
    ),
    "the body of a context that may swallow": (
        "def test_a():\n    with m.quietly():\n        found = m.f()\n        assert found == 1\n    m.g()\n",
        "found == 1",
    ),
    "a decorated function": (
        "def test_a():\n    @m.later\n    def job(name):\n        assert name == 'a'\n    job('a')\n    m.g()\n",
        "name ==",
    ),
    "a result within a tolerance": (
        "def test_a():\n    assert approx(m.f(), abs=0.15) == 0.3\n    assert m.g()\n",
        "0.3",
    ),
    "what a container decides": (
        "def test_a():\n    assert 'foo.py' in m.Rules('foo*')\n    assert m.g()\n",
        "'foo.py'",
    ),
    "a coroutine that may not run": (
        "def test_a():\n    async def job():\n        assert m.f() == 12345\n    m.schedule(job())\n    m.g()\n",
        "12345",
    ),
    "a context that expects an error": (
        "def test_a():\n    with m.expect_failure():\n        m.fail()\n    m.g()\n",
        "m.fail()",
    ),
    "one of several calls": ("def test_a():\n    mock.assert_any_call(12345)\n", "12345"),
}
JAVASCRIPT = {
    "behind a condition": (
        "test('a', function (t) { r.longest && t.equal(r.longest, 5); t.ok(r); t.end() })",
        "longest, 5",
    ),
    "behind a question mark": (
        "test('a', function (t) { r.a ? t.equal(r.a, 5) : t.ok(1); t.ok(r); t.end() })",
        "r.a, 5",
    ),
    "a comparator": (
        "test('a', function (t) { m.sorted([4], function (a, b) { t.equal(typeof a, 'number') }); t.ok(m); t.end() })",
        "'number'",
    ),
    "a hook with a parameter next": (
        "test('a', (t) => { m.set({ miss: (key, next) => { t.equal(key, 'orange'); next() } }); t.ok(m); t.end() })",
        "'orange'",
    ),
    "a function with a name": (
        "test('a', (t) => { const seen = (key) => { t.equal(key, 'orange') }; m.on(seen); t.ok(m); t.end() })",
        "'orange'",
    ),
    "a declared function": (
        "test('a', (t) => { function seen (key) { t.equal(key, 'orange') } m.on(seen); t.ok(m); t.end() })",
        "'orange'",
    ),
    "a method of an object": (
        "test('a', (t) => { m.use({ seen (key) { t.equal(key, 'orange') } }); t.ok(m); t.end() })",
        "'orange'",
    ),
    "a method of a class": (
        "test('a', (t) => { class Fake { seen (k) { t.equal(k, 'orange') } } m.use(new Fake()); t.ok(m); t.end() })",
        "'orange'",
    ),
    "a handler that is assigned": (
        "test('a', (t) => { m.handler = (key) => { t.equal(key, 'orange') }; m.go(); t.ok(m); t.end() })",
        "'orange'",
    ),
    "a function without braces": (
        "test('a', (t) => { m.run((key) => t.equal(key, 'orange')); t.ok(m); t.end() })",
        "'orange'",
    ),
    "a plan of another test": (
        "test('b', (t) => { t.plan(1); t.ok(m) })\n"
        "test('a', (t) => { m.run((key) => { t.equal(key, 'orange') }); t.ok(m); t.end() })",
        "'orange'",
    ),
    "a plan of a test inside": (
        "test('a', (t) => { t.test('b', (u) => { u.plan(1); u.ok(m) }); m.run((key) => { t.equal(key, 'orange') }) })",
        "'orange'",
    ),
    "one of two ends": (
        "test('a', (t) => { s.on('error', (e) => { t.equal(e, 'orange'); t.end() }); s.on('end', () => { t.end() }) })",
        "'orange'",
    ),
    "a promise that the test does not wait for": (
        "test('a', async (t) => { m.get().then((x) => { t.equal(x, 'orange') }); t.ok(m) })",
        "'orange'",
    ),
    "a rejection that the test does not wait for": (
        "test('a', async (t) => { assert.rejects(m.orange()); t.ok(m) })",
        "rejects",
    ),
    "a function that throws": (
        "test('a', (t) => { t.throws(() => { m.f(); t.equal(m.g(), 'orange') }); t.ok(m); t.end() })",
        "'orange'",
    ),
}
C = {
    "behind a directive": (
        "void test_a(void) {\n    assert(f() == 1);\n#ifdef HAS_G\n    assert(g() == 2);\n#endif\n}\n",
        "g() == 2",
    ),
    "a macro for loops": (
        "void test_a(void) {\n    assert(f() == 1);\n    EACH (one, list) { assert(one->size == 3); }\n}\n",
        "one->size == 3",
    ),
}


def edits(module: object, source: str) -> list[Edit]:
    found = module.blocks(source.encode(), Places())  # type: ignore[attr-defined]
    return [edit for block in found for edit in block.edits]


@pytest.mark.parametrize(
    ("module", "source", "spared"),
    [
        *(pytest.param(python, *case, id=name) for name, case in PYTHON.items()),
        *(pytest.param(javascript, *case, id=name) for name, case in JAVASCRIPT.items()),
        *(pytest.param(c, *case, id=name) for name, case in C.items()),
    ],
)
def test_what_another_solution_may_do_otherwise_is_not_altered(module: object, source: str, spared: str) -> None:
    start = source.index(spared)
    end = start + len(spared)
    line = source.count("\n", 0, start) + 1
    touched = [one for one in edits(module, source) if (one.start < end and start < one.end) or one.line == line]
    if module is javascript:
        touched = [one for one in touched if one.start < end and start < one.end]
    if "assert_any_call" in source or "approx" in source:
        touched = [one for one in touched if one.kind == "expectation"]
    if " in m.Rules" in source:
        touched = [one for one in touched if one.kind in ("form", "expectation")]
    assert touched == []


@pytest.mark.parametrize(
    "source",
    [
        "test('a', function (t) { m.parse('x', function (e, r) { t.equal(r, 12345); t.end() }) })",
        "test('a', function (t) { t.plan(1); m.parse('x', function (e, r) { t.equal(r, 12345) }) })",
        "test('a', (t) => m.parse('x').then((r) => { t.equal(r, 12345) }))",
        "test('a', function (t) { setTimeout(function () { t.equal(r, 12345) }) })",
        "it('a', function () { [1, 2].forEach(function (one) { assert.equal(m.f(one), 12345) }) })",
        "it('a', () => { [1, 2].forEach((one) => assert.equal(m.f(one), 12345)) })",
        "it('a', (done) => { m.f((e, r) => { m.g(r, (f, s) => { assert.equal(s, 12345); done() }) }) })",
        "it('a', (done) => { m.f((e, r) => { assert.equal(r, 12345); m.g(r, (f, s) => { done() }) }) })",
        "it('a', async () => { await new Promise((resolve) => { m.f((r) => { assert.equal(r, 12345); resolve() }) })})",
        "it('a', () => { (() => { assert.equal(m.f(), 12345) })() })",
        "it('a', wrap(function () { assert.equal(m.f(), 12345) }))",
        "test('a', async (t) => { await m.get().then((x) => { t.equal(x, 12345) }) })",
        "test('a', () => { return Promise.all([m.get()]).then(([x]) => assert.equal(x, 12345)) })",
        "test('a', (t) => t.equal(m.f(), 12345))",
        "test('a', (t) => { t.test('b', (u) => { u.equal(m.f(), 12345); u.end() }); t.end() })",
        "it('a', () => { if (m) { assert.ok(1) } for (const one of [1]) { assert.equal(m.f(), 12345) } })",
    ],
)
def test_functions_that_must_run_are_altered(source: str) -> None:
    assert any(source[one.start : one.end] == "12345" for one in edits(javascript, source))


def test_an_order_that_must_not_hold_is_not_turned_round() -> None:
    """Of what cannot be ordered both directions are false."""
    source = "test('a', function (t) { t.notOk(r.size > 3); t.ok(r.size > 4); t.end() })"
    new = [one.new for one in edits(javascript, source) if one.kind == "negation"]
    assert new == [b"!(r.size > 3)", b"<="]


def test_exceptions_of_a_project_may_be_derived_from_some() -> None:
    for place in range(50):
        source = "\n" * place + "def test_a():\n    with pytest.raises(m.Truncated):\n        m.f()\n"
        assert not {one.new for one in edits(python, source)} & {b"EOFError", b"BufferError"}
