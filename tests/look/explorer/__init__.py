"""A package, so that the browser of its conftest ends with its tests: its event loop would be in the way of others."""
