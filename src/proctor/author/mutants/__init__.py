"""Small faults put into a known solution: what an oracle has to notice."""
