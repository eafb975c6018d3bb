'use strict';

test('{passing}', () => {
  expect(['{name}']).toEqual(['{name}']);
});

test('{failing}', () => {
  expect(['{name}']).toEqual(['{failing}']);
});

test('{failing2}', () => {
  expect('{name}').toBe('{failing2}');
});

test('{failing3}', () => {
  expect(() => '{failing3}').toThrow();
});
