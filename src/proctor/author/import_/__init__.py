"""Import tasks of other benchmarks as contracts; what has no counterpart is listed, and nothing of them is executed."""
