"""Edits of JavaScript tests: a table with every rule, which calls are tests, and odd files."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from proctor.judge.checks.inverted_tests.assertion_edits import ReplacementValues, edited
from proctor.judge.checks.inverted_tests.javascript import EQUALITIES, OPPOSITES, TAP_OPPOSITES, TRUTHS, blocks
from tests.judge.checks.inverted_tests.shown import Places, cases, only, shown

RULES = r"""
| t.equal(f(1), 2)
negation 1: 'equal' -> notEqual
form 1: '2' -> { w33: 2 }
expectation 1: '2' -> 7

| t.deepEqual(f(), { a: 1, 'b': ['x', true, null, undefined, -2] })
negation 1: 'deepEqual' -> notDeepEqual
form 1: "{ a: 1, 'b': ['x', true, null, undefined, -2] }" -> { w36: @ }
expectation 1: '1' -> 6
expectation 1: "'x'" -> 'a'
expectation 1: 'true' -> false
expectation 1: 'null' -> 0
expectation 1: 'undefined' -> null
expectation 1: '2' -> 8

| assert.strictEqual(f(), g('x')('y') + 'z')
negation 1: 'strictEqual' -> notStrictEqual
form 1: "g('x')('y') + 'z'" -> { w43: @ }
expectation 1: "'z'" -> 'h'

| t.equal(f(), x ? 'a' : 'b')
negation 1: 'equal' -> notEqual
form 1: "x ? 'a' : 'b'" -> { w32: @ }
assertion 1: '' -> t.equal('w19'.length, 22);·

| t.equal(f(), list[0])
negation 1: 'equal' -> notEqual
form 1: 'list[0]' -> { w32: @ }
assertion 1: '' -> t.equal('w19'.length, 22);·

| t.equal(f(), `a${1}`)
negation 1: 'equal' -> notEqual
form 1: '`a${1}`' -> { w32: @ }
assertion 1: '' -> t.equal('w19'.length, 22);·

| t.equal(f(), /a/)
negation 1: 'equal' -> notEqual
form 1: '/a/' -> { w32: @ }
assertion 1: '' -> t.equal('w19'.length, 22);·

| t.equal(...pair)
assertion 1: '' -> t.equal('w19'.length, 22);·

| t.ok(f(), 'message')
negation 1: 'f()' -> !@
assertion 1: '' -> t.equal('w19'.length, 22);·

| assert(f() === 1)
negation 1: '===' -> !==
assertion 1: '' -> assert('w19'.length === 22);·

| assert.ok(...x)
assertion 1: '' -> assert.equal('w19'.length, 22);·

| t.throws(() => f(), /a/)
exception 1: 'throws' -> doesNotThrow
assertion 1: '' -> t.equal('w19'.length, 22);·

| await assert.rejects(f())
exception 1: 'rejects' -> doesNotReject

| assert.match(f(), /a/)
negation 1: 'match' -> doesNotMatch
assertion 1: '' -> assert.equal('w19'.length, 22);·

| assert.notEqual(f(), 1)
negation 1: 'notEqual' -> equal
assertion 1: '' -> assert.equal('w19'.length, 22);·

| t.is(f(), 1)
form 1: '1' -> { w29: 1 }
expectation 1: '1' -> 3
assertion 1: '' -> t.equal('w19'.length, 22);·

| t.error(err)
negation 1: 'err' -> !@
assertion 1: '' -> t.equal('w19'.length, 22);·

| lib.equal(a, 1)

| res.ok(a)

| equal(a, 1)

| sinon.assert.calledOnce(spy)
negation 1: 'calledOnce' -> notCalled

| sinon.assert.calledWith(spy, 1)
negation 1: 'calledWith' -> neverCalledWith

| chai.assert.isNull(f())
negation 1: 'isNull' -> isNotNull

| expect(f()).toBe(1)
negation 1: '' -> not.
form 1: '1' -> { w36: 1 }
expectation 1: '1' -> 0

| expect(f()).not.toBe(1)
negation 1: 'not.' ->·
assertion 1: '' -> expect('w19'.length).toBe(22);·

| expect(f()).toBeNull()
negation 1: '' -> not.
assertion 1: '' -> expect('w19'.length).toBe(22);·

| expect(f()).toContain('a')
negation 1: '' -> not.
form 1: "'a'" -> { w41: @ }
assertion 1: '' -> expect('w19'.length).toBe(22);·

| expect(f()).toHaveLength(3)
negation 1: '' -> not.
form 1: '3' -> { w44: 3 }
expectation 1: '3' -> 9

| expect(() => f()).toThrow()
exception 1: '' -> not.
assertion 1: '' -> expect('w19'.length).toBe(22);·

