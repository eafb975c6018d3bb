"""Agents: what attempts a contract. One interface, one file per kind; more come in by entry point."""
