"""Systems of the literature, one file each, which cites paper and equations; they attend through `saccade.nn` alone.

Adding one is a file here with an `Options` dataclass and a module, and a line in the `models` of the tasks it serves.
"""
