"""Speed against the floor of doing the same work without Proctor: ``python -m bench [name] [--quick]``."""
