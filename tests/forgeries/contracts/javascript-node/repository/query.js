'use strict';

// The fields of a query such as 'a=1&b=2'.
exports.parse = function (text) {
  const fields = {};
  for (const part of text.split('&')) {
    const [name, value] = part.split('=');
    fields[name] = decodeURIComponent(value);
  }
  return fields;
};

// The number of fields.
exports.count = function (text) {
  return Object.keys(exports.parse(text)).length;
};
