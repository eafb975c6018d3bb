"""Making contracts: what helps a person to write one, to check it, and to see one at work."""