| expect(() => f()).not.toThrow(TypeError)
exception 1: 'not.' ->·
assertion 1: '' -> expect('w19'.length).toBe(22);·

| await expect(f()).resolves.toEqual({ a: 1 })
negation 1: '' -> not.
form 1: '{ a: 1 }' -> { w54: @ }
expectation 1: '1' -> 6

| expect(f()).to.equal('a')
negation 1: '' -> not.
form 1: "'a'" -> { w40: @ }
expectation 1: "'a'" -> 'q'

| expect(f()).not.to.equal('a')
negation 1: 'not.' ->·
assertion 1: '' -> expect('w19'.length).toBe(22);·

| expect(f()).to.be.true
negation 1: '' -> not.
assertion 1: '' -> expect('w19'.length).toBe(22);·

| expect(f()).to.be.null;
negation 1: '' -> not.
assertion 1: '' -> expect('w19'.length).toBe(22);·

| expect(f()).to.not.exist
negation 1: 'not.' ->·
assertion 1: '' -> expect('w19'.length).toBe(22);·

| expect(f()).to.have.property('a').that.equals(1)
negation 1: '' -> not.
negation 1: '' -> not.
form 1: '1' -> { w65: 1 }
expectation 1: '1' -> 3

| expect(f).to.throw(TypeError, 'a')
exception 1: '' -> not.
assertion 1: '' -> expect('w19'.length).toBe(22);·

| expect(f()).to.include('a')
negation 1: '' -> not.
assertion 1: '' -> expect('w19'.length).toBe(22);·

| expect(spy).to.have.been.calledWith(1)
negation 1: '' -> not.
assertion 1: '' -> expect('w19'.length).toBe(22);·

| f().should.equal(1)
negation 1: '' -> not.
form 1: '1' -> { w36: 1 }
expectation 1: '1' -> 0

| f().should.be.ok()
negation 1: '' -> not.

| should(f()).eql([1])
negation 1: '' -> not.
form 1: '[1]' -> { w35: @ }
expectation 1: '1' -> 0

| should.not.exist(f())
negation 1: 'not.' ->·

| expect(f()).to.plugin(1)
assertion 1: '' -> expect('w19'.length).toBe(22);·

| foo.toBe(1)

| if (x) { t.equal(f(), 1) } else { t.equal(f(), 2) }

| if (x) t.equal(f(), 1); t.ok(g())
negation 1: 'g()' -> !@
assertion 1: '' -> t.equal('w43'.length, 46);·

| try { t.equal(f(), 1) } catch (e) { t.equal(e.code, 2) }

| try { t.equal(f(), 1) } finally { g() }
negation 1: 'equal' -> notEqual
form 1: '1' -> { w38: 1 }
expectation 1: '1' -> 3

| f().catch(e => t.equal(e.code, 1)); t.ok(x)
negation 1: 'x' -> !x
assertion 1: '' -> t.equal('w55'.length, 58);·

| switch (x) { case 1: t.ok(y) }

| for (const x of y) { t.equal(f(x), 1) }

| t.equal(f(), 1); t.end()
negation 1: 'equal' -> notEqual
form 1: '1' -> { w32: 1 }
expectation 1: '1' -> 6

| g(); t.ok(f())
negation 1: 'f()' -> !@
assertion 1: '' -> t.equal('w24'.length, 27);·

| expect(x).toBe(); h()
negation 1: '' -> not.
assertion 1: '' -> expect('w19'.length).toBe(22);·

| t.same(f(), [{ a: 'b' }])
negation 1: 'same' -> notSame
form 1: "[{ a: 'b' }]" -> { w31: @ }
expectation 1: "'b'" -> 'n'

| t.deepEqual(f(), [...x, 'a'])
negation 1: 'deepEqual' -> notDeepEqual
form 1: "[...x, 'a']" -> { w36: @ }
expectation 1: "'a'" -> 't'

| t.equal(f(), new Date(5))
negation 1: 'equal' -> notEqual
form 1: 'new Date(5)' -> { w32: @ }
assertion 1: '' -> t.equal('w19'.length, 22);·

| t.equal(f(), a.b('x'))
negation 1: 'equal' -> notEqual
form 1: "a.b('x')" -> { w32: @ }
assertion 1: '' -> t.equal('w19'.length, 22);·

| t.equal(f(), (1))
negation 1: 'equal' -> notEqual
form 1: '(1)' -> { w32: @ }
expectation 1: '1' -> 7

| t.equal(f(), ['a'][0])
negation 1: 'equal' -> notEqual
form 1: "['a'][0]" -> { w32: @ }
expectation 1: "'a'" -> 'j'

