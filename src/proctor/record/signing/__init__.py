"""Signed statements about finished runs, in formats that other tools verify."""
