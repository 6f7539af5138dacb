"""The processes that train one run together: who this one is, how they find each other, and what they agree on.

Each is told its place by the environment variables of torchrun, whether torchrun started it or `launch` did.
"""

import os
import socket
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import timedelta
from typing import Any

import torch
from torch import distributed

from saccade.errors import ArgumentError, SaccadeError
from saccade.train.options import Options

__all__ = ["GOES_ON", "Ranks", "Unreachable", "free_port", "joined", "of_connection", "place", "placed"]

GOES_ON = "the last checkpoint is kept, and the same command goes on from there"
_PATIENCE = timedelta(days=1)  # what one process measures may take long, and the others wait for it


class Unreachable(SaccadeError):
    """Another process cannot be reached: it is at an end, or the net between is."""

    def __init__(self) -> None:
        super().__init__(f"another process cannot be reached; {GOES_ON}")


@dataclass(frozen=True)
class Ranks:
    """The place of this process among those that train the run.

    Args:
        rank: its number, from 0 on; 0 writes, measures and speaks for all.
        world: how many there are.
        local: its number among those on this machine.
        here: how many there are on this machine.
        external: whether something else, such as torchrun, started them.
    """

    rank: int = 0
    world: int = 1
    local: int = 0
    here: int = 1
    external: bool = False

    @property
    def leads(self) -> bool:
        """Whether this process writes, measures and speaks for all."""
        return self.rank == 0

    def sums(self, *numbers: float) -> list[float]:
        """Return each number summed over all processes, which must all ask, and at the same step.

        >>> Ranks().sums(1.5, True)
        [1.5, 1.0]
        """
        together = torch.tensor(numbers, dtype=torch.float64)
        if self.world > 1:
            distributed.all_reduce(together)
        found: list[float] = together.tolist()
        return found

    def share(self, content: Any) -> Any:
        """Return what the first process gives, in all that call this."""
        box = [content]
        if self.world > 1:
            distributed.broadcast_object_list(box)
        return box[0]


def place(options: Options) -> Ranks:
    """Return the place that the environment gives this process; the first of `--processes` where it gives none.

    Raises:
        ArgumentError: if there are other processes than --processes says.
    """
    if not distributed.is_torchelastic_launched():
        return Ranks(0, options.processes, 0, options.processes)
    rank, world, local, here = (int(os.environ[name]) for name in _NAMES)
    if world != options.processes:
        raise ArgumentError(f"--processes: expected {world}, as many as there are, got {options.processes}")
    return Ranks(rank, world, local, here, external=True)


_NAMES = ("RANK", "WORLD_SIZE", "LOCAL_RANK", "LOCAL_WORLD_SIZE")


@contextmanager
def placed(rank: int, world: int, port: int) -> Iterator[None]:
    """Give this process a place among those of this machine, as torchrun would."""
    variables = dict(zip(_NAMES, map(str, (rank, world, rank, world)), strict=True))
    variables |= {"MASTER_ADDR": "127.0.0.1", "MASTER_PORT": str(port), "TORCHELASTIC_RUN_ID": "saccade"}
    before = {name: os.environ.get(name) for name in variables}
    os.environ.update(variables)
    try:
        yield
    finally:
        for name, was in before.items():
            os.environ.pop(name)
            if was is not None:
                os.environ[name] = was


@contextmanager
def joined(device: torch.device) -> Iterator[None]:
    """Meet the other processes: tensors on a CPU travel by gloo, those on a GPU by NCCL.

    Raises:
        Unreachable: if one of them is gone while the block runs.
    """
    backend = "cpu:gloo,cuda:nccl" if device.type == "cuda" else "gloo"
    distributed.init_process_group(backend, timeout=_PATIENCE)
    try:
        yield
    except RuntimeError as error:
        if not of_connection(error):
            raise
        raise Unreachable from error
    finally:
        distributed.destroy_process_group()


def of_connection(error: BaseException) -> bool:
    """Whether an error is that another process cannot be reached; gloo and NCCL have no common class for it.

    >>> of_connection(RuntimeError("Connection closed by peer")), of_connection(RuntimeError("shapes"))
    (True, False)
    """
    told = isinstance(error, RuntimeError) and any(word in str(error) for word in ("gloo", "NCCL", " by peer"))
    return told or isinstance(error, distributed.DistError)


def free_port() -> int:
    """Return a port of this machine that nobody listens on."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port: int = probe.getsockname()[1]
        return port