| t.equal(f(), (x)[0])
negation 1: 'equal' -> notEqual
form 1: '(x)[0]' -> { w32: @ }
assertion 1: '' -> t.equal('w19'.length, 22);·

| t.equal(f(), x[0][1])
negation 1: 'equal' -> notEqual
form 1: 'x[0][1]' -> { w32: @ }
assertion 1: '' -> t.equal('w19'.length, 22);·

| t.equal(f(), `${a}`[0])
negation 1: 'equal' -> notEqual
form 1: '`${a}`[0]' -> { w32: @ }
assertion 1: '' -> t.equal('w19'.length, 22);·

| t.equal(f(), 'a'[0] + 'b')
negation 1: 'equal' -> notEqual
form 1: "'a'[0] + 'b'" -> { w32: @ }
expectation 1: "'a'" -> 'i'
expectation 1: "'b'" -> 'r'

| t.equal(f(), n * 2)
negation 1: 'equal' -> notEqual
form 1: 'n * 2' -> { w32: @ }
assertion 1: '' -> t.equal('w19'.length, 22);·

| t.equal(f(), x => 1)
negation 1: 'equal' -> notEqual
form 1: 'x => 1' -> { w32: @ }
assertion 1: '' -> t.equal('w19'.length, 22);·

| t.equal(f(), 'it\'s')
negation 1: 'equal' -> notEqual
form 1: "'it\\'s'" -> { w32: @ }
expectation 1: "'it\\'s'" -> 'ht\'s'

| t.equal(f(), true)
negation 1: 'equal' -> notEqual
form 1: 'true' -> { w32: @ }
expectation 1: 'true' -> false

| t.equal(f(), nothing)
negation 1: 'equal' -> notEqual
form 1: 'nothing' -> { w32: @ }
assertion 1: '' -> t.equal('w19'.length, 22);·

| t.equal(f())
negation 1: 'equal' -> notEqual
assertion 1: '' -> t.equal('w19'.length, 22);·

| t.ok()
assertion 1: '' -> t.equal('w19'.length, 22);·

| t.ok
assertion 1: '' -> t.equal('w19'.length, 22);·

| t
| .equal(f(),
|  1)
negation 2: 'equal' -> notEqual
form 3: '1' -> { w34: 1 }
expectation 3: '1' -> 8

| a.b.c(1)

| x.toBe(y).toBe(1)

| expect(f()).toBe(...x)
negation 1: '' -> not.
assertion 1: '' -> expect('w19'.length).toBe(22);·

| expect(f()).toContain(1)
negation 1: '' -> not.
form 1: '1' -> { w41: 1 }
assertion 1: '' -> expect('w19'.length).toBe(22);·

| expect(f()).not.toContain(1)
negation 1: 'not.' ->·
assertion 1: '' -> expect('w19'.length).toBe(22);·

| expect(f()).to.be.an('array')
negation 1: '' -> not.
assertion 1: '' -> expect('w19'.length).toBe(22);·

| expect(f()).to.be.ok.and.equal(1)
negation 1: '' -> not.
form 1: '1' -> { w50: 1 }
expectation 1: '1' -> 6

| expect(f()).to.be.a.thing
assertion 1: '' -> expect('w19'.length).toBe(22);·

| expect(f()).to.deep.equal([1])
negation 1: '' -> not.
form 1: '[1]' -> { w45: @ }
expectation 1: '1' -> 2

| expect(f()).to.have.lengthOf(2)
negation 1: '' -> not.
form 1: '2' -> { w48: 2 }
expectation 1: '2' -> 4

| return expect(f()).rejects.toThrow('a')
exception 1: '' -> not.

| expect(f()).rejectedWith(Error)
exception 1: '' -> not.
assertion 1: '' -> expect('w19'.length).toBe(22);·

| f().should.throw()
exception 1: '' -> not.

| f().should.not.throws()
exception 1: 'not.' ->·

| f().should.be.true
negation 1: '' -> not.

| chai.expect(f()).to.equal(1)
negation 1: '' -> not.
form 1: '1' -> { w45: 1 }
expectation 1: '1' -> 0

| expect(a).to
assertion 1: '' -> expect('w19'.length).toBe(22);·

| expect(g(a)(b)).toBe(1)
negation 1: '' -> not.
form 1: '1' -> { w40: 1 }
expectation 1: '1' -> 5

| h(expect(f()).toBe(1))
negation 1: '' -> not.
form 1: '1' -> { w38: 1 }
expectation 1: '1' -> 3

| t.notOk(f())
negation 1: 'f()' -> !@
assertion 1: '' -> t.equal('w19'.length, 22);·

