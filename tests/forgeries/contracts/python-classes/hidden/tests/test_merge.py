import unittest

import spans


class Merge(unittest.TestCase):
    def test_contained(self):
        self.assertEqual(spans.merge([(1, 9), (2, 3)]), [(1, 9)])

    def test_touching(self):
        found = spans.merge([(1, 2), (2, 3)])
        self.assertEqual(len(found), 1)
        self.assertListEqual(list(found), [(1, 3)])

    def test_total_of_contained(self):
        self.assertTrue(spans.total([(0, 10), (2, 4)]) == 10)

    def test_reversed(self):
        with self.assertRaises(ValueError):
            spans.merge([(3, 1)])

    def test_reversed_is_named(self):
        with self.assertRaisesRegex(ValueError, "7.*5"):
            spans.total([(7, 5)])
