"""Agents and models by name, and batches of runs in a home: what commands and the Python interface have in common."""
