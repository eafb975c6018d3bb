"""The findings of a pilot, its sensitivity analyses and its status."""
