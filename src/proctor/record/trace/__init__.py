"""The trace: an append-only log of events, each bound to the one before it."""
