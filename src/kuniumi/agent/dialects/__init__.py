"""What a tool's input schema is made into for a provider: its root, its names, its dialect."""
