"""Installing agents: resolved once outside the sandbox, locked, kept as read-only layers, never run out here."""
