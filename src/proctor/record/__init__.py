"""The record floor: what a run leaves behind, and how anyone can tell that nothing of it was changed.

``trace`` holds the events, ``rundir`` the places, ``manifest`` the identity, ``seal`` and ``verify`` the proof. It
knows contracts, and nothing of sandboxes, agents or verdicts.
"""
