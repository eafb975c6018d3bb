"""Where things act: workspaces, sandboxes, inputs and agents. Nothing here decides whether an attempt was good."""
