"""Replays of a recorded run: its trace, its commands, its acceptance."""
