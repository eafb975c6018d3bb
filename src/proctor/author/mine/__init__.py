"""Contracts from the history of a repository: what a fix changed, what it needs, and the proof that its tests show it."""
