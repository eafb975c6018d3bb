"""Proctor: evaluate coding agents on real repositories by executable contracts."""

__version__ = "0.1.0"
