"""Run the checks of a contract on the patched tree: attempts, sentinels, results readers, inverted tests, decisions."""
