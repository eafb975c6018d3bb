'use strict';

const { chunk } = require('../chunk');

test('a rest', () => {
  expect(chunk([1, 2, 3], 2)).toEqual([[1, 2], [3]]);
});

test('fewer than one piece', () => {
  expect(chunk(['a'], 9)).toEqual([['a']]);
});

test('a size of nothing', () => {
  expect(() => chunk([1], 0)).toThrow(RangeError);
});
