"""The ground floor: errors, canonical bytes, names, files, time and bounded processes.

It knows nothing of contracts, runs or agents, and everything above may use it.
"""
