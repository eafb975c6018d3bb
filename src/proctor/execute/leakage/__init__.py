"""The search for copies of the project under test in setup inputs."""
