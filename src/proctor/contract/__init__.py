"""Contracts: what is promised. Loading, checking and identifying them; nothing here runs anything."""
