'use strict';

var test = require('tape');

test('{passing}', function (t) {
    t.ok(true);
    t.end();
});

test('{failing}', function (t) {
    t.ok(false);
    t.end();
});
