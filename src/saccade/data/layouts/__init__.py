"""Published layouts of data, a module for each.

A layout is a function from a path to tables by split. It returns None for a path with another layout.
"""
