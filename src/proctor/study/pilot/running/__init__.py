"""Execute a plan: stages, stopping rules, and the state after each step."""
