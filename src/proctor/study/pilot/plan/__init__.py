"""The pilot file, the tasks, the power analysis, and the frozen plan with its protocol."""
