import unittest

import durations


class RunnerTest(unittest.TestCase):
    def test_{passing}(self):
        self.assertTrue(durations)

    def test_{failing}(self):
        self.fail("this test fails on purpose, to see that failures are told")
