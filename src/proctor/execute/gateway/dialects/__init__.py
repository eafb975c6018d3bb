"""The ways in which providers are spoken to: one file a dialect, all of them pure."""
