"""Many runs: what a batch asks for, its runs, and what they may spend together."""
