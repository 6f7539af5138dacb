"""Room for external memories: enough cells for what is asked, and no more than the machine has memory for."""

from bisect import bisect_right
from collections.abc import Callable, Iterable, Sequence
from typing import Any

import torch

from saccade._system.environment import choose_device, free_bytes
from saccade.data.dataset import counted
from saccade.errors import ArgumentError
from saccade.models.memory_network import MemoryNetwork
from saccade.tasks.memorize.data.episode import Episode
from saccade.tasks.memorize.languages import Language
from saccade.train.options import flag

__all__ = ["check_answering", "check_cells", "check_training"]


def check_cells(language: Language, options: Any) -> None:
    """Refuse a memory that has fewer cells than training asks it to hold.

    Args:
        language: how questions are read.
        options: of the run.

    Raises:
        ArgumentError: naming the option.
    """
    needed = language.most_held
    for name in ("cells", "least_cells"):
        if (cells := getattr(options, name, None)) is not None and cells < needed:
            expected = f"expected at least {needed}, one for each vector of --longest"
            way_out = "" if name == "cells" else "; give it, and --most-cells: the recipe's are for what it asks"
            raise ArgumentError(f"{flag(name)}: {expected}, got {cells}{way_out}")


def check_answering(memory: MemoryNetwork, cells: int) -> None:
    """Refuse more cells than there is memory for, of a single question.

    Args:
        memory: the model that would answer.
        cells: of its memory.

    Raises:
        ArgumentError: naming --cells, and the most that fit.
    """
    _check_fits("cells", cells, memory.nbytes, next(memory.parameters()).device)


def check_training(kind: type, options: Any, batches: Iterable[Sequence[Episode]]) -> None:
    """Refuse more cells than there is memory for, of a step of training, or of a question that is measured beside it.

    What a step takes is bounded from below: of one process, and of the batches that are looked at.

    Args:
        kind: the class of the model; one without an external memory is never refused.
        options: of the run.
        batches: that training meets, looked at only of a model with such a memory.

    Raises:
        ArgumentError: naming the option that says how many cells there are, and the most that fit.
    """
    if not issubclass(kind, MemoryNetwork):
        return
    device = choose_device(options.device)
    rows, steps = max(map(_extent, batches), key=lambda extent: kind.training_bytes(options, 1, *extent))
    what = f"training on {counted(rows, 'sequences')} of {counted(steps, 'steps')} at once would take at least"

    def nbytes(cells: int) -> int:
        return kind.training_bytes(options, cells, rows, steps)

    name, most = _most(options)
    _check_fits(name, most, nbytes, device, what, "; a smaller --batch-size takes less")
    _check_fits("cells", options.cells, lambda cells: kind.answering_bytes(options, cells), device)


def _extent(batch: Sequence[Episode]) -> tuple[int, int]:
    """How many sequences and steps a batch has when it is padded."""
    return len(batch), max(episode.order for episode in batch)


def _most(options: Any) -> tuple[str, int]:
    """The most cells in training, and the option that says so."""
    most = options.training_cells[1]
    return next((name, most) for name in ("most_cells", "cells", "least_cells") if getattr(options, name) == most)


def _check_fits(
    name: str,
    cells: int,
    nbytes: Callable[[int], int],
    device: torch.device,
    what: str = "a question would take",
    way_out: str = "",
) -> None:
    """Refuse more cells than there is memory for.

    Args:
        name: of the option that says how many.
        cells: how many.
        nbytes: what so many take.
        device: where.
        what: takes it, for the message.
        way_out: beside fewer cells.
    """
    free = free_bytes(device)
    if free is not None and (needed := nbytes(cells)) > free:
        most = bisect_right(range(cells), free, key=nbytes) - 1
        why = f"{what} {needed >> 20:,} MiB, and {free >> 20:,} MiB are free"
        raise ArgumentError(f"{flag(name)}: expected at most {max(1, most):,}, got {cells:,}: {why}{way_out}")
