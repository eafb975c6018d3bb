"""The network of a sandbox, by contract: nothing, a list of addresses through a filtering proxy, or a cassette.

A sandbox's network namespace leads nowhere. What is open is served by listeners that the harness puts into that
namespace from outside, so there is one way out, it is told of, and taking it away closes it.
"""
