"""Sandboxes that are containers of an engine, Docker or podman, spoken to through its HTTP interface."""