| assert.ifError(f())
negation 1: 'f()' -> !@
assertion 1: '' -> assert.equal('w19'.length, 22);·

| t.throws(f)
exception 1: 'throws' -> doesNotThrow
assertion 1: '' -> t.equal('w19'.length, 22);·

| t.doesNotMatch(f(), /a/)
negation 1: 'doesNotMatch' -> match
assertion 1: '' -> t.equal('w19'.length, 22);·

| sinon.assert.calledOnceWithExactly(s, 1)
negation 1: 'calledOnceWithExactly' -> neverCalledWith

| t.calledOnce(f())
negation 1: 'calledOnce' -> notCalled
assertion 1: '' -> t.equal('w19'.length, 22);·

| assert.notCalled(s)
negation 1: 'notCalled' -> called
assertion 1: '' -> assert.equal('w19'.length, 22);·

| assert.exists(f())
negation 1: 'exists' -> notExists
assertion 1: '' -> assert.equal('w19'.length, 22);·

| strict.equal(f(), 1)
negation 1: 'equal' -> notEqual
form 1: '1' -> { w37: 1 }
expectation 1: '1' -> 2

| tap.equal(f(), 1)
negation 1: 'equal' -> notEqual
form 1: '1' -> { w34: 1 }
expectation 1: '1' -> 8

| tape.ok(f())
negation 1: 'f()' -> !@
assertion 1: '' -> tape.equal('w19'.length, 22);·

| test.ok(f())
negation 1: 'f()' -> !@
assertion 1: '' -> test.equal('w19'.length, 22);·

| foo.assert(x)

| t.strictNotSame(f(), 1)
negation 1: 'strictNotSame' -> strictSame
assertion 1: '' -> t.equal('w19'.length, 22);·

| ; t.ok(f()); t.end()
negation 1: 'f()' -> !@
assertion 1: '' -> t.equal('w21'.length, 24);·

| x = 1; t.plan(1)

| expectation(1)

| expect
assertion 1: '' -> expect('w19'.length).toBe(22);·

| assert

| x; assert.ok(f())
negation 1: 'f()' -> !@
assertion 1: '' -> assert.equal('w22'.length, 25);·

| x; assert(f())
negation 1: 'f()' -> !@
assertion 1: '' -> assert('w22'.length === 25);·

| t.b.ok(f())

| 1..equal(2, 3)

| t.equal(f(), 1)(2)
negation 1: 'equal' -> notEqual
form 1: '1' -> { w32: 1 }
expectation 1: '1' -> 6

| if (x) y(); else t.ok(1)

| if (x) { } else if (y) { t.ok(1) } else { t.ok(2) } t.ok(3)
negation 1: '3' -> !3
assertion 1: '' -> t.equal('w71'.length, 74);·

| while (x) { t.ok(1) } t.ok(2)
negation 1: '2' -> !2
assertion 1: '' -> t.equal('w41'.length, 44);·

| do { t.ok(1) } while (x); t.ok(2)
negation 1: '1' -> !1
negation 1: '2' -> !2
assertion 1: '' -> t.equal('w24'.length, 27);·
assertion 1: '' -> t.equal('w45'.length, 48);·

| if (x) for (;;) { t.ok(1) } t.ok(2); t.ok(3)
negation 1: '2' -> !2
negation 1: '3' -> !3
assertion 1: '' -> t.equal('w47'.length, 50);·
assertion 1: '' -> t.equal('w56'.length, 59);·

| g(() => { if (x) t.ok(1) }); t.ok(2)
negation 1: '2' -> !2
assertion 1: '' -> t.equal('w48'.length, 51);·

| g([() => { if (x) [t.ok(1)] }])

| if x; t.ok(1)
negation 1: '1' -> !1
assertion 1: '' -> t.equal('w25'.length, 28);·

