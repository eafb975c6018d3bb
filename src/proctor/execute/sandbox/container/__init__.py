"""Sandboxes that are containers of an engine, Docker or podman, controlled through its HTTP interface."""
