import unittest

import spans


class Basic(unittest.TestCase):
    def test_apart(self):
        self.assertEqual(spans.merge([(5, 6), (1, 2)]), [(1, 2), (5, 6)])

    def test_overlap(self):
        self.assertEqual(spans.merge([(1, 4), (3, 6)]), [(1, 6)])

    def test_total(self):
        self.assertEqual(spans.total([(1, 4), (3, 6)]), 5)
