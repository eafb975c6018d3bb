import unittest

from durations import parse, spell


class SpellTest(unittest.TestCase):
    def test_seconds(self):
        self.assertEqual(spell(42), "42s")

    def test_nothing(self):
        self.assertEqual(spell(0), "0s")

    def test_two_parts(self):
        self.assertEqual(spell(5400), "1h 30m")

    def test_zero_parts_are_left_out(self):
        self.assertEqual(spell(3605), "1h 5s")

    def test_more_parts(self):
        self.assertEqual(spell(694861, parts=5), "1w 1d 1h 1m 1s")

    def test_negative(self):
        self.assertEqual(spell(-90), "-1m 30s")

    def test_no_parts(self):
        with self.assertRaises(ValueError):
            spell(1, parts=0)

    def test_round_trip(self):
        for seconds in (1, 59, 61, 3599, 86400, 694861):
            with self.subTest(seconds=seconds):
                self.assertEqual(parse(spell(seconds, parts=5)), seconds)
