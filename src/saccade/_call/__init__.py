"""A call as one tree of tensors, its validation, and facts about it that backends share."""
