"""How definitions (scores, normalizers, masks, biases, reads) are built: trees of tensors, checks and numerics."""
