"""The search for copies of the project under test in what setup brings into the sandbox."""
