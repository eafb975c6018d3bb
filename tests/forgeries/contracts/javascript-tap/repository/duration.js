'use strict'

const SECONDS = { d: 86400, h: 3600, m: 60, s: 1 }

// The number of seconds that a text such as '5m' means.
exports.parse = text => Number.parseInt(text, 10) * SECONDS[text.slice(-1)]

// The units and counts of a number of seconds.
exports.split = seconds => ({ minutes: Math.floor(seconds / 60), seconds: seconds % 60 })
