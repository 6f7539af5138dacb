"""Claims of the literature, one study a file: what is claimed, what is measured, and what follows.

`saccade report NAME` runs the `STUDY` of `studies/NAME.py` from a checkout. The files in `frame` are shared.
"""
