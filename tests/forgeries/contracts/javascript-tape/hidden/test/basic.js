'use strict';

var test = require('tape');
var slug = require('../slug');

test('one space', function (t) {
    t.equal(slug('Good Morning'), 'good-morning');
    t.end();
});

test('another separator', function (t) {
    t.equal(slug('a b', { separator: '_' }), 'a_b');
    t.deepEqual(slug.words('One two'), ['one', 'two']);
    t.end();
});
