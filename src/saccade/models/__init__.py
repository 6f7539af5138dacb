"""Systems of the literature, one file each, with paper and equations.

They attend through `saccade.nn` alone. To add a system, write a file with an `Options` dataclass and a module, and add
a line to the `models` of its tasks.
"""
