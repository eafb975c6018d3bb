'use strict'

const tap = require('libtap')
const duration = require('../duration')

tap.test('several units', t => {
  t.equal(duration.parse('1h30m'), 5400)
  t.equal(duration.parse('1d1s'), 86401)
  t.end()
})

tap.test('hours too', t => {
  t.same(duration.split(3661), { hours: 1, minutes: 1, seconds: 1 })
  t.end()
})

tap.test('no duration', t => {
  t.throws(() => duration.parse('soon'), RangeError)
  t.end()
})
