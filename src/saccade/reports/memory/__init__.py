"""External memory: whether what was learned of short sequences holds of longer ones, and what its heads go by."""
