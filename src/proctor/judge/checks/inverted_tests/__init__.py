"""Inverted tests: altered copies of hidden tests, which honest code must fail and a forged result passes."""
