"""Watching a run: breakers, costs, grades and rules on words, all of them functions and folds over recorded events.

Nothing in this room reads a clock, a file or the network, and nothing here acts: what a breaker decides is told to
whoever conducts the run. So the same trace always gives the same decisions.
"""
