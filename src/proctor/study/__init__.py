"""Studies: what many runs show together, planned before they start."""
