'use strict';

const assert = require('assert');
const path = require('../path');

describe('path', () => {
  it('takes indexes', () => {
    assert.strictEqual(path.get({ a: [{ b: 7 }] }, 'a[0].b'), 7);
  });
  it('splits indexes', () => {
    assert.deepStrictEqual(path.names('a[10].b'), ['a', '10', 'b']);
  });
  it('ends where nothing is', () => {
    assert.strictEqual(path.get({}, 'a.b.c'), undefined);
  });
  it('refuses an empty path', () => {
    assert.throws(() => path.get({}, ''), /empty/);
  });
});
