'use strict';

// Reports every test as one line of TAP.
module.exports = class {
  onRunComplete(contexts, results) {
    const lines = [];
    for (const file of results.testResults) {
      for (const one of file.testResults) {
        lines.push(`${one.status === 'passed' ? 'ok' : 'not ok'} - ${one.fullName}`);
      }
    }
    lines.push(`1..${lines.length}`, '');
    require('fs').writeFileSync(`${process.env.PROCTOR_RESULTS}/tests.tap`, lines.join('\n'));
  }
};
