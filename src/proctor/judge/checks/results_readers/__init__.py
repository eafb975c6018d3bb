"""Test results read from files: one parser for each format, all pure, bounded and safe with hostile input."""
