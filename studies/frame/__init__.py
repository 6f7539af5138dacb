"""Shared by all studies: the `Study` value, its options, its folder, trainings, statistics and the page."""
