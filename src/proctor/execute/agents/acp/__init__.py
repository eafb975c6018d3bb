"""The Agent Client Protocol, from the client's side: an agent in the sandbox is talked to over its standard streams."""
