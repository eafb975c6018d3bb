"""Contracts from the history of a repository: what a fix changed, what it needs, and a proof by its tests."""
