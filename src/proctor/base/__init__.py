"""The lowest layer: errors, canonical bytes, names, files, time and bounded processes.

It does not depend on contracts, runs or agents, and every other package may use it.
"""
