"""Judging: checks on a fresh base with only the patch on it, then gates, score and report from the recorded evidence.

Nothing here depends on agents. Output of a sandbox is untrusted data: it is parsed and bounded.
"""
