'use strict';

var parse = require('../');
var test = require('tape');

test('proto pollution (constructor of a boolean)', function (t) {
    parse(['--x', '--x.constructor.prototype.y', '123']);
    t.equal(true.y, undefined);
    delete Boolean.prototype.y;
    t.end();
});

test('an option that is called like a method is not lost', function (t) {
    var argv = parse(['--a.valueOf', '5']);
    t.equal([].concat(argv.a.valueOf).pop(), 5);
    t.end();
});
