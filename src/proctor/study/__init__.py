"""Studies: what many runs say together, planned before they begin."""
