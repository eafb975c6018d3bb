"""Intents: what a text asks to be done, whatever form it has."""
