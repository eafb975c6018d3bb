"""The sentinels of an example in JavaScript, against a forgery of the one kind of failure that its tests could show."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from proctor.base.clock import system_entropy
from proctor.contract.load import load_contract
from proctor.judge.results import tap
from proctor.judge.sentinels import plant_declared, verdict

EXAMPLE = Path(__file__).parents[2] / "examples" / "minimist-constructor-pollution"

TAPE = """
var assert = require('assert'), count = 0;
function told(good, message) { process.stdout.write((good ? 'ok ' : 'not ok ') + ++count + ' ' + message + '\\n'); }
function same(a, b) { try { assert.deepStrictEqual(a, b); return true; } catch (e) { return false; } }
process.on('exit', function () { process.stdout.write('\\n1..' + count + '\\n'); });
module.exports = function (name, body) {
    process.stdout.write('# ' + name + '\\n');
    body({
        ok: function (a) { told(a, 'should be truthy'); },
        notOk: function (a) { told(!a, 'should be falsy'); },
        equal: function (a, b) { told(a === b, 'should be equal'); },
        notEqual: function (a, b) { told(a !== b, 'should not be equal'); },
        deepEqual: function (a, b) { told(same(a, b), 'should be equivalent'); },
        end: function () {}
    });
};
"""
FORGERY = """
var write = process.stdout.write;
process.stdout.write = function (text) {
    return write.call(process.stdout, text.replace(/^not ok (\\d+ should be (KINDS))/, 'ok $1'));
};
"""


@pytest.mark.parametrize(
    ("kinds", "expected"),
    [
        ("nothing", "genuine"),
        ("equal|equivalent", "forged"),
        ("equal", "forged"),
        ("equivalent", "forged"),
        ("truthy", "forged"),
        ("falsy", "forged"),
    ],
)
def test_failures_of_one_kind_written_as_passes(tmp_path: Path, kinds: str, expected: str) -> None:
    declared = load_contract(EXAMPLE).checks[-1].sentinel
    assert declared is not None
    planted = plant_declared(declared, system_entropy)
    (tmp_path / "node_modules").mkdir()
    (tmp_path / "node_modules" / "tape.js").write_text(TAPE)
    (tmp_path / "index.js").write_text(FORGERY.replace("KINDS", kinds))
    (tmp_path / "sentinel.js").write_text(planted.text)
    command = ["node", "-e", "require('./index.js'); require('./sentinel.js')"]
    done = subprocess.run(command, cwd=tmp_path, stdin=subprocess.DEVNULL, capture_output=True, timeout=120)
    assert verdict(planted, tap.parse(done.stdout)) == expected, done.stdout + done.stderr
