"""Scores by the length of the source, with attention and without (Bahdanau, Cho, Bengio 2015, figure 2)."""
