"""Experts with the losses that balance them and without: how evenly they are loaded, and what they come to."""