| if (x t.ok(1)

| x.if(1); t.ok(2)
negation 1: '2' -> !2
assertion 1: '' -> t.equal('w28'.length, 31);·

| x.catch; t.ok(1)
negation 1: '1' -> !1
assertion 1: '' -> t.equal('w28'.length, 31);·

| x.catch(e => { if (a) t.ok(1) }, b); t.ok(2)
negation 1: '2' -> !2
assertion 1: '' -> t.equal('w56'.length, 59);·

| try { t.ok(1) } t.ok(2)
negation 1: '1' -> !1
negation 1: '2' -> !2
assertion 1: '' -> t.equal('w25'.length, 28);·
assertion 1: '' -> t.equal('w35'.length, 38);·

| try t.ok(1)
negation 1: '1' -> !1

| if (a) if (b) t.ok(1); t.ok(2)
negation 1: '2' -> !2
assertion 1: '' -> t.equal('w42'.length, 45);·

| x.y.if (a) { t.ok(1) }
negation 1: '1' -> !1
assertion 1: '' -> t.equal('w32'.length, 35);·

| catch

| if

| `${if}`; t.ok(1)
negation 1: '1' -> !1
assertion 1: '' -> t.equal('w28'.length, 31);·

| t.ok(a && b)
negation 1: 'a && b' -> !(@)
assertion 1: '' -> t.equal('w19'.length, 22);·

| t.ok(!a)
negation 1: '!a' -> a
assertion 1: '' -> t.equal('w19'.length, 22);·

| t.ok(!a.b(c)[0])
negation 1: '!a.b(c)[0]' -> a.b(c)[0]
assertion 1: '' -> t.equal('w19'.length, 22);·

| t.ok(!a && !b)
negation 1: '!a && !b' -> !(@)
assertion 1: '' -> t.equal('w19'.length, 22);·

| t.ok(a + 1 <= b * 2)
negation 1: '<=' -> >
assertion 1: '' -> t.equal('w19'.length, 22);·

| t.ok(a = b)
negation 1: 'a = b' -> !(@)
assertion 1: '' -> t.equal('w19'.length, 22);·

| t.ok(a instanceof B)
negation 1: 'a instanceof B' -> !(@)
assertion 1: '' -> t.equal('w19'.length, 22);·

| t.ok('a' in b)
negation 1: "'a' in b" -> !(@)
assertion 1: '' -> t.equal('w19'.length, 22);·

| t.ok(!)
negation 1: '!' -> !(!)
assertion 1: '' -> t.equal('w19'.length, 22);·

| for (const x of [1, 2]) { t.equal(f(x), 1) }
negation 1: 'equal' -> notEqual
form 1: '1' -> { w59: 1 }
expectation 1: '1' -> 6

| for await (const x of y) { t.equal(f(x), 1) } t.ok(2)
negation 1: '2' -> !2
assertion 1: '' -> t.equal('w65'.length, 68);·

| for (const x of []) { t.equal(f(x), 1) }

| for (const x of [...y]) { t.equal(f(x), 1) }

| for (const x of [...y, 1]) { t.equal(f(x), 1) }
negation 1: 'equal' -> notEqual
form 1: '1' -> { w62: 1 }
expectation 1: '1' -> 9

| for (const x of y[0]) { t.equal(f(x), 1) }

| for (const x in y) { t.equal(f(x), 1) }

| for (const x of [1]) t.equal(f(x), 1); t.ok(2)
negation 1: '2' -> !2
assertion 1: '' -> t.equal('w58'.length, 61);·

| for (let i = 0; i < 3; i++) { t.equal(f(x), 1) }
negation 1: 'equal' -> notEqual
form 1: '1' -> { w63: 1 }
expectation 1: '1' -> 0

| for (let i = 0; i < n; i++) { t.equal(f(x), 1) }

| for (const x of [1]) { if (y) continue; t.equal(f(x), 1) }

| for (const x of f(t.equal(g(), 1))) { t.ok(x) }
negation 1: 'equal' -> notEqual
form 1: '1' -> { w50: 1 }
expectation 1: '1' -> 6

| y.forEach(x => { t.equal(f(x), 1) }); t.ok(2)
negation 1: '2' -> !2
assertion 1: '' -> t.equal('w57'.length, 60);·

| [1].forEach(x => { t.equal(f(x), 1) })
negation 1: 'equal' -> notEqual
form 1: '1' -> { w52: 1 }
expectation 1: '1' -> 8

| [].forEach(x => { t.equal(f(x), 1) })

| [...y].map(x => { t.equal(f(x), 1) })

| y[0].map(x => { t.equal(f(x), 1) })

| y.map(x => { t.equal(f(x), 1) })

| y.flatMap(x => { t.equal(f(x), 1) })

| y.filter(x => { t.equal(f(x), 1) })

| y.find(x => { t.equal(f(x), 1) })

| y.findIndex(x => { t.equal(f(x), 1) })

| y.some(x => { t.equal(f(x), 1) })

| y.every(x => { t.equal(f(x), 1) })

| y.reduce(x => { t.equal(f(x), 1) })

| [1].reduce((x, y) => { t.equal(f(x), 1) })

| [1, 2].reduce((x, y) => { t.equal(f(x), 1) })
negation 1: 'equal' -> notEqual
form 1: '1' -> { w59: 1 }
expectation 1: '1' -> 6

| Object.keys(y).forEach(x => { t.equal(f(x), 1) })

| y?.forEach(x => { t.equal(f(x), 1) })

| g(x => { t.equal(f(x), 1) })

| x.forEach; t.equal(f(x), 1)
negation 1: 'equal' -> notEqual
form 1: '1' -> { w44: 1 }
expectation 1: '1' -> 9

| t.equal(y.map(g), [1])
negation 1: 'equal' -> notEqual
form 1: '[1]' -> { w37: @ }
expectation 1: '1' -> 3

| if (x) t.ok(1)
| t.ok(2)
| t.ok(3)
negation 2: '2' -> !2
negation 3: '3' -> !3

| if (x)
|   t.ok(1)
| t.ok(2)
negation 3: '2' -> !2

| if (x) t.ok(1)
|   .then(y)
| t.ok(2)
negation 3: '2' -> !2

| if (x) y =
|   t.ok(1)
| t.ok(2)
negation 3: '2' -> !2

| if (x)
|   if (y)
|     t.ok(1)
| t.ok(2)
negation 4: '2' -> !2

| if (x) t.ok(1)
| else t.ok(2)
| t.ok(3)
negation 3: '3' -> !3

| if (x) y = await
|   t.ok(1)
| t.ok(2)
negation 3: '2' -> !2

| if (x) return
| t.ok(1)

| if (x) y = 1 // z
| t.ok(1)
negation 2: '1' -> !1

| if (x) y = 'z'
| t.ok(1)
negation 2: '1' -> !1

| if (x) y = z[0]
| t.ok(1)
negation 2: '1' -> !1

| if (x) y = {}
| t.ok(1)
negation 2: '1' -> !1
assertion 2: '' -> t.equal('w33'.length, 36);·

| if (x) y = a
|   instanceof t.ok(1)
| t.ok(2)
negation 3: '2' -> !2

| if (x) try { t.ok(1) }
| catch (e) { t.ok(2) }
| finally { t.ok(3) }
| t.ok(4)
negation 4: '4' -> !4
assertion 4: '' -> t.equal('w84'.length, 87);·

| if (x) do { t.ok(1) }
| while (t.ok(2))
| t.ok(3)
negation 3: '3' -> !3

| do { t.ok(1) } while (x)
| t.ok(2)
negation 1: '1' -> !1
negation 2: '2' -> !2
assertion 1: '' -> t.equal('w24'.length, 27);·

| while (x) t.ok(1)
| t.ok(2)
negation 2: '2' -> !2

| for (const x of y) t.ok(1)
| t.ok(2)
negation 2: '2' -> !2

| if (x) while (y) { t.ok(1) } t.ok(2)
negation 1: '2' -> !2
assertion 1: '' -> t.equal('w48'.length, 51);·

| if (x) return; t.ok(1)

| if (x) { return g() } t.ok(1)

| if (err) return done(err); t.ok(1)
negation 1: '1' -> !1
assertion 1: '' -> t.equal('w46'.length, 49);·

| if (err) { return t.fail(err) } t.ok(1)
negation 1: '1' -> !1
assertion 1: '' -> t.equal('w51'.length, 54);·

| if (err) return done(other); t.ok(1)

| if (err) return done(); t.ok(1)

| if (!err) return done(err); t.ok(1)

| if (err) return done(err.code); t.ok(1)

| if (err) return; else return done(err); t.ok(1)

| if (x) { g(() => { return 1 }) } t.ok(1)
negation 1: '1' -> !1
assertion 1: '' -> t.equal('w52'.length, 55);·

| if (x) { g(function (y) { return 1 }) } t.ok(1)
negation 1: '1' -> !1
assertion 1: '' -> t.equal('w59'.length, 62);·

| g(() => { if (x) return
|  t.ok(1) }); t.ok(2)
negation 2: '2' -> !2
assertion 2: '' -> t.equal('w56'.length, 59);·

| for (const x of y) { if (x) break } t.ok(1)
negation 1: '1' -> !1
assertion 1: '' -> t.equal('w55'.length, 58);·

| for (const x of y) { if (x) return } t.ok(1)

| for await (const x of y) { return } t.ok(1)

| while (x) { continue } t.ok(1)
negation 1: '1' -> !1
assertion 1: '' -> t.equal('w42'.length, 45);·

| switch (x) { case 1: break } t.ok(1)
negation 1: '1' -> !1
assertion 1: '' -> t.equal('w48'.length, 51);·

| switch (x) { case 1: return } t.ok(1)

| try { g() } catch (e) { return } t.ok(1)

| try { return g() } catch (e) { } t.ok(1)

| g().catch(() => { return 1 }); t.ok(1)
negation 1: '1' -> !1
assertion 1: '' -> t.equal('w50'.length, 53);·

| y.map((x) => { return x }); t.ok(1)
negation 1: '1' -> !1
assertion 1: '' -> t.equal('w47'.length, 50);·

| for (const x of [1]) { g(() => { return 1 }); t.ok(1) }
negation 1: '1' -> !1
assertion 1: '' -> t.equal('w65'.length, 68);·

| do { if (x) return; t.ok(1) } while (y); t.ok(2)

| if (x) return
"""


def edits_of(data: bytes) -> list[str]:
    return [line for block in blocks(data, Places()) for line in shown(data, block.edits)]


@pytest.mark.parametrize(("source", "expected"), cases(RULES))
def test_every_rule_makes_exactly_these_edits(source: str, expected: list[str]) -> None:
    assert edits_of(f"test('a', (t) => {{ {source} }})".encode()) == expected


def test_tables_agree_with_themselves() -> None:
    for name, opposite in OPPOSITES.items():
        assert name != opposite
        assert opposite in OPPOSITES
    assert not EQUALITIES & TRUTHS
    assert not any(name.startswith(b"not") for name in EQUALITIES)
    assert TAP_OPPOSITES[b"equal"] == b"not"


@pytest.mark.parametrize("head", [b"const t = require('tap')", b'import t from "tap"', b"require( 'tap')"])
def test_the_package_tap_has_names_of_its_own(head: bytes) -> None:
    data = head + b"\ntest('a', t => { t.equal(f(), x); t.match(f(), x); t.not(f(), x); t.notMatch(f(), x) })"
    renamed = [line for line in edits_of(data) if line.startswith("negation")]
    assert renamed == [
        "negation 2: 'equal' -> not",
        "negation 2: 'match' -> notMatch",
        "negation 2: 'not' -> equal",
        "negation 2: 'notMatch' -> match",
    ]


@pytest.mark.parametrize(
    "head",
    [
        b"const { equal, ok: yes } = require('assert')",
        b"import { equal, yes } from 'node:assert/strict'",
        b'import {equal,yes}from"assert"',
    ],
)
def test_functions_that_come_from_assert_need_no_object(head: bytes) -> None:
    data = head + b"\ntest('a', () => { equal(f(), 1); ok(f()); throws(f) })"
    assert edits_of(data)[:2] == [
        "negation 2: 'equal' -> require('node:assert').notEqual",
        f"form 2: '1' -> {{ w{data.index(b'1)')}: 1 }}",
    ]
    assert any("f()" in line for line in edits_of(data)) is (b"ok" in head)
    other = data.replace(b"assert", b"library")
    assert edits_of(other) == []


def test_the_parameters_of_a_test_are_what_it_asserts_with() -> None:
    for function in ("c => {", "async c => {", "(c) => {", "(x, c) => {", "function (c) {", "async function n(c, d) {"):
        data = f"it('a', {function} c.ok(f()) }})".encode()
        assert edits_of(data)[0] == "negation 1: 'f()' -> !@", function
    for function in ("(c: Context) => {", "wrap(c => {", "lib.wrap(function (c) {"):
        data = f"it('a', {function} c.ok(f()) }}".encode() + (b"))" if b"wrap" in function.encode() else b")")
        assert edits_of(data)[0] == "negation 1: 'f()' -> !@", function
    for function in ("({ c }) => {", "lib.wrap(x => {", "() => {", "n", "function c() {"):
        data = f"it('a', {function} lib.ok(f()); c.ok(f()) }})".encode()
        assert edits_of(data) == [], function
    for function in (
        "() => { use(c); c.ok(f()) }",
        "() => use(c, c.ok(f()))",
        "function () { use(c); c.ok(f()) }",
        "wrap(x.c, function () { c.ok(f()) })",
    ):
        assert edits_of(f"use(c, d); it('a', {function})".encode()) == [], function
    assert edits_of(b"it('a', { timeout: 1 }, c => { c.ok(f()) })")[0] == "negation 1: 'f()' -> !@"
    assert edits_of(b"use(c); it('a', () => { c.ok(f()) })") == []


def test_tests_and_suites_are_calls_with_a_title() -> None:
    data = b"""
describe('outer', () => {
  context.only("in\\'ner", () => {
    it('one', () => {})
    it.only.each.x.y('two', () => {})
    it.a.b.c.d.e('too many parts', () => {})
  })
  suite('done', () => {})
  specify(`three`, () => {})
  it(name, () => {})
  it('no function')
  it('two ' + 'strings', () => {})
  it(`two` + strings, () => {})
  it
  it.
  it('unclosed', (]
})
test('four', { timeout: 1 }, async t => { await t.test('five', t => {}) })
"""
    assert [(one.around, one.name) for one in blocks(data, Places())] == [
        (("in'ner",), "one"),
        (("in'ner",), "two"),
        ((), "three"),
        ((), "four"),
        ((), "five"),
    ], "a suite that is not closed is not read, what is closed inside it is"
    balanced = data.replace(b"  it('unclosed', (]\n", b"")
    assert [(one.around, one.name) for one in blocks(balanced, Places())] == [
        (("outer", "in'ner"), "one"),
        (("outer", "in'ner"), "two"),
        (("outer",), "three"),
        ((), "four"),
        ((), "five"),
    ]


def test_an_outer_test_also_has_the_edits_of_an_inner_one() -> None:
    data = b"test('a', t => { t.test('b', t => { t.ok(f()) }); t.ok(g()) })"
    outer, inner = blocks(data, Places())
    assert shown(data, outer.edits)[:2] == ["negation 1: 'f()' -> !@", "negation 1: 'g()' -> !@"]
    assert shown(data, inner.edits)[:1] == ["negation 1: 'f()' -> !@"]


@pytest.mark.parametrize("around", ["for (const x of y) {{ {} }}", "y.forEach((x) => {{ {} }})", "if (x) {{ {} }}"])
def test_a_test_in_a_loop_or_branch_has_edits_for_it_is_listed_only_if_it_runs(around: str) -> None:
    data = around.format("it('a', t => { t.ok(f()); if (z) t.ok(g()) })").encode()
    assert edits_of(data)[0] == "negation 1: 'f()' -> !@"
    assert not any("g()" in line for line in edits_of(data))


def test_only_so_many_tests_are_read_inside_each_other() -> None:
    data = b"it('a', () => {" * 20 + b"})" * 20
    assert len(blocks(data, Places())) == 8
    after = data + b"it('b', () => {})"
    assert blocks(after, Places())[-1].name == "b"


def test_what_is_before_a_test_is_not_part_of_it_and_a_file_may_end_anywhere() -> None:
    assert edits_of(b"t.ok(f()); it('a', () => {})") == []
    for end in (b"it", b"it.", b"it.only", b"it.only.", b"it(", b"it('a'", b"it('a',", b"expect(a).", b"if", b"if ("):
        assert blocks(end, Places()) == ()


def test_titles_that_are_not_utf_8_are_read() -> None:
    assert only(blocks(b"it('\xff', () => {})", Places())).name == "\ufffd"


ODD = {
    "line ends": b"it('a', t => {\r\n  t.ok(f())\r\n})\r\n",
    "byte order mark": b"\xef\xbb\xbfit('a', t => {\n t.ok(f()) })",
    "template": b"it('a', t => { x = `a ${b ? `}` : '`'} )`\n; t.ok(f()) })",
    "regular expression": b"it('a', t => { x = /[/\"]\\/'/g\n; t.ok(f()) })",
    "comment": b"it('a', t => { // it's (\n t.ok(f()) /* ) */ })",
    "string": b"it('a', t => { x('// )')\n t.ok(f()) })",
    "jsx": b"it('a', t => { x(<A b={1}>don't</A>); y(<B></B>)\n t.ok(f()) })",
    "generics": b"it('a', t => { const x = new Map<string, Array<number>>()\n t.ok(f<T>()) })",
    "division": b"it('a', t => { x = a / b; y = (c) / d\n t.ok(f()) })",
}


@pytest.mark.parametrize("name", ODD)
def test_odd_files_are_read_and_lines_are_right(name: str) -> None:
    first = shown(ODD[name], only(blocks(ODD[name], Places())).edits)[0]
    text = "f<T>()" if name == "generics" else "f()"
    assert first == f"negation 2: {text!r} -> {'!(@)' if name == 'generics' else '!@'}"


def test_the_same_nonce_gives_the_same_edits_and_another_one_others() -> None:
    data = b"it('a', t => { t.equal(f(), 'x') })"
    assert blocks(data, ReplacementValues(b"1")) == blocks(data, ReplacementValues(b"1"))
    assert blocks(data, ReplacementValues(b"1")) != blocks(data, ReplacementValues(b"2"))


@settings(max_examples=40)
@given(st.lists(st.sampled_from([source for source, _ in cases(RULES)]), max_size=4), st.binary(max_size=40))
def test_edits_are_spans_of_the_file_with_the_right_line(sources: list[str], noise: bytes) -> None:
    data = ("test('a', t => {\n" + ";\n".join(sources) + "\n})\n").encode() + noise
    for block in blocks(data, ReplacementValues(b"")):
        for edit in block.edits:
            assert 0 <= edit.start <= edit.end <= len(data)
            assert edit.line == data.count(b"\n", 0, edit.start) + 1
            assert edited(data, [edit]) != data
