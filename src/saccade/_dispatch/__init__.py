"""The way from a call to a backend: the passes before it, and the choice."""
