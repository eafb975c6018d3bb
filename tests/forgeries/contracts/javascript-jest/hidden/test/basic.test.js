'use strict';

const { chunk } = require('../chunk');

test('even pieces', () => {
  expect(chunk([1, 2, 3, 4], 2)).toEqual([[1, 2], [3, 4]]);
});

test('nothing', () => {
  expect(chunk([], 2)).toEqual([]);
});
