"""The command line: one file per command, the only floor that prints and exits."""
