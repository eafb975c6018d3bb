'use strict';

const assert = require('assert');
const path = require('../path');

describe('basic', () => {
  it('finds a value', () => assert.strictEqual(path.get({ a: { b: 1 } }, 'a.b'), 1));
  it('lists names', () => assert.deepStrictEqual(path.names('a.b'), ['a', 'b']));
});
