"""Attention of other libraries as calls of `attend`."""
