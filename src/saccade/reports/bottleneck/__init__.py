"""What passes through one vector: sequences that are copied, and digits that are drawn again from a short code."""
