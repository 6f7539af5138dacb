"""Threads for a verb: the requested number, or the machine's free cores."""

import os

import torch

from saccade.train.environment import busy_cores, threads_for
from saccade.train.notes import say


def use_threads(threads: int | None) -> None:
    """Set torch's threads, by default fewer on a busy machine, with a note."""
    if threads is not None:
        torch.set_num_threads(threads)
    elif (spare := _spare()) is not None:
        say(f"using {spare[0]} of {torch.get_num_threads()} threads: {spare[1]}; --threads chooses otherwise")
        torch.set_num_threads(spare[0])


def advise_threads(threads: int | None) -> None:
    """Set torch's threads, by default as many as torch has.

    For training: the last digits of results depend on the number, so the machine's load must not choose it.
    """
    if threads is not None:
        torch.set_num_threads(threads)
    elif (spare := _spare()) is not None:
        say(f"{spare[1]}: --threads {spare[0]} may well be faster than {torch.get_num_threads()}")


def _spare() -> tuple[int, str] | None:
    """Threads worth having, and the reason, if they are fewer than torch's."""
    usual, cores, busy = torch.get_num_threads(), os.cpu_count() or 1, busy_cores()
    fewer = threads_for(busy, usual, cores)
    return (fewer, f"other processes use {busy:.1f} of {cores} cores") if fewer < usual else None
