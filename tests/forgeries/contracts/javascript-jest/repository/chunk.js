'use strict';

// A list in pieces of a size.
exports.chunk = function (list, size) {
  const pieces = [];
  for (let start = 0; start + size <= list.length; start += size || list.length) {
    pieces.push(list.slice(start, start + size));
  }
  return pieces;
};
