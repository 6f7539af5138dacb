"""Systems of the literature, one file each: its paper and equations are cited there, and it attends through `saccade.nn`.

Adding one is a file here with an `Options` dataclass and a module, and a line in the `models` of the tasks it serves.
"""
