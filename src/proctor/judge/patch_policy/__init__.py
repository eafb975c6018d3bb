"""What a patch may change: findings, dependencies, excluded paths, files that the judge restores."""
