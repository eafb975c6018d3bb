"""The contract that comes with Proctor: a small library with a bug, its hidden tests, and an agent that cheats."""
