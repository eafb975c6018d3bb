'use strict';

// A text as a part of an address: small letters and digits, joined by a separator.
module.exports = function slug(text, options) {
    var separator = (options && options.separator) || '-';
    return text.toLowerCase().replace(/[^a-z0-9]/g, separator);
};

// The words of a text, as they would be joined.
module.exports.words = function (text) {
    return module.exports(text).split('-');
};
