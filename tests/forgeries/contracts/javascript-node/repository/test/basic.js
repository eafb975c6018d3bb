'use strict';

const test = require('node:test');
const assert = require('node:assert');
const query = require('../query');

test('fields', () => {
  assert.deepStrictEqual(query.parse('a=1&b=2'), { a: '1', b: '2' });
});

test('decoded', () => {
  assert.strictEqual(query.parse('a=%26').a, '&');
});
