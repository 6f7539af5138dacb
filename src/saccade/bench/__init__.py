"""How fast attention is here: rows of ours and a peer in one process, in turns, beside what the machine allows.

`rows/` says what is measured, one file a subject; `measure.py` and `peak.py` measure time and memory; `machine.py`
finds the limits; `run.py` goes through the rows; `table.py`, `page.py` and `plot.py` show what was found.
`saccade bench` is all of it from a shell.
"""
