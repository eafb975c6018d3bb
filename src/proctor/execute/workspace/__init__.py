"""Trees of files: pinned snapshots, cached layers, workspaces above them, their differences, and patches.

Paths inside a tree are bytes. A tree that an agent or a repository's setup touched is only ever read through
directory descriptors that follow no link, and git never runs on it.
"""
