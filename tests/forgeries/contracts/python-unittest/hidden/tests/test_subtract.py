import unittest

import roman


class Subtract(unittest.TestCase):
    def test_four(self):
        self.assertEqual(roman.write(4), "IV")
        self.assertEqual(roman.read("IV"), 4)

    def test_year(self):
        self.assertEqual(roman.write(1999), "MCMXCIX")

    def test_read_back(self):
        self.assertIn(roman.read("XLIV"), (44,))

    def test_nothing(self):
        with self.assertRaises(ValueError):
            roman.write(0)
