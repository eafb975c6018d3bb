"""Watching a run: breakers, costs, grades and text rules, all of them functions and folds over recorded events.

Nothing in this package reads a clock, a file or the network, and nothing here acts: the caller carries out what a
breaker decides. So the same trace always gives the same decisions.
"""
