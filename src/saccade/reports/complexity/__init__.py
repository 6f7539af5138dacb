"""Time and memory of layers against the length of what they read (Vaswani et al. 2017, table 1)."""
