import unittest

import durations


class RunnerTest(unittest.TestCase):
    def wrong(self):
        """One use of each assertion that the tests make, none of which holds."""
        return (
            lambda: self.assertEqual("{name}", "{passing}"),
            lambda: self.assertEqual(1.5, 2),
            lambda: self.assertNotIn("{name}", ["{name}"]),
            lambda: self.assertRaises(ValueError, str),
            lambda: self.assertRaises(durations.DurationError, str),
            lambda: self.assertTrue(None),
            lambda: self.fail("this fails on purpose"),
        )

    def test_{passing}(self):
        self.assertTrue(durations)
        self.assertEqual("{name}", "{name}")
        self.assertNotIn("{name}", ["{passing}"])

    def test_{failing}(self):
        for check in self.wrong():
            try:
                check()
            except AssertionError:
                continue
            return  # something wrong came through, so this test passes, which it must not
        self.fail("this test fails on purpose, to see that failures are told")

    def test_{failing2}(self):
        self.assertEqual("{name}", "{failing2}")

    def test_{failing3}(self):
        with self.assertRaises(durations.DurationError):
            str("{name}")

    def test_{failing4}(self):
        for text in ("{name}", "{failing4}"):
            with self.subTest(text=text):
                self.assertNotIn(text, ["{failing4}"])

    def test_{failing5}(self):
        raise durations.DurationError("this test breaks on purpose")
