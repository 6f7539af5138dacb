"""Studies of claims of the literature: a file holds claim, measurement and result.

`saccade report NAME` runs the `STUDY` of `studies/NAME.py` from a checkout. The files in `frame` are shared.
"""
