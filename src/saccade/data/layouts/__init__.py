"""Published layouts of data, a file each: from a path to tables by split, or None for another layout."""
