"""Batches of runs: the request, its runs, and their common spending limits."""
