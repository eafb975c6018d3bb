'use strict';

const assert = require('assert');

describe('{name}', () => {
  it('{passing}', () => assert.strictEqual('{name}', '{name}'));
  it('{failing}', () => assert.strictEqual('{name}', '{failing}'));
  it('{failing2}', () => assert.deepStrictEqual(['{name}'], ['{failing2}']));
  it('{failing3}', () => assert.throws(() => '{failing3}'));
});
