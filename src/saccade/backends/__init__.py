"""Backends, one file or folder each, which compute attention."""
