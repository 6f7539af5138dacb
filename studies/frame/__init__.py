"""Parts of all studies: the `Study` value, options, folder, statistics and page."""
