"""The evidence of a run, and how anyone can check that it was not changed.

``trace`` has the events, ``run_directory`` the paths, ``seal`` and ``verify`` the proof. This package depends on
contracts, and not on sandboxes, agents or verdicts.
"""
