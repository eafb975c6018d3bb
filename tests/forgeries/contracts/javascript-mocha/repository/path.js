'use strict';

// The value at a path such as 'a.b' of nested objects.
exports.get = function (object, path) {
  return path.split('.').reduce((inner, name) => inner[name], object);
};

// The names of a path.
exports.names = path => path.split('.');
