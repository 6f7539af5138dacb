"""Attention masks the error that is propagated back: what each value is told, and what experts forget."""
