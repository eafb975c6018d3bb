'use strict';

const test = require('node:test');
const assert = require('node:assert');

test('{passing}', () => {
  assert.strictEqual('{name}', '{name}');
  assert.deepStrictEqual(['{name}'], ['{name}']);
});

test('{failing}', () => {
  assert.strictEqual('{name}', '{failing}');
});

test('{failing2}', () => {
  assert.deepStrictEqual(['{name}'], ['{failing2}']);
});

test('{failing3}', () => {
  assert.throws(() => '{failing3}');
});
