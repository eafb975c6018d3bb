"""Circuit breakers: each one a fold over events that says when something has gone far enough."""
