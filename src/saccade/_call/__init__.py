"""A call as a tree of tensors, its validation, and facts that backends share."""
