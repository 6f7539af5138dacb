"""Parts of scores, normalizers, masks, biases and reads: trees, checks, numerics."""
