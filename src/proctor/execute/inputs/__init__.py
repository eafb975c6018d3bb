"""What a contract needs from outside: fetched by name and digest, kept by content, put where it belongs."""
