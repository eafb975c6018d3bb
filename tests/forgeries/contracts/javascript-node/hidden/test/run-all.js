// Loads every test file beside this one, so that they report into one stream.
'use strict';

var fs = require('fs');
var path = require('path');

fs.readdirSync(__dirname).sort().forEach(function (name) {
    if (/\.js$/.test(name) && name !== path.basename(__filename)) {
        require(path.join(__dirname, name));
    }
});
