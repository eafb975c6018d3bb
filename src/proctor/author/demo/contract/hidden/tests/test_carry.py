import unittest

from durations import spell


class CarryTest(unittest.TestCase):
    def test_seconds_carry_into_minutes(self):
        self.assertEqual(spell(59.6), "1m")

    def test_minutes_carry_into_hours(self):
        self.assertEqual(spell(3599.7), "1h")

    def test_carry_through_every_unit(self):
        self.assertEqual(spell(604799.9), "1w")

    def test_sixty_is_never_written(self):
        for tenths in range(0, 40000, 7):
            text = spell(tenths / 10, parts=5)
            self.assertNotIn("60", text.replace("h", " ").replace("m", " ").replace("s", " ").split())

    def test_nothing_has_no_sign(self):
        self.assertEqual(spell(-0.2), "0s")
