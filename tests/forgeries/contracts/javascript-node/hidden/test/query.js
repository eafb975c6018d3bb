'use strict';

const test = require('node:test');
const assert = require('node:assert');
const query = require('../query');

test('the same name twice', () => {
  assert.deepStrictEqual(query.parse('a=1&a=2'), { a: ['1', '2'] });
});

test('a value with an equals sign', () => {
  assert.strictEqual(query.parse('a=b=c').a, 'b=c');
});

test('nothing', () => {
  assert.strictEqual(query.count(''), 0);
});

test('no text', () => {
  assert.throws(() => query.parse(7), TypeError('not a text: 7'));
});
