"""Sandboxes: one interface, one file or package per way to isolate."""
