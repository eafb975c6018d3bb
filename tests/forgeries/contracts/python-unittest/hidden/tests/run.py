"""Runs every test below ``tests`` and writes one line of TAP for each."""

import os
import sys
import unittest

sys.path.insert(0, os.getcwd())


class Lines(unittest.TestResult):
    lines = []

    def stopTest(self, test):
        bad = any(test is one for one, _ in self.failures + self.errors)
        self.lines.append(f"{'not ok' if bad else 'ok'} - {test.id()}")
        super().stopTest(test)


suite = unittest.defaultTestLoader.discover("tests")
result = Lines()
suite.run(result)
with open(os.path.join(os.environ["PROCTOR_RESULTS"], "tests.tap"), "w") as file:
    file.write("\n".join([*result.lines, f"1..{len(result.lines)}", ""]))
sys.exit(0 if result.wasSuccessful() else 1)
