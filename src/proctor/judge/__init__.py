"""Judging: checks on a fresh base with only the patch on it, then gates, score and report from the recorded evidence.

Nothing here knows agents. What comes out of a sandbox is data to be parsed, bounded and doubted.
"""
