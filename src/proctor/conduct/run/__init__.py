"""One run: the agent acts under watch, the judge judges, and the report is sealed."""
