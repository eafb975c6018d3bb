'use strict'

const tap = require('libtap')
const duration = require('../duration')

tap.test('one unit', t => {
  t.equal(duration.parse('5m'), 300)
  t.equal(duration.parse('2h'), 7200)
  t.end()
})

tap.test('minutes and seconds', t => {
  t.same(duration.split(61), { minutes: 1, seconds: 1 })
  t.end()
})
