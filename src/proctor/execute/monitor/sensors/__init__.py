"""What is seen of a live run besides its system calls: resources, changes of the tree, checkpoints, canaries.

Everything here looks from outside while processes live, so what it reads may change under it. Nothing here decides
what a finding means or what is done about it.
"""
