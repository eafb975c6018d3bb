import unittest

import roman


class Basic(unittest.TestCase):
    def test_written(self):
        self.assertEqual(roman.write(2026), "MMXXVI")

    def test_read(self):
        self.assertEqual(roman.read("MDCLXVI"), 1666)
