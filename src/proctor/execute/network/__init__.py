"""The network of a sandbox, by contract: nothing, a list of addresses through a filtering proxy, or a cassette.

A sandbox's network namespace has no connection. Allowed addresses are served by listeners that the harness puts into
that namespace from outside, so there is one way out, it is recorded, and removing it closes the network.
"""
