"""Runs from contract to sealed report: the only floor that joins what acts and what judges."""
