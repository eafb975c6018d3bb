"""Read result tables of other tools, and check each row."""
