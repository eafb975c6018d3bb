"""The Python interface: what ``import proctor`` offers. Notebooks and plug-ins use these functions and types alone."""
