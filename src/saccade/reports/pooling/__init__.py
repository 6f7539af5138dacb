"""Attention as pooling: sentences classified by what is made of their words, from a sum to attention over a GRU."""
