"""Weights that move with the input, and weights that do not: layers as matrices, and a task for each."""
