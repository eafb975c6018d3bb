"""Observations of a live run in addition to its system calls: resources, changes of the tree, canaries.

Everything here observes from outside while processes run, so what it reads may change at any time. Nothing here decides
what a finding means or what is done about it.
"""
