"""The processes of one distributed run: their ranks, rendezvous and collectives.

Each reads its rank from the environment variables of torchrun, whether torchrun or `launch` started it.
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

GOES_ON = "the last checkpoint is kept, and the same command goes on from there"
_PATIENCE = timedelta(days=1)  # the others wait while one process measures


class Unreachable(SaccadeError):
    """Another process cannot be reached."""

    def __init__(self) -> None:
        super().__init__(f"another process cannot be reached; {GOES_ON}")


@dataclass(frozen=True)
class Ranks:
    """The rank of this process among the `world` processes of the run.

    `local` is its rank among the processes `here` on this machine. An external process was started by something
    else, such as torchrun.
    """

    rank: int = 0
    world: int = 1
    local: int = 0
    here: int = 1
    external: bool = False

    @property
    def leads(self) -> bool:
        """Whether this process writes, measures and reports for all."""
        return self.rank == 0

    def sums(self, *numbers: float) -> list[float]:
        """Return each number summed over all processes.

        All processes must call this at the same step.
        """
        together = torch.tensor(numbers, dtype=torch.float64)
        if self.world > 1:
            distributed.all_reduce(together)
        return [float(number) for number in together]

    def share(self, content: Any) -> Any:
        """Return the first process's content in all processes."""
        box = [content]
        if self.world > 1:
            distributed.broadcast_object_list(box)
        return box[0]


def current(options: Options) -> Ranks:
    """Return the rank in the environment, else the first of `--processes`.

    Raises ArgumentError if these differ.
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
    """Set the variables of torchrun for this process within the block."""
    variables = dict(zip(_NAMES, map(str, (rank, world, rank, world)), strict=True))
    variables |= {"MASTER_ADDR": "127.0.0.1", "MASTER_PORT": str(port), "TORCHELASTIC_RUN_ID": "saccade"}
    before = {name: os.environ.pop(name, None) for name in variables}
    os.environ.update(variables)
    try:
        yield
    finally:
        for name, value in before.items():
            os.environ.pop(name) if value is None else os.environ.update({name: value})


@contextmanager
def joined(device: torch.device) -> Iterator[None]:
    """Join the process group: gloo for tensors of a CPU, NCCL for those of a GPU.

    Raises Unreachable if another process ends while the block runs.
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
    """Whether an error comes from an unreachable process.

    gloo and NCCL have no common class for it.
    """
    named = isinstance(error, RuntimeError) and any(word in str(error) for word in ("gloo", "NCCL", " by peer"))
    return named or isinstance(error, distributed.DistError)


def free_port() -> int:
    """Return a free port of this machine."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port: int = probe.getsockname()[1]
        return port
