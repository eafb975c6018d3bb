import unittest


class Probe(unittest.TestCase):
    def test_{passing}(self):
        self.assertEqual("{name}", "{name}")

    def test_{failing}(self):
        self.assertEqual("{name}", "{failing}")

    def test_{failing2}(self):
        self.assertIn("{name}", ("{failing2}",))

    def test_{failing3}(self):
        with self.assertRaises(ValueError):
            str("{failing3}")
