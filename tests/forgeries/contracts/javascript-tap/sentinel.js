'use strict'

const tap = require('libtap')

tap.test('{passing}', t => {
  t.equal('{name}', '{name}')
  t.same({ a: '{name}' }, { a: '{name}' })
  t.end()
})

tap.test('{failing}', t => {
  t.equal('{name}', '{failing}')
  t.end()
})

tap.test('{failing2}', t => {
  t.same({ a: '{name}' }, { a: '{failing2}' })
  t.end()
})

tap.test('{failing3}', t => {
  t.throws(() => '{failing3}')
  t.end()
})
