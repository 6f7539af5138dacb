"""How many threads a verb computes with: as many as are asked for, else what the machine has to spare."""

import os

import torch

from saccade.train.environment import busy_cores, threads_for
from saccade.train.notes import say

__all__ = ["advise_threads", "use_threads"]


def use_threads(asked: int | None) -> None:
    """Have torch compute with so many threads; None: as many as it has, or fewer, which is said, on a busy machine."""
    if asked is not None:
        torch.set_num_threads(asked)
    elif (found := _spare()) is not None:
        say(f"using {found[0]} of {torch.get_num_threads()} threads: {found[1]}; --threads chooses otherwise")
        torch.set_num_threads(found[0])


def advise_threads(asked: int | None) -> None:
    """Have torch compute with so many threads; None: as many as it has.

    For what trains: the last digits of its results depend on their number, which a machine's load may not choose.
    """
    if asked is not None:
        torch.set_num_threads(asked)
    elif (found := _spare()) is not None:
        say(f"{found[1]}: --threads {found[0]} may well be faster than {torch.get_num_threads()}")


def _spare() -> tuple[int, str] | None:
    """How many threads are worth having, and why, where these are fewer than torch has."""
    usual, cores, busy = torch.get_num_threads(), os.cpu_count() or 1, busy_cores()
    fewer = threads_for(busy, usual, cores)
    return (fewer, f"other processes use {busy:.1f} of {cores} cores") if fewer < usual else None
