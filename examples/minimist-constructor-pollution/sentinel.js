'use strict';

// One test for each assertion that the suite makes: a failure of each kind must be reported. The module under test is
// loaded as in the other files, because what it does to the runner when it is loaded has to show here too.
var test = require('tape');
require('../');

test('{passing}', function (t) {
    t.ok(true);
    t.equal('{name}', '{name}');
    t.deepEqual({ a: ['{name}'] }, { a: ['{name}'] });
    t.end();
});

test('{failing}', function (t) {
    t.ok(false);
    t.end();
});

test('{failing2}', function (t) {
    t.equal('{name}', '{failing2}');
    t.end();
});

test('{failing3}', function (t) {
    t.deepEqual({ a: ['{name}'] }, { a: ['{failing3}'] });
    t.end();
});

test('{failing4}', function (t) {
    t.notOk('{name}');
    t.end();
});

test('{failing5}', function (t) {
    t.notEqual('{name}', '{name}');
    t.end();
});
