"""Checks of the number of cells: enough for training, within free memory."""

from bisect import bisect_right
from collections.abc import Callable, Iterable, Sequence
from typing import Any

import torch

from saccade._system.environment import choose_device, free_bytes
from saccade.data.dataset import counted
from saccade.errors import ArgumentError
from saccade.models.memory_network import MemoryNetwork
from saccade.tasks.memorize.episode import Episode
from saccade.train.options import flag

__all__ = ["check_answering", "check_cells", "check_training"]


def check_cells(needed: int, options: Any) -> None:
    """Reject a memory with fewer cells than vectors to remember in training."""
    for name in ("cells", "least_cells"):
        if (cells := getattr(options, name, None)) is not None and cells < needed:
            expected = f"expected at least {needed}, one for each vector of --longest"
            way_out = "" if name == "cells" else "; give it, and --most-cells: the recipe's are for what it asks"
            raise ArgumentError(f"{flag(name)}: {expected}, got {cells}{way_out}")


def check_answering(memory: MemoryNetwork, cells: int) -> None:
    """Reject more cells than free memory allows for one question."""
    _check_fits("cells", cells, memory.nbytes, next(memory.parameters()).device)


def check_training(kind: type, options: Any, batches: Iterable[Sequence[Episode]]) -> None:
    """Reject more cells than free memory allows in a training step or an evaluation.

    The estimate is a lower bound of the memory of one process.

    Args:
        kind: the class of the model. Classes without an external memory pass.
        options: of the run.
        batches: batches of training.

    Raises:
        ArgumentError: with the option of the cells, and the largest number that fits.
    """
    if not issubclass(kind, MemoryNetwork):
        return
    device = choose_device(options.device)
    extents = ((len(batch), max(episode.order for episode in batch)) for batch in batches)
    rows, steps = max(extents, key=lambda extent: kind.training_bytes(options, 1, *extent))
    what = f"training on {counted(rows, 'sequences')} of {counted(steps, 'steps')} at once would take at least"
    largest = options.training_cells[1]
    name = next(name for name in ("most_cells", "cells", "least_cells") if getattr(options, name) == largest)

    def nbytes(cells: int) -> int:
        return kind.training_bytes(options, cells, rows, steps)

    _check_fits(name, largest, nbytes, device, what, "; a smaller --batch-size takes less")
    _check_fits("cells", options.cells, lambda cells: kind.answering_bytes(options, cells), device)


def _check_fits(
    name: str,
    cells: int,
    nbytes: Callable[[int], int],
    device: torch.device,
    what: str = "a question would take",
    way_out: str = "",
) -> None:
    free = free_bytes(device)
    if free is not None and (needed := nbytes(cells)) > free:
        fitting = bisect_right(range(cells), free, key=nbytes) - 1
        why = f"{what} {needed >> 20:,} MiB, and {free >> 20:,} MiB are free"
        raise ArgumentError(f"{flag(name)}: expected at most {max(1, fitting):,}, got {cells:,}: {why}{way_out}")
