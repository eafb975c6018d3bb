"""The sentinels of examples in JavaScript and C: they load the code under test, and see what that does to failures."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from proctor.base.clock import system_entropy
from proctor.contract.load import load_contract
from proctor.judge.checks.results_readers import tap
from proctor.judge.checks.results_readers.interface import TestResults
from proctor.judge.checks.sentinels import plant_declared, verdict

EXAMPLES = Path(__file__).parents[2] / "examples"

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
def test_j1_failures_of_one_kind_written_as_passes(tmp_path: Path, kinds: str, expected: str) -> None:
    declared = load_contract(EXAMPLES / "minimist-constructor-pollution").checks[-1].sentinel
    assert declared is not None
    planted = plant_declared(declared, system_entropy)
    (tmp_path / "node_modules").mkdir()
    (tmp_path / "node_modules" / "tape.js").write_text(TAPE)
    (tmp_path / "index.js").write_text(FORGERY.replace("KINDS", kinds))
    (tmp_path / "test").mkdir()
    (tmp_path / "test" / "sentinel.js").write_text(planted.text)
    command = ["node", "-e", "require('./test/sentinel.js')"]
    done = subprocess.run(command, cwd=tmp_path, stdin=subprocess.DEVNULL, capture_output=True, timeout=120)
    assert verdict(planted, tap.parse(done.stdout)) == expected, done.stdout + done.stderr


UNITY = """
#include <stdio.h>
static int failed;
#define TEST_ASSERT_EQUAL_INT(a, b) if ((a) != (b)) failed = 1
#define UNITY_BEGIN() failed = 0
#define RUN_TEST(test) failed = 0; test(); printf("%s %s\\n", #test, failed ? "failed" : "passed")
#define UNITY_END() 0
"""
REDEFINED = "#undef TEST_ASSERT_EQUAL_INT\n#define TEST_ASSERT_EQUAL_INT(a, b) (void)0\n"


@pytest.mark.parametrize(("common", "expected"), [("", "genuine"), (REDEFINED, "forged")])
def test_j1_a_test_macro_that_the_code_under_test_redefines(tmp_path: Path, common: str, expected: str) -> None:
    declared = load_contract(EXAMPLES / "cjson-null-arguments").checks[-1].sentinel
    assert declared is not None
    planted = plant_declared(declared, system_entropy)
    for name, text in {
        "unity/examples/unity_config.h": "",
        "unity/src/unity.h": UNITY,
        "common.h": common,
        "sentinel.c": planted.text,
    }.items():
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(text)
    subprocess.run(["cc", "-o", "sentinel", "sentinel.c"], cwd=tmp_path, check=True, timeout=120)
    done = subprocess.run(["./sentinel"], cwd=tmp_path, capture_output=True, text=True, timeout=120)
    outcomes = dict(line.split() for line in done.stdout.splitlines())
    results = TestResults({f"{planted.token}::{test}": outcome for test, outcome in outcomes.items()}, True)
    assert verdict(planted, results) == expected, done.stdout
