'use strict';

var test = require('tape');
var slug = require('../slug');

test('several spaces are one separator', function (t) {
    t.equal(slug('a   b'), 'a-b');
    t.end();
});

test('no separator at either end', function (t) {
    t.equal(slug(' Hello, World! '), 'hello-world');
    t.deepEqual(slug.words('(Yes) we can'), ['yes', 'we', 'can']);
    t.end();
});

test('only texts', function (t) {
    t.throws(function () { slug(42); }, /42/);
    t.end();
});
