'use strict';

var test = require('tape');

test('{passing}', function (t) {
    t.equal('{name}', '{name}');
    t.deepEqual(['{name}'], ['{name}']);
    t.end();
});

test('{failing}', function (t) {
    t.equal('{name}', '{failing}');
    t.end();
});

test('{failing2}', function (t) {
    t.deepEqual(['{name}'], ['{failing2}']);
    t.end();
});

test('{failing3}', function (t) {
    t.throws(function () { });
    t.end();
});
