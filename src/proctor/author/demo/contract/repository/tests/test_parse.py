import unittest

from durations import DurationError, parse


class ParseTest(unittest.TestCase):
    def test_one_unit(self):
        self.assertEqual(parse("90s"), 90)

    def test_several_units(self):
        self.assertEqual(parse("1h30m"), 5400)

    def test_words_and_spaces(self):
        self.assertEqual(parse("2 days, 4 hours"), 187200)

    def test_fractions(self):
        self.assertEqual(parse("1.5 hours"), 5400)

    def test_negative(self):
        self.assertEqual(parse("-1h 30m"), -5400)

    def test_unknown_unit(self):
        with self.assertRaises(DurationError):
            parse("3 fortnights")

    def test_not_a_duration(self):
        for text in ("", "-", "soon", "1h 30"):
            with self.subTest(text=text), self.assertRaises(DurationError):
                parse(text)
