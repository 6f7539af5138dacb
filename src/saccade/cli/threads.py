"""Threads for a verb: the requested number, or the machine's free cores."""

import os

import torch

from saccade._system.environment import busy_cores, threads_for
from saccade._system.notes import say


def set_threads(threads: int | None, *, advise: bool = False) -> None:
    """Set torch's threads, by default fewer on a busy machine, with a note.

    For training, advise instead: the last digits of results depend on the number, so the machine's load must not
    choose it.
    """
    if threads is not None:
        torch.set_num_threads(threads)
        return
    usual, cores, busy = torch.get_num_threads(), os.cpu_count() or 1, busy_cores()
    fewer, load = threads_for(busy, usual, cores), f"other processes use {busy:.1f} of {cores} cores"
    if fewer < usual and advise:
        say(f"{load}: --threads {fewer} may well be faster than {usual}")
    elif fewer < usual:
        say(f"using {fewer} of {usual} threads: {load}; --threads chooses otherwise")
        torch.set_num_threads(fewer)
