"""Contracts: loading, checking and identifying them. Nothing here runs anything."""
